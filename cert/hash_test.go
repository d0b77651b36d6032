package cert

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// full returns an instance in which every field of every type of the vocabulary
// is set.
func full() *sched.Instance {
	u, err := size.NewUniform(1, 2)
	if err != nil {
		panic(err)
	}
	cmd := &sched.Command{Argv: []string{"x"}, Shell: "y"}
	return &sched.Instance{
		Name: "n", Resources: []string{"cpu"},
		Machines: []sched.Machine{{Name: "m", Speed: 1, SpeedAssumed: true, Slots: 1, Capacity: []int64{1}, Port: 1, CPUs: []int{1}}},
		Jobs: []sched.Job{{
			Name: "j", Weight: 1, Release: 1, Tenant: "t", After: []sched.JobID{1},
			Stages: []sched.Stage{{
				Name: "s", After: []int{1}, Count: 1, Sizes: []size.Dist{size.Exact(1), u}, Needs: []int64{1},
				Machines: []sched.MachineID{1}, Input: []sched.Input{{From: 1, Bytes: 1}},
				Fluid: &sched.Fluid{
					Needs: []float64{1}, MaxRate: 1, Gang: true, Rates: []sched.MachineRate{{Machine: 1, Rate: 1}},
					Speedup: []sched.Segment{{Slope: 1, Length: 1}}, Page: "p",
				},
				Flows:   []sched.Flow{{From: 1, To: 1, Size: size.Exact(1), Run: cmd}},
				Shuffle: &sched.Shuffle{From: 1, To: 1, Size: u},
				Run:     cmd, Workdir: "w", Env: []sched.EnvVar{{Name: "e", Value: "v"}}, Image: "i", Retries: 1, Timeout: 1,
			}},
		}},
	}
}

// What does not bear on scheduling, and so not on the hash.
var unhashed = []string{"SpeedAssumed", "CPUs", "Run", "Workdir", "Env", "Image", "Retries", "Timeout"}

// Every field of the vocabulary changes the hash, or is listed above: a field
// added to package sched must be added to one of the two.
func TestHashCoversEveryField(t *testing.T) {
	in := full()
	before := Hash(in)
	changed := 0
	var walk func(v reflect.Value, path string)
	try := func(v reflect.Value, path string, to reflect.Value) {
		old := reflect.ValueOf(v.Interface())
		v.Set(to.Convert(v.Type()))
		same := Hash(in) == before
		v.Set(old)
		changed++
		hidden := slices.ContainsFunc(unhashed, func(f string) bool { return strings.Contains(path, "."+f) })
		if same != hidden {
			t.Errorf("changing %s: hash stays the same: %v, want %v", path, same, hidden)
		}
	}
	walk = func(v reflect.Value, path string) {
		if v.IsZero() {
			t.Fatalf("%s is not set: set it in full()", path)
		}
		switch v.Kind() {
		case reflect.Pointer:
			walk(v.Elem(), path)
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), path+"[]")
			}
			try(v, path+"[shorter]", v.Slice(0, v.Len()-1))
			try(v, path+"[longer]", reflect.AppendSlice(v.Slice(0, v.Len()), v.Slice(0, 1)))
		case reflect.Interface: // a size.Dist
			try(v, path, reflect.ValueOf(size.Exact(7)))
			try(v, path, reflect.ValueOf(size.Uniform{Low: 1, High: 2.0000000000000004}))
		case reflect.String:
			try(v, path, reflect.ValueOf(v.String()+"x"))
		case reflect.Bool:
			try(v, path, reflect.ValueOf(false))
		default:
			try(v, path, reflect.ValueOf(2)) // all numbers are 1
		}
	}
	root := reflect.ValueOf(in)
	for i := range root.Elem().NumField() {
		walk(root.Elem().Field(i), "."+root.Elem().Type().Field(i).Name)
	}
	if Hash(in) != before {
		t.Error("the walk left a change behind")
	}
	if changed < 40 {
		t.Errorf("only %d changes tried", changed)
	}
}

// Strings and lists that look alike when run together have different hashes.
func TestHashIsInjective(t *testing.T) {
	seen := map[string]int{}
	for i, in := range []*sched.Instance{
		{},
		{Name: "ab"},
		{Name: "a", Resources: []string{"b"}},
		{Resources: []string{"ab"}},
		{Resources: []string{"a", "b"}},
		{Machines: []sched.Machine{{Name: "a"}}},
		{Jobs: []sched.Job{{Name: "a"}}},
		{Jobs: []sched.Job{{Name: "a", Stages: []sched.Stage{{}}}}},
		{Jobs: []sched.Job{{Name: "a", Stages: []sched.Stage{{Machines: []sched.MachineID{}}}}}},
		{Jobs: []sched.Job{{Name: "a", Stages: []sched.Stage{{Flows: []sched.Flow{}}}}}},
		{Jobs: []sched.Job{{Name: "a"}, {Name: "a"}}},
	} {
		h := Hash(in)
		if len(h) != 64 {
			t.Fatalf("hash %q", h)
		}
		if k, dup := seen[h]; dup {
			t.Errorf("instances %d and %d have the same hash", k, i)
		}
		seen[h] = i
	}
}

// A hash written into a certificate must be recomputable by later versions.
func TestHashIsStable(t *testing.T) {
	const want = "6272cb44d69b2853c5f15e807ce14ee9e7f1434bff0e2c48aafe658628e9fe54"
	if got := Hash(full()); got != want {
		t.Errorf("the hash of a fixed instance is %s, was %s: certificates written before do not verify any more", got, want)
	}
}
