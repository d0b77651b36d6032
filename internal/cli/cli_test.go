package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/fairlead-project/fairlead/policy/all"
)

// outcome is what a command line led to.
type outcome struct {
	code           int
	stdout, stderr string
}

// fairlead runs a command line in this process.
func fairlead(t *testing.T, ctx context.Context, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := &env{
		ctx: ctx, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: testEnv(t), policies: all.Registry(),
	}
	code := execute(e, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// succeed is fairlead for what must end well.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	o := fairlead(t, t.Context(), args...)
	if o.code != exitOK {
		t.Fatalf("fairlead %s: exit code %d\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	return o.stdout
}

// decode reads JSON output into a value.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// file writes a file for a test and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const preamble = "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\n"

// typical has precedence in and between jobs, releases, weights and speeds.
const typical = preamble + `
metadata: {name: typical}
cluster:
  machines:
  - {name: fast, count: 2, speed: 2, slots: 2}
  - {name: slow}
jobs:
- name: etl
  weight: 3
  stages:
  - {name: map, count: 6, size: 0.04, run: [sleep, "0.02"]}
  - {name: reduce, after: [map], sizes: [0.02, 0.06], run: [sleep, "0.02"]}
- name: report
  release: 0.02
  after: [etl]
  stages:
  - {name: draw, size: 0.04, run: [sleep, "0.02"]}
- name: mail
  weight: 0.5
  stages:
  - {name: send, count: 2, size: 0.02, run: [sleep, "0.01"]}
  - {name: log, size: 0.02, run: [sleep, "0.01"]}
`

// Help explains every flag and fits into a terminal, whatever the command.
func TestHelp(t *testing.T) {
	for _, cmd := range newRoot(&env{policies: all.Registry()}).Commands() {
		help := succeed(t, cmd.Name(), "--help")
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.Name(), n, line)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s is not explained", cmd.Name(), f.Name)
			}
		})
	}
}
