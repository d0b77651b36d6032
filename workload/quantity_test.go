package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		u    unit
		text string
		want float64
		bad  Class
	}{
		{plain, "0", 0, ""},
		{plain, "12", 12, ""},
		{plain, "+1.5", 1.5, ""},
		{plain, ".5", 0.5, ""},
		{plain, "5.", 5, ""},
		{plain, "1e3", 1000, ""},
		{plain, "2.5E-1", 0.25, ""},
		{plain, "-0", 0, ""},
		{plain, "1e-400", 0, ""},
		{plain, "-1", 0, OutOfRange},
		{plain, "1e400", 0, OutOfRange},
		{plain, "1e99999999999999999999", 0, OutOfRange},
		{plain, "0x10", 0, BadNumber},
		{plain, "012", 0, BadNumber},
		{plain, "1_000", 0, BadNumber},
		{plain, "1:30", 0, BadNumber},
		{plain, "", 0, BadNumber},
		{plain, ".", 0, BadNumber},
		{plain, "-", 0, BadNumber},
		{plain, ".inf", 0, BadNumber},
		{plain, ".nan", 0, BadNumber},
		{plain, "NaN", 0, BadNumber},
		{plain, "Infinity", 0, BadNumber},
		{plain, "1,5", 0, BadUnit},
		{plain, "3s", 0, BadUnit},
		{plain, "00", 0, BadNumber},
		{plain, "1.2.3", 0, BadNumber},
		{plain, "0b1", 0, BadNumber},
		{plain, "0o7", 0, BadNumber},
		{plain, "1e", 0, BadUnit},
		{plain, "٣", 0, BadNumber},

		{seconds, "12s", 12, ""},
		{seconds, "10m", 600, ""},
		{seconds, "1h30m", 5400, ""},
		{seconds, "250ms", 0.25, ""},
		{seconds, "1.5h", 5400, ""},
		{seconds, "0.1", 0.1, ""},
		{seconds, "0.1s", 0.1, ""},
		{seconds, "7us", 7e-6, ""},
		{seconds, "3ns", 3e-9, ""},
		{seconds, "1d", 0, BadUnit},
		{seconds, "12 s", 0, BadUnit},
		{seconds, "-12s", 0, OutOfRange},
		{seconds, "12S", 0, BadUnit},
		{seconds, "300000h1", 0, BadUnit},
		{seconds, "3000000h", 0, BadUnit},
		{seconds, "2024-05-01", 0, BadNumber},

		{bytes_, "3e8", 3e8, ""},
		{bytes_, "2GiB", 2 << 30, ""},
		{bytes_, "32Gi", 32 << 30, ""},
		{bytes_, "500MB", 5e8, ""},
		{bytes_, "1kB", 1000, ""},
		{bytes_, "0.3kB", 300, ""},
		{bytes_, "1.1GB", 1.1e9, ""},
		{bytes_, "1.5Ki", 1536, ""},
		{bytes_, "5E", 5e18, ""},
		{bytes_, "5E3", 5000, ""},
		{bytes_, "5Ei", 5 << 60, ""},
		{bytes_, "7B", 7, ""},
		{bytes_, "1KB", 0, BadUnit},
		{bytes_, "1kb", 0, BadUnit},
		{bytes_, "1e3k", 0, BadUnit},
		{bytes_, "1e3Ki", 1024000, ""},
		{bytes_, "1 MB", 0, BadUnit},
		{bytes_, "MB", 0, BadNumber},

		{rate, "10Gbps", 1.25e9, ""},
		{rate, "125MB/s", 1.25e8, ""},
		{rate, "1", 1, ""},
		{rate, "8bps", 1, ""},
		{rate, "1GiB/s", 1 << 30, ""},
		{rate, "100Mbit/s", 1.25e7, ""},
		{rate, "10Gb", 0, BadUnit},
		{rate, "10GB", 0, BadUnit},
		{rate, "10MBps", 0, BadUnit},

		{amount, "8", 8, ""},
		{amount, "0.5", 0.5, ""},
		{amount, "500m", 0.5, ""},
		{amount, "333m", 0.333, ""},
		{amount, "32Gi", 32 << 30, ""},
		{amount, "2k", 2000, ""},
		{amount, "2GiB", 2 << 30, ""},
		{amount, "500n", 0, BadUnit},
		{amount, "1e308k", 0, BadUnit},
		{amount, "1e308Ki", 0, OutOfRange},
		{amount, "1e305m", 0, BadUnit},
	} {
		got, bad := c.u.parse(c.text)
		if got != c.want || bad != c.bad || math.Signbit(got) {
			t.Errorf("%q: got %v %q, want %v %q", c.text, got, bad, c.want, c.bad)
		}
	}
}

