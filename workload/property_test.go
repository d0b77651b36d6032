package workload

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
)

// checkParsed is what must hold of every text that parses.
func checkParsed(t testing.TB, f *File) {
	t.Helper()
	for form, text := range encodings(t, f) {
		g, err := Parse("again", []byte(text))
		if err != nil {
			t.Fatalf("as %s: %v\n%s", form, err, text)
		}
		if !equal(f, g) {
			t.Fatalf("as %s: got\n%+v\nwant\n%+v\n%s", form, g, f, text)
		}
	}
	in, err := f.Instance(here)
	switch {
	case err == nil:
		if err := in.Validate(); err != nil {
			t.Fatalf("expands to an invalid instance: %v", err)
		}
		if err := Unsupported(in); err != nil && !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
	case f.Cluster != nil:
		t.Fatalf("has a cluster and parses, but: %v", err)
	default:
		var es Errors
		if !errors.As(err, &es) {
			t.Fatalf("no position: %v", err)
		}
	}
}

// checkErrors is what must hold of the errors of every text that does not parse.
func checkErrors(t testing.TB, err error) {
	t.Helper()
	var es Errors
	if !errors.As(err, &es) || len(es) == 0 || len(es) > MaxErrors {
		t.Fatalf("no Errors: %v", err)
	}
	for _, e := range es {
		if e.Class == "" || !strings.HasPrefix(e.Msg, "found ") || e.Class != OverLimit && (e.Line < 1 || e.Column < 1) {
			t.Fatalf("no proper error: %#v", e)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range goodFiles(f) {
		f.Add(data)
	}
	bad, err := filepath.Glob("testdata/bad/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range bad {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		file, err := Parse("fuzz", data)
		if err != nil {
			checkErrors(t, err)
			return
		}
		checkParsed(t, file)
	})
}

// Generators of files with everything that a file can say.

var (
	genName = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,8}`)
	genText = rapid.OneOf(rapid.String(), rapid.StringMatching(`( ?[a-z:#'"{}\\-]{1,4} ?\n?){1,5}`),
		rapid.SampledFrom([]string{"yes", "null", "~", "1e3", "0x1F", "-", "? a", "a: b", "a #b", "two\nlines\n", "\n", " x", "x ", "\t", "'", "<<", "!x", "&x", "*x", "%x", "@x", "`x", "2GiB", "\u2028", "\U0001F600"}))
	genPositive = rapid.OneOf(rapid.Float64Range(1e-6, 1e6), rapid.SampledFrom([]float64{1, 0.1, 1.0 / 3, 1e-6, 1 << 20, 1024, 1234567}))
	genMilli    = rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 1<<30).Draw(t, "milli")) / 1000 })
)

func genSize(t *rapid.T) Size {
	r := &Random{form: rapid.SampledFrom([]string{"", "", formDiscrete, formUniform, formExponential, formLognormal, formEmpirical}).Draw(t, "form")}
	n := rapid.IntRange(1, 4).Draw(t, "n")
	switch r.form {
	case "":
		return Size{Value: genPositive.Draw(t, "size")}
	case formDiscrete:
		r.params = rapid.SliceOfNDistinct(genPositive, n, n, rapid.ID[float64]).Draw(t, "values")
		for range n {
			r.p = append(r.p, 1/float64(n))
		}
	case formUniform:
		low := genPositive.Draw(t, "low")
		r.params = []float64{low, low + genPositive.Draw(t, "width")}
	case formExponential:
		r.params = []float64{genPositive.Draw(t, "mean")}
	case formLognormal:
		r.params = []float64{genPositive.Draw(t, "mean"), rapid.Float64Range(0.01, 10).Draw(t, "cv")}
	case formEmpirical:
		r.params = rapid.SliceOfN(genPositive, n, n).Draw(t, "samples")
	}
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	return Size{Random: r}
}

func genCommand(t *rapid.T) *sched.Command {
	clean := func(s string) string { return strings.NewReplacer("\x00", "", "{{", "").Replace(s) }
	switch rapid.IntRange(0, 2).Draw(t, "command") {
	case 0:
		return nil
	case 1:
		return &sched.Command{Shell: "x" + clean(genText.Draw(t, "shell"))}
	}
	argv := []string{"prog", "{{.Task}} of {{.Stage}}"}
	for _, a := range rapid.SliceOfN(genText, 0, 3).Draw(t, "argv") {
		argv = append(argv, clean(a))
	}
	return &sched.Command{Argv: argv}
}

