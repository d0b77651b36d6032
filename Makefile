# `make help` lists what there is. Go alone is enough for build and test; check
# also wants gcc (race detector) and npm (HiGHS), both installed by .ci/run. The
# linters are pinned in tools/go.mod, a module apart from what users build.

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X github.com/fairlead-project/fairlead/internal/cli.version=$(VERSION)
TOOL     := go tool -modfile=tools/go.mod
STEP     := scripts/step
FUZZTIME ?= 5s

# The packages that import nothing of the operating system: they are tested as
# 32-bit code too, which finds an int that should have been an int64.
CORE := ./sched/... ./size/... ./workload/... ./opt/... ./algo/... ./cert/... ./check/... ./policy/... ./engine/... ./sim/...

# rapid draws a new seed per run unless told: a check must not change its mind
# between two runs on the same commit. `make long` is what explores.
export RAPID_SEED ?= 1

.NOTPARALLEL: # the steps of check use every core themselves
.PHONY: help build test check long bench evaluation fmt clean \
	check-mod check-fmt check-vet check-staticcheck check-arch check-build check-386 check-highs check-race check-fuzz check-vuln

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 20

build: ## bin/fairlead, static
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/fairlead ./cmd/fairlead

test: ## every test
	go test ./...

# Linters start from none; each one here has its reason. What finds mistakes
# soonest goes first. `make -k check` goes on after a failure.
check: check-mod check-fmt check-vet check-staticcheck check-arch check-build check-386 check-highs check-race check-fuzz check-vuln ## what CI demands (make -k: all steps)

# go mod: go.mod and go.sum name what is imported, no more and no less.
check-mod:
	@$(STEP) 'go mod tidy' go mod tidy -diff

# gofumpt: one formatting, so that a diff shows changes of meaning only.
check-fmt:
	@$(STEP) 'gofumpt' scripts/gofumpt

# vet: mistakes the compiler lets pass (format strings, copied locks, lost
# cancels, unreachable code), with hardly a false alarm.
check-vet:
	@$(STEP) 'go vet' go vet ./...

# staticcheck: wrong uses of the standard library, dead and deprecated code,
# conditions that are always true. Its style checks are off by default and stay so.
check-staticcheck:
	@$(STEP) 'staticcheck' $(TOOL) staticcheck ./...

# archtest: the layers. In check-race as well, but here it fails in seconds.
check-arch:
	@$(STEP) 'archtest' go test ./internal/archtest

# No cgo: one static binary that runs anywhere. The other systems and processors
# that Fairlead promises must compile.
check-build:
	@$(STEP) 'build without cgo' $(MAKE) --no-print-directory build
	@$(STEP) 'build for darwin/arm64' env CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build ./...

check-386:
	@$(STEP) 'vet, 32 bits' env CGO_ENABLED=0 GOARCH=386 go vet $(CORE)
	@$(STEP) 'test, 32 bits' env CGO_ENABLED=0 GOARCH=386 go test -short $(CORE)

# HiGHS, a solver we have no hand in, must agree with the bounds. Shown apart
# because without npm the test is skipped elsewhere.
check-highs:
	@$(STEP) 'HiGHS cross-check' scripts/highs

# The driver, the commands and the examples run things at the same time; the
# detector sees what a lucky run hides. What was skipped is listed, with the reason.
check-race:
	@$(STEP) 'tests with race detector' scripts/test -race -timeout 18m ./...

# Every fuzz target for a moment: finds what is near, and that targets still work.
check-fuzz:
	@$(STEP) 'fuzz, $(FUZZTIME) each' scripts/fuzz $(FUZZTIME)

# govulncheck: known holes in what we import, if we call the code that has them.
# It needs its database: skipped, visibly, where that cannot be reached.
check-vuln:
	@$(STEP) 'govulncheck' scripts/govulncheck

long: ## a minute or more per fuzz target, longer random tests with a new seed, 500 kills (an hour or less)
	@seed=$$(date +%s); echo "RAPID_SEED=$$seed"; \
	$(STEP) 'long tests' env FAIRLEAD_LONG=1 RAPID_CHECKS=20000 RAPID_SEED=$$seed go test -count=1 -timeout 2h ./...
	@$(STEP) 'fuzz, 60s each' scripts/fuzz 60s

bench: ## measure, and write docs/benchmarks.md if every target is met
	@mkdir -p bin docs
	go run ./internal/bench > bin/benchmarks.md
	mv bin/benchmarks.md docs/benchmarks.md

# Wants the traces: FAIRLEAD_TRACES, or ../shared/traces.
evaluation: ## compare S-PC with every rival, and write docs/evaluation.md if every target is met
	@mkdir -p bin docs
	go run ./internal/evaluation > bin/evaluation.md
	mv bin/evaluation.md docs/evaluation.md

fmt: ## format every Go file
	$(TOOL) gofumpt -w .
	@$(TOOL) gofumpt -w . # a blank line it puts in can change the alignment after it

clean: ## remove what was built
	rm -rf bin
