package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

var anyExit = rapid.Custom(func(t *rapid.T) Exit {
	return Exit{
		Key: Key{rapid.Int32().Draw(t, "task"), rapid.Int32().Draw(t, "attempt"), rapid.Int64().Draw(t, "nonce")},
		At:  rapid.Int64().Draw(t, "at"), Code: rapid.IntRange(0, 255).Draw(t, "code"),
		Signal: rapid.String().Draw(t, "signal"), Err: rapid.String().Draw(t, "err"),
		Lost: rapid.Bool().Draw(t, "lost"), OutOfMemory: rapid.Bool().Draw(t, "oom"),
		CPU: time.Duration(rapid.Int64().Draw(t, "cpu")), MaxRSS: rapid.Int64().Draw(t, "rss"),
	}
})

// A record says what encoding/json says, behind the sum of what is behind it.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyExit.Draw(t, "exit")
		line := x.appendTo([]byte("before"))
		line = line[len("before"):]
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not a line: %q", line)
		}
		var got struct {
			Sum  string `json:"crc"`
			Type string `json:"type"`
			Exit
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got.Exit != x || got.Type != "exited" {
			t.Fatalf("%q is %+v, want %+v", line, got, x)
		}
		sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(line[len(`{"crc":"12345678`):len(line)-1]))
		if got.Sum != sum {
			t.Fatalf("the sum is %s, want %s", got.Sum, sum)
		}
		r, err := parseRecord(line[:len(line)-1])
		if err != nil || r.exited == nil || *r.exited != x {
			t.Fatalf("read back: %+v, %v", r, err)
		}
		at := rapid.IntRange(0, len(line)-2).Draw(t, "at")
		line[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if r, err := parseRecord(line[:len(line)-1]); err == nil {
			t.Fatalf("%q is not seen to be damaged: %+v", line, r)
		}
	})
}

// journalOf returns a journal of n starts that have ended with their number as
// code, but for the last one, and where its lines end.
func journalOf(n int) (text []byte, ends []int) {
	add := func(b []byte) { text, ends = b, append(ends, len(b)) }
	add((&opened{Run: "r", PID: 1, Boot: "boot", At: 5}).appendTo(text))
	for k := range n {
		s := &started{Key: key(k), Born: 10, PID: 100 + k, At: 11}
		add(s.appendBefore(text))
		add(s.appendAfter(text))
		if k < n-1 {
			x := Exit{Key: s.Key, Code: k, Err: "x"}
			add(x.appendTo(text))
		}
	}
	return text, ends
}

// reopen writes a journal and opens it as a supervisor does.
func reopen(t *testing.T, text []byte) (dir string, was past, exits []Exit) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, journalName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	j, was, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, journalName)); err != nil || info.Size() != j.size {
		t.Fatalf("not cut off at %d: %v, %v", j.size, info, err)
	}
	x := Exit{Key: key(999), Code: 77}
	j.ended(&x)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	exits, _, err = ReadJournal(dir)
	if err != nil || len(exits) == 0 || exits[len(exits)-1] != x {
		t.Fatalf("what was added is not there: %v, %v", exits, err)
	}
	return dir, was, exits[:len(exits)-1]
}

// A journal that was torn anywhere, whatever is behind that, gives what is whole,
// goes on from there, and keeps aside what was torn off.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	text, ends := journalOf(4)
	rng := rand.New(rand.NewPCG(3, 0))
	for cut := 0; cut <= len(text); cut += 3 + cut%13 {
		whole, exits := 0, 0
		for i, end := range ends {
			if end <= cut {
				whole = end
				if i > 0 && i%3 == 0 {
					exits++
				}
			}
		}
		garbages := []string{"", "\x00\x00\x00", "{\"crc\":\"00000000\",\"x\":1}\n", strings.Repeat("long", maxRecord), randomText(rng)}
		garbage := garbages[rng.IntN(len(garbages))]
		tail := string(text[whole:cut]) + garbage
		dir, was, got := reopen(t, []byte(string(text[:whole])+tail))
		if len(got) != exits {
			t.Fatalf("cut at %d: %d exits, want %d", cut, len(got), exits)
		}
		for k, x := range got {
			equal(t, "code", x.Code, k)
		}
		equal(t, "fresh", was.fresh, whole == 0 && tail == "")
		equal(t, fmt.Sprintf("cut at %d, then %.10q: torn", cut, garbage), was.torn != "", tail != "")
		aside, err := os.ReadFile(filepath.Join(dir, journalName+".torn-1"))
		if tail == "" && !os.IsNotExist(err) || tail != "" && string(aside) != tail {
			t.Fatalf("cut at %d: aside is %.100q, %v, want %.100q", cut, aside, err, tail)
		}
		if len(was.open) > 1 || len(was.open) == 1 && was.open[0].Key != key(exits) {
			t.Fatalf("cut at %d: open are %v", cut, was.open)
		}
	}
}

func randomText(rng *rand.Rand) string {
	b := make([]byte, rng.IntN(300))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b) + "x"
}

