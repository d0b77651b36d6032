package supervise

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// A supervisor wakes seldom; its tasks have the system's default, whatever it has.
func TestSlack(t *testing.T) {
	if Coarse() {
		t.Skip("this system has no timer slack, or tests are run with a coarse one")
	}
	r := newTrial(t)
	r.open()
	r.sh(0, fmt.Sprintf("cat /proc/self/timerslack_ns; until grep -x %d /proc/$PPID/timerslack_ns >&2; do sleep 0.01; done", coarse))
	equal(t, "exit", r.next().Err, "")
	own, err := os.ReadFile("/proc/self/timerslack_ns")
	r.ok(err)
	equal(t, "that of a task", r.read("run/logs/0.1.out"), strconv.Itoa(defaultFine)+"\n")
	equal(t, "that of its supervisor", r.read("run/logs/0.1.err"), strconv.Itoa(coarse)+"\n")
	equal(t, "that of this process", string(own), strconv.Itoa(slack())+"\n")
	r.close()
}