func TestThousandths(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want int64
		bad  Class
	}{
		{0, 0, ""},
		{1, 1000, ""},
		{0.1, 100, ""},
		{0.001, 1, ""},
		{0.333, 333, ""},
		{1234567.891, 1234567891, ""},
		{32 << 30, 32 << 30 * 1000, ""},
		{0.0005, 1, TooFine},
		{1.0005, 1001, TooFine},
		{1.0 / 3, 334, TooFine},
		{1e18, 0, OutOfRange},
		{math.MaxFloat64, 0, OutOfRange},
	} {
		if got, bad := thousandths(c.x); got != c.want || bad != c.bad {
			t.Errorf("%v: got %v %q, want %v %q", c.x, got, bad, c.want, c.bad)
		}
	}
	for n := int64(0); n < 100_000; n += 7 { // every number of thousandths is one
		if got, bad := thousandths(float64(n) / 1000); got != n || bad != "" {
			t.Fatalf("%d thousandths: %d %q", n, got, bad)
		}
	}
}

func TestFormat(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1000: "1000", 2 << 30: "2GiB", 1536 << 20: "1536MiB", 1025: "1025", 5 << 60: "5764607523034234880", 1 << 52: "4PiB", 2.5: "2.5", 1e-9: "1e-09"} {
		got := formatBytes(x, "B")
		if back, bad := bytes_.parse(got); got != want && x < 1e18 || bad != "" || back != x {
			t.Errorf("%v: %s, which is %v %q", x, got, back, bad)
		}
	}
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Second: "1s", 1500 * time.Millisecond: "1.5s", 10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s"} {
		got := formatDuration(d)
		if back, err := time.ParseDuration(got); got != want || err != nil || back != d {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "0,2,4-5": {0, 2, 4, 5}, "4-5, 0": {0, 4, 5}, "7-7": {7}, "8191": {8191},
	} {
		got, ok := parseCPUs(text)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v", text, got, ok)
		}
		if back, _ := parseCPUs(cpuList{&got}.encode().Value); !slices.Equal(back, want) {
			t.Errorf("%q is written as %q", text, cpuList{&got}.encode().Value)
		}
	}
	for _, text := range []string{"", "-", "a", "3-1", "0,0", "0-3,2", "8192", "-1", "0-", "1,,2", "0x1", "0-99999999999"} {
		if got, ok := parseCPUs(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestArgv(t *testing.T) {
	f := Fields{Job: "j", Stage: "s", Task: 7, Machine: "m-0", Attempt: 2}
	for _, c := range []struct {
		in   sched.Command
		want []string
	}{
		{sched.Command{Shell: "echo {{.Names}}"}, []string{"sh", "-c", "echo {{.Names}}"}},
		{sched.Command{Argv: []string{"a", "{{.Job}}/{{.Stage}}/{{.Task}}@{{.Machine}}#{{.Attempt}}"}}, []string{"a", "j/s/7@m-0#2"}},
		{sched.Command{Argv: []string{"a", `{{printf "part-%03d" .Task}}{{"{{x}}"}}{{/* c */}}`}}, []string{"a", "part-007{{x}}"}},
		{sched.Command{Argv: []string{"a", `{{.Task -}} `, ""}}, []string{"a", "7", ""}},
	} {
		if got, err := Argv(&c.in, f); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{
		"{{", "{{.Tsk}}", "{{.Job.X}}", "{{range .Task}}{{end}}", "{{with .Job}}{{end}}", `{{define "x"}}{{end}}`, `{{template "run"}}`,
		"{{(.Job).X}}", "{{$.Tsk}}", "{{block \"x\" .}}{{end}}", "{{if .Nope}}{{end}}", "{{if .Job}}{{else}}{{.Nope}}{{end}}", "{{.}}",
		"{{if .Job}}{{end}}", "{{$x := .Task}}", "{{len .Job}}", "{{.Task | print}}", `{{printf "%1000000d" .Task}}`, `{{printf "%[1]s%[1]s" .Job}}`,
		`{{printf "%.999f" 1.5}}`, `{{printf "%*d" 9 .Task}}`, `{{printf "%d%d" .Task .Task}}`, `{{printf "%d" .Task | printf "%s%[1]s"}}`,
	} {
		if got, err := Argv(&sched.Command{Argv: []string{bad}}, f); err == nil {
			t.Errorf("%s: accepted, gives %q", bad, got)
		}
	}
}
