package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/workload"
)

// The test binary is its own supervisor, and a driver that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "supervise":
			os.Exit(supervise.Main(os.Args[2]))
		case "drive":
			if err := drive(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// drive runs or resumes the workload of a directory, see trial.file, and appends what
// it is told of attempts to a file.
func drive(dir string) error {
	records, err := os.OpenFile(filepath.Join(dir, "records"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	record := func(list []Attempt) {
		for i := range list {
			b, err := json.Marshal(&list[i])
			if err != nil {
				panic(err)
			}
			if _, err := records.Write(append(b, '\n')); err != nil {
				panic(err)
			}
		}
	}
	ctx, run := context.Background(), filepath.Join(dir, "run")
	if exists(filepath.Join(run, workloadName)) {
		r, err := Open(run)
		if err != nil {
			return err
		}
		cfg, err := r.Config()
		if err != nil {
			return err
		}
		cfg.NewPolicy, cfg.Record = newFIFO, record
		_, err = Resume(ctx, cfg)
		return err
	}
	if err := os.RemoveAll(run); err != nil { // killed before it had begun
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "workload.yaml"))
	if err != nil {
		return err
	}
	f, err := workload.Parse("workload.yaml", text)
	if err != nil {
		return err
	}
	in, err := f.Instance(nil)
	if err != nil {
		return err
	}
	_, err = Run(ctx, Config{
		Instance: in, Policy: dag.NewFIFO(), BaseDir: dir, Dir: run, Grace: 200 * time.Millisecond,
		Header: engine.LogHeader{Policy: "dag/fifo"}, Record: record,
	})
	return err
}
