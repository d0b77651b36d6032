package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite the expected outputs of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fairlead": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector every command would end a second late
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o777)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "same": same},
	})
}

// code runs a command that must end with the given exit code: code 2 fairlead ...
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// same compares what a JSON and a YAML file mean.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same file.json file.yaml")
	}
	var fromJSON, fromYAML any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &fromJSON))
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[1])), &fromYAML))
	// Through JSON, since YAML has integers of its own.
	again, err := json.Marshal(fromYAML)
	ts.Check(err)
	var y any
	ts.Check(json.Unmarshal(again, &y))
	if !reflect.DeepEqual(fromJSON, y) {
		ts.Fatalf("%s and %s differ:\n%v\n%v", args[0], args[1], fromJSON, y)
	}
}
