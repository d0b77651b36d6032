package cli

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/sched"
)

// isTerminal reports whether w is a terminal that people watch.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether output to w may be coloured (see no-color.org).
func (e *env) colour(w io.Writer) bool {
	return isTerminal(w) && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
}

// width is that of the terminal on stderr, in columns.
func (e *env) width() int {
	if f, ok := e.stderr.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// barRest is what stands beside name and bar: share done, time taken, time left.
const barRest = 28

// barWidths divides a line between the name and the bar, but for the rest: lines that
// wrap could not be drawn over.
func barWidths(columns, rest int) (message, length int) {
	const most = 28 + 24
	room := max(12, min(most, columns-rest))
	message = room * 28 / most
	return message, room - message
}

// newProgress returns a renderer of progress bars on stderr.
func (e *env) newProgress() progress.Writer {
	w := progress.NewWriter()
	w.SetOutputWriter(e.stderr)
	message, length := barWidths(e.width(), barRest)
	w.SetMessageLength(message)
	w.SetTrackerLength(length)
	w.SetUpdateFrequency(200 * time.Millisecond)
	w.SetTrackerPosition(progress.PositionRight)
	style := progress.StyleBlocks
	style.Visibility.Value, style.Visibility.Speed = false, false
	style.Options.Separator, style.Options.DoneString, style.Options.ErrorString = "  ", "done", "not done"
	style.Options.PercentFormat = "%3.0f%%"
	style.Options.TimeInProgressPrecision = time.Second
	style.Options.TimeDonePrecision = 100 * time.Millisecond
	style.Options.ETAPrecision = time.Second
	if e.colour(e.stderr) {
		text.EnableColors() // the library has looked at the process's environment
		style.Colors.Tracker = text.Colors{text.FgCyan}
	}
	w.SetStyle(style)
	return w
}

// bar shows how far a long computation is; nothing unless stderr is a terminal
// and it takes a while.
type bar struct {
	w       progress.Writer
	tracker *progress.Tracker
	once    sync.Once
	done    int64
}

// showAfter keeps quick commands quiet.
const showAfter = 500 * time.Millisecond

// newBar returns a bar for total steps; 0: their number is not known.
func (e *env) newBar(what string, total int64) *bar {
	if !isTerminal(e.stderr) {
		return &bar{}
	}
	b := &bar{w: e.newProgress(), tracker: &progress.Tracker{Message: what, Total: total}}
	b.w.Style().Visibility.ETA = total > 0
	b.w.Style().Visibility.Percentage = total > 0
	b.w.AppendTracker(b.tracker)
	time.AfterFunc(showAfter, func() {
		b.once.Do(func() { start(b.w) })
	})
	return b
}

// countEnds returns an observer of simulations that advances the bar.
func (b *bar) countEnds() func(sched.Time, engine.Event, []engine.Action) error {
	if b.w == nil {
		return nil
	}
	const every = 1 << 12 // the tracker locks
	return func(_ sched.Time, ev engine.Event, _ []engine.Action) error {
		if ev.Kind == engine.TaskFinished {
			if b.done++; b.done%every == 0 {
				b.tracker.SetValue(b.done)
			}
		}
		return nil
	}
}

// step advances the bar by one.
func (b *bar) step() {
	if b.w != nil {
		b.done++
		b.tracker.SetValue(b.done)
	}
}

func (b *bar) stop() {
	if b.w == nil {
		return
	}
	b.once.Do(func() {}) // it never showed
	if b.w.IsRenderInProgress() {
		if b.done == b.tracker.Total {
			b.tracker.MarkAsDone()
		} else {
			b.tracker.MarkAsErrored()
		}
		finish(b.w)
	}
	b.w = nil
}

// start draws the bars until finish; it returns when drawing has begun, so that
// finish cannot come before.
func start(w progress.Writer) {
	go w.Render()
	for !w.IsRenderInProgress() {
		time.Sleep(time.Millisecond)
	}
}

// finish has the last state of the bars drawn before anything else is printed.
func finish(w progress.Writer) {
	for w.IsRenderInProgress() {
		w.Stop()
		time.Sleep(10 * time.Millisecond)
	}
}
