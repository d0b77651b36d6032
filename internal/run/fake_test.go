package run

import (
	"context"
	"testing"

	"github.com/fairlead-project/fairlead/internal/supervise"
)

// fake is a supervisor that starts nothing: tests say what happens. Its zero
// functions do nothing.
type fake struct {
	events  chan supervise.Event
	found   supervise.Found
	onStart func(supervise.Start)
	onStop  func(supervise.Key)
	closed  bool
}

func newFake() *fake { return &fake{events: make(chan supervise.Event, 100)} }

func (f *fake) Stage(supervise.Stage) error { return nil }

func (f *fake) Start(s supervise.Start) error {
	if f.onStart != nil {
		f.onStart(s)
	}
	return nil
}

func (f *fake) Stop(k supervise.Key) error {
	if f.onStop != nil {
		f.onStop(k)
	}
	return nil
}

func (f *fake) Events() <-chan supervise.Event { return f.events }
func (f *fake) Close() error                   { f.closed = true; return nil }
func (f *fake) Abandon()                       { f.closed = true }

// exit reports the end of a start.
func (f *fake) exit(k supervise.Key, err string) {
	code := 0
	if err != "" {
		code = 1
	}
	f.events <- supervise.Event{Exit: &supervise.Exit{Key: k, At: supervise.Now(), Code: code, Err: err}}
}

// fakes makes a driver that gets one supervisor after the other.
func (r *trial) fakes(list ...*fake) *driver {
	r.t.Helper()
	d, err := newDriver(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	d.open = func(context.Context, supervise.Config) (supervisor, supervise.Found, error) {
		if len(list) == 0 {
			r.t.Error("one more supervisor was wanted")
			return nil, supervise.Found{}, context.Canceled
		}
		f := list[0]
		list = list[1:]
		return f, f.found, nil
	}
	return d
}

// begun is fakes for a run that begins.
func (r *trial) begun(list ...*fake) *driver {
	r.t.Helper()
	d := r.fakes(list...)
	if err := d.begin(); err != nil {
		r.t.Fatal(err)
	}
	return d
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
