package run

import (
	"testing"

	"github.com/fairlead-project/fairlead/internal/supervise"
)

func TestLostAndRecovered(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 3}", "- {name: a, stages: [{name: s, count: 6, run: 'true'}]}\n")
	keys := r.crash(3)
	now := supervise.Now()
	res, actions := r.goOn(supervise.Found{Exits: []supervise.Exit{
		{Key: keys[0], At: now, Lost: true}, ok(keys[1], now), ok(keys[2], now), ok(supervise.Key{Task: 4, Attempt: 1, Nonce: 77}, now),
	}})
	equal(t, "actions", actions, "start 0.2, start 3.1, start 5.1")
	equal(t, "states", r.states(res), "a:done")
}