// Damage in the middle takes its line, not those behind it.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	text, ends := journalOf(4)
	rng := rand.New(rand.NewPCG(4, 0))
	for range 50 {
		b := bytes.Clone(text)
		at := rng.IntN(len(b) - 1)
		b[at] ^= byte(1 + rng.IntN(255))
		line := 0
		for ends[line] <= at {
			line++
		}
		last := line == len(ends)-1
		dir, was, exits := reopen(t, b)
		want := 3
		if line > 0 && line%3 == 0 || at == ends[line]-1 && line%3 == 2 && line+1 < len(ends) { // the end of a line joins it to the next
			want--
		}
		if len(exits) != want {
			t.Fatalf("byte %d of line %d: %d exits, want %d", at, line, len(exits), want)
		}
		equal(t, "noted", was.torn != "", true)
		_, torn, err := ReadJournal(dir)
		if err != nil || torn == "" && !last {
			t.Fatalf("byte %d: torn is %q, %v", at, torn, err)
		}
	}
}

func TestReadJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exits, torn, err := ReadJournal(dir)
	equal(t, "of nothing", fmt.Sprint(exits, torn, err), fmt.Sprint([]Exit(nil), "", nil))
	_, torn, err = readExits(strings.NewReader(strings.Repeat("x", 3*maxRecord) + "\nx\n"))
	equal(t, "of garbage", fmt.Sprint(torn, err), "2 lines from byte 0 on are damaged"+fmt.Sprint(error(nil)))
	if err := os.Mkdir(filepath.Join(dir, journalName), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadJournal(dir); err == nil || !strings.HasPrefix(err.Error(), "supervise: cannot read the journal: ") {
		t.Errorf("got %v", err)
	}
}

// A journal has one supervisor.
func TestJournalIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	again, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("opened after %v, while another had it", took)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// disk is a file on a disk that is full from time to time, when a write gets as
// far as there is space.
type disk struct {
	data  []byte
	space int // bytes that it takes yet
	syncs chan error
}

func (d *disk) WriteAt(p []byte, at int64) (int, error) {
	n := min(len(p), max(0, d.space-int(at)))
	d.data = append(d.data[:min(len(d.data), int(at))], p[:n]...)
	if n < len(p) {
		return n, unix.ENOSPC
	}
	return n, nil
}

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(d.data).ReadAt(p, at)
}

func (d *disk) Truncate(size int64) error {
	d.data = d.data[:min(len(d.data), int(size))]
	return nil
}

func (d *disk) Close() error { return nil }

func (d *disk) Sync() error {
	select {
	case err := <-d.syncs:
		return err
	default:
		return nil
	}
}

// A full disk is reported once; what it does not take waits, can be found
// meanwhile, and is written when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	record := (&Exit{Key: key(10), Code: 10, Err: "x"}).appendTo(nil)
	d := &disk{space: 4*len(record) + 10} // the first ten are a few bytes shorter
	j := newJournal(d)
	now := time.Now()
	failures := 0
	var want []Exit
	for k := range 40 {
		x := Exit{Key: key(k), Code: k, Err: "x"}
		want = append(want, x)
		j.ended(&x)
		if k == 30 {
			d.space = 1 << 20
		}
		if err := j.flush(now); err != nil {
			failures++
			equal(t, "error", errors.Is(err, unix.ENOSPC), true)
		}
		equal(t, fmt.Sprint("failing after ", k), j.failed != nil, k >= 4 && k < 30)
		for _, x := range want {
			got, err := j.find(x.Key)
			if err != nil || *got != x {
				t.Fatalf("find %v: %v, %v", x.Key, got, err)
			}
		}
		if exits, torn, err := readExits(bytes.NewReader(d.data)); err != nil || len(exits) > k+1 || (torn != "") != (int64(len(d.data)) > j.size) {
			t.Fatalf("%d exits on the disk, %q, %v", len(exits), torn, err)
		}
		now = now.Add(retryWrite)
	}
	equal(t, "failures reported", failures, 1)
	if x, err := j.find(key(99)); x != nil || err != nil {
		t.Errorf("found %v, %v", x, err)
	}
	// Between two tries no time is lost.
	d.space = len(d.data)
	j.ended(&Exit{Key: key(50)})
	if err := j.flush(now); err == nil {
		t.Error("a second series of failures is not reported")
	}
	d.space = 1 << 20
	if err := j.flush(now.Add(retryWrite / 2)); err != nil || j.failed == nil {
		t.Error("tried too early")
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
	exits, torn, err := readExits(bytes.NewReader(d.data))
	equal(t, "in the end", fmt.Sprint(exits, torn, err), fmt.Sprint(append(want, Exit{Key: key(50)}), "", nil))
}

// What cannot be written in the end is reported, and nothing of it is left.
func TestFullDiskAtTheEnd(t *testing.T) {
	t.Parallel()
	d := &disk{space: 100, syncs: make(chan error, 1)}
	j := newJournal(d)
	j.ended(&Exit{Key: key(1)})
	j.ended(&Exit{Key: key(2)})
	if err := j.flush(time.Now()); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err := j.close(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	equal(t, "bytes left", len(d.data), 0)

	d = &disk{space: 1000, syncs: make(chan error, 1)}
	d.syncs <- unix.EIO
	j = newJournal(d)
	j.ended(&Exit{Key: key(1)})
	if err := j.flush(time.Now()); err != nil {
		t.Error(err)
	}
	if err := <-j.synced; !errors.Is(err, unix.EIO) {
		t.Errorf("got %v", err)
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
}
