package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The real thing: a small file system fills up with the outputs of a task, until
// another one makes room.
func TestSmallDisk(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: writes, stages: [{name: s, run: 'cat /dev/zero >run/filler 2>/dev/null; touch full; true'}]}
- {name: waits, stages: [{name: s, timeout: 20s, run: 'until test -e told; do sleep 0.05; done; rm run/filler'}]}
- {name: after, after: [writes], stages: [{name: s, count: 100, run: 'true'}]}
`)
	if err := os.Mkdir(r.cfg.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", r.cfg.Dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("may not mount a small file system: ", err)
	}
	defer func() {
		if err := unix.Unmount(r.cfg.Dir, 0); err != nil {
			t.Error(err)
		}
	}()
	told := make(chan string, 100)
	r.cfg.Notify = func(s string) {
		told <- s
		if strings.Contains(s, "no space left") {
			r.write("told", "", 0o666)
		}
	}
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "writes:done waits:done after:done")
	if s := <-told; !strings.Contains(s, "no space left on device") {
		t.Errorf("told %q", s)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "told")); err != nil {
		t.Error(err)
	}
}