func genFile(t *rapid.T) *File {
	f := &File{Cluster: &Cluster{}}
	if rapid.Bool().Draw(t, "named") {
		f.Metadata.Name = genName.Draw(t, "metadata")
	}
	machines := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 1, 4, rapid.ID[string]).Draw(t, "machines")
	for _, name := range machines {
		m := Machine{Name: name, Speed: rapid.Float64Range(0.1, 100).Draw(t, "speed"), Slots: rapid.IntRange(1, 9).Draw(t, "slots"), Port: math.Inf(1)}
		switch rapid.IntRange(0, 3).Draw(t, "speed given") {
		case 0:
			m.Speed, m.SpeedAssumed = 1, true
		case 1:
			m.Speed = 1 // as good as left out, but not the same
		}
		m.Count = rapid.IntRange(0, 3).Draw(t, "count")
		m.Resources = []Quantity{{"cpu", float64(rapid.IntRange(10, 99).Draw(t, "cpu"))}, {"x/y", genMilli.Draw(t, "xy")}}
		if rapid.Bool().Draw(t, "port") {
			m.Port = genPositive.Draw(t, "rate")
		}
		if rapid.Bool().Draw(t, "cpus") {
			for c := range 12 {
				if rapid.Bool().Draw(t, "cpu") {
					m.CPUs = append(m.CPUs, c)
				}
			}
		}
		f.Cluster.Machines = append(f.Cluster.Machines, m)
	}
	single := func(m Machine) string {
		if m.Count > 0 {
			return m.Name + "-0"
		}
		return m.Name
	}
	form := rapid.SampledFrom([]string{"", "", "packing", "rates", "speedup", "page"}).Draw(t, "sharing")
	jobs := rapid.SliceOfNDistinct(genName, 1, 4, rapid.ID[string]).Draw(t, "jobs")
	for j, name := range jobs {
		job := Job{Name: name, Weight: rapid.SampledFrom([]float64{0, 1, 2.5, 1e9}).Draw(t, "weight")}
		job.Release = rapid.SampledFrom([]float64{0, 0.1, 30, 1e6}).Draw(t, "release")
		if j > 0 && rapid.Bool().Draw(t, "after") {
			job.After = []string{jobs[rapid.IntRange(0, j-1).Draw(t, "job")]}
		}
		if rapid.Bool().Draw(t, "tenant") {
			job.Tenant = genName.Draw(t, "tenant")
		}
		stages := rapid.SliceOfNDistinct(genName, 1, 4, rapid.ID[string]).Draw(t, "stages")
		for s, name := range stages {
			st := Stage{Name: name}
			if s > 0 {
				st.After = []string{stages[s-1]}
			}
			kind := rapid.SampledFrom([]string{"compute", "compute", "flows", "shuffle"}).Draw(t, "kind")
			before := len(job.Stages) - 1
			for before >= 0 && job.Stages[before].Tasks() == 0 {
				before--
			}
			switch {
			case kind == "flows":
				st.Flows = []Flow{{single(f.Cluster.Machines[0]), single(f.Cluster.Machines[len(machines)-1]), genSize(t), genCommand(t)}}
			case kind == "shuffle" && before >= 0 && s+1 < len(stages):
				st.Shuffle = &Shuffle{stages[before], stages[s+1], genSize(t)}
			default:
				genCompute(t, f, &st, form)
				if before >= 0 && rapid.Bool().Draw(t, "input") {
					st.Input = []Input{{stages[before], genPositive.Draw(t, "bytes")}}
				}
			}
			if s > 0 && job.Stages[s-1].Shuffle != nil && st.Tasks() == 0 { // the stage that a shuffle feeds
				st = Stage{Name: name, After: st.After}
			}
			job.Stages = append(job.Stages, st)
		}
		f.Jobs = append(f.Jobs, job)
	}
	return f
}

func genCompute(t *rapid.T, f *File, st *Stage, form string) {
	switch rapid.IntRange(0, 3).Draw(t, "sizes") {
	case 1:
		st.Count = rapid.IntRange(1, 1000).Draw(t, "tasks")
	case 2:
		z := genSize(t)
		st.Size = &z
	case 3:
		for range rapid.IntRange(1, 4).Draw(t, "tasks") {
			st.Sizes = append(st.Sizes, genSize(t))
		}
	}
	if form == "" && rapid.Bool().Draw(t, "needs") {
		st.Needs = []Quantity{{"cpu", float64(rapid.IntRange(0, 10_000).Draw(t, "cpu")) / 1000}}
	}
	if rapid.Bool().Draw(t, "pin") {
		st.Machines = []string{f.Cluster.Machines[0].Name}
	}
	switch form {
	case "packing":
		st.Needs, st.MaxRate, st.Gang = []Quantity{{"cpu", genPositive.Draw(t, "cpu")}}, genPositive.Draw(t, "rate"), rapid.Bool().Draw(t, "gang")
	case "rates":
		st.Rates = []Rate{{f.Cluster.Machines[0].Name, genPositive.Draw(t, "rate")}}
	case "speedup":
		st.Speedup = []sched.Segment{{Slope: 3, Length: 1}, {Slope: 0, Length: genPositive.Draw(t, "length")}}
	case "page":
		st.Page = genName.Draw(t, "page")
	}
	st.Run = genCommand(t)
	if rapid.Bool().Draw(t, "real") {
		st.Workdir, st.Image = "x"+strings.ReplaceAll(genText.Draw(t, "workdir"), "\x00", ""), "i"
		st.Env = []sched.EnvVar{{Name: "A", Value: strings.ReplaceAll(genText.Draw(t, "env"), "\x00", "")}, {Name: "_b", Value: ""}}
		st.Retries = rapid.IntRange(0, 5).Draw(t, "retries")
		st.Timeout = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "timeout"))
	}
}

// Any file that can be built, written and read back is equal, valid and fits the
// schema.
func TestRoundTripOfRandomFiles(t *testing.T) {
	s := compileSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		f := genFile(t)
		var y, j bytes.Buffer
		if err := errors.Join(f.EncodeYAML(&y), f.EncodeJSON(&j)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{y.String(), j.String()} {
			g, err := Parse("f", []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !equal(f, g) {
				t.Fatalf("got\n%+v\nwant\n%+v\n%s", g, f, text)
			}
			if _, err := g.Instance(nil); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			v, err := load([]byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if err := s.Validate(v); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}
