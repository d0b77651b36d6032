// Package browser drives a headless Chromium for tests of pages that people will
// open: what they show, what they request, what they complain of. It speaks the
// DevTools protocol through a pair of pipes, so it opens no port.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long the browser may take for one command: much longer than it
// needs on a loaded machine.
const patience = 60 * time.Second

// Browser is a running Chromium with one page. Its methods end the test on an error.
type Browser struct {
	t        testing.TB
	in       *os.File
	replies  chan message
	id       int
	session  string
	messages []string
	requests []string
	events   map[string]int // how often each has come
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Open starts a browser with an empty page, for the duration of the test. Without a
// Chromium or Chrome in the PATH the test is skipped, in CI it fails.
func Open(t testing.TB) *Browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("no chromium and no google-chrome in the PATH: .ci/run installs one")
	}
	if path == "" {
		t.Skip("no chromium and no google-chrome in the PATH: install one to test pages in it")
	}
	profile, err := os.MkdirTemp("", "browser") // not t.TempDir, which fails while its last processes still write
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := pipe(t), pipe(t)
	cmd := exec.Command(path, "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile,
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions")
	cmd.ExtraFiles = []*os.File{ours.r, theirs.w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ours.r.Close()
	theirs.w.Close()
	b := &Browser{t: t, in: ours.w, replies: make(chan message, 1024), events: map[string]int{}}
	go b.read(theirs.r)
	t.Cleanup(func() {
		ours.w.Close() // without its pipe it ends
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // how it ends is of no interest
		late.Stop()
		// Its other processes may write for a moment more.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

type ends struct{ r, w *os.File }

func pipe(t testing.TB) ends {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return ends{r, w}
}

// read passes on messages, each ended by a zero byte.
func (b *Browser) read(r *os.File) {
	defer close(b.replies)
	defer r.Close()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			b.replies <- m
		}
	}
}

// call sends a command and waits for its result.
func (b *Browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	line, err := json.Marshal(map[string]any{"id": b.id, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		line, err = json.Marshal(map[string]any{"id": b.id, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.in.Write(append(line, 0))
	}
	if err != nil {
		b.t.Fatalf("browser: %s: %v", method, err)
	}
	id := b.id
	m := b.until(method, func(m message) bool { return m.ID == id })
	if m.Error != nil {
		b.t.Fatalf("browser: %s: %s", method, m.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatalf("browser: %s: %v", method, err)
		}
	}
}

// until takes in messages up to the first that is wanted.
func (b *Browser) until(what string, wanted func(message) bool) message {
	b.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case m, open := <-b.replies:
			if !open {
				b.t.Fatalf("browser: it ended during %s", what)
			}
			b.event(m)
			if wanted(m) {
				return m
			}
		case <-timer.C:
			b.t.Fatalf("browser: no answer to %s", what)
		}
	}
}

func (b *Browser) event(m message) {
	b.events[m.Method]++
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.messages = append(b.messages, m.Method+" "+string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			b.t.Fatalf("browser: %v", err)
		}
		b.requests = append(b.requests, p.Request.URL)
	}
}

// Load opens a file in a window of the given size, in dark or light colours, and
// waits until all that it names has been loaded. Messages and Requests start anew.
func (b *Browser) Load(file string, width, height int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.messages, b.requests = nil, nil
	loaded := b.events["Page.loadEventFired"]
	var nav struct{ ErrorText string }
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: path}).String()}, &nav)
	if nav.ErrorText != "" {
		b.t.Fatalf("browser: %s: %s", file, nav.ErrorText)
	}
	if b.events["Page.loadEventFired"] == loaded {
		b.until("loading", func(m message) bool { return m.Method == "Page.loadEventFired" })
	}
}

// Messages returns what the page has brought to the console: exceptions, errors,
// warnings, what its policy has forbidden, and its own words.
func (b *Browser) Messages() []string { return b.messages }

// Requests returns the addresses that the page has asked for, its own the first.
func (b *Browser) Requests() []string { return b.requests }

// Eval evaluates a JavaScript expression and stores its value, as JSON has it, in
// what into points to.
func (b *Browser) Eval(expression string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("browser: %s: %s", expression, r.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, into); err != nil {
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
}

// Press sends a key, such as Tab or ArrowRight, to what has the focus.
func (b *Browser) Press(key string, code int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// Move points at a place of the window; Click presses there as well.
func (b *Browser) Move(x, y float64) { b.mouse("mouseMoved", "none", x, y) }

// Click presses and releases the left button at a place of the window.
func (b *Browser) Click(x, y float64) {
	b.Move(x, y)
	b.mouse("mousePressed", "left", x, y)
	b.mouse("mouseReleased", "left", x, y)
}

func (b *Browser) mouse(kind, button string, x, y float64) {
	b.t.Helper()
	b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": button, "clickCount": 1}, nil)
}

// Screenshots is the environment variable that names a directory for pictures of
// pages, for people to look at.
const Screenshots = "FAIRLEAD_SCREENSHOTS"

// Screenshot saves a picture of the whole page, as NAME.png, if people have asked
// for it.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv(Screenshots)
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666)
	}
	if err != nil {
		b.t.Fatal(fmt.Errorf("browser: screenshot: %w", err))
	}
}
