package workload

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-project/fairlead/sched"
)

// The format: the fields of every mapping in the file, in the order in which they
// are written.

var fileFields = []field[File]{
	{"apiVersion", true, func(*File) value { return constant(APIVersion) }},
	{"kind", true, func(*File) value { return constant(Kind) }},
	{"metadata", false, func(f *File) value { return metadata{&f.Metadata} }},
	{"cluster", false, func(f *File) value { return optional[Cluster]{&f.Cluster, clusterValue} }},
	{"jobs", true, func(f *File) value {
		return list[Job]{to: &f.Jobs, what: "jobs", item: jobValue, start: Job{Weight: 1}}
	}},
}

var metadataFields = []field[Metadata]{
	{"name", false, func(m *Metadata) value { return name{&m.Name} }},
}

// metadata is left out when it says nothing.
type metadata struct{ to *Metadata }

func (v metadata) object() object[Metadata] {
	return object[Metadata]{to: v.to, what: "metadata", fields: metadataFields, inline: true}
}

func (v metadata) decode(d *decoder, n *yaml.Node) { v.object().decode(d, n) }

func (v metadata) encode() *yaml.Node {
	if *v.to == (Metadata{}) {
		return nil
	}
	return v.object().encode()
}

func clusterValue(c *Cluster) value {
	return object[Cluster]{to: c, what: "a cluster", fields: clusterFields}
}

var clusterFields = []field[Cluster]{
	{"machines", true, func(c *Cluster) value {
		return list[Machine]{to: &c.Machines, what: "machines", item: machineValue, start: Machine{Slots: unsetSlots, Port: noPort}}
	}},
}

func machineValue(m *Machine) value {
	return machine{object[Machine]{to: m, what: "a machine", fields: machineFields, inline: true}}
}

var machineFields = []field[Machine]{
	{"name", true, func(m *Machine) value { return name{&m.Name} }},
	{"count", false, func(m *Machine) value { return integer{to: &m.Count, min: 1, max: MaxMachines, unit: " machines"} }},
	{"speed", false, func(m *Machine) value {
		return number{to: &m.Speed, unit: plain, positive: true, absent: 1, always: !m.SpeedAssumed, max: maxFactor}
	}},
	{"slots", false, func(m *Machine) value {
		return integer{to: &m.Slots, max: MaxSlots, absent: defaultSlots(m), unit: " slots"}
	}},
	{"resources", false, func(m *Machine) value { return quantities(&m.Resources) }},
	{"port", false, func(m *Machine) value { return number{to: &m.Port, unit: rate, positive: true, absent: noPort} }},
	{"cpus", false, func(m *Machine) value { return cpuList{&m.CPUs} }},
}

// unsetSlots marks a machine whose slots are still to be defaulted.
const unsetSlots = -1

func defaultSlots(m *Machine) int { return max(1, len(m.CPUs)) }

// machine fills in the default that depends on another field, and the one that is
// remembered as such.
type machine struct{ object[Machine] }

func (v machine) decode(d *decoder, n *yaml.Node) {
	v.object.decode(d, n)
	if v.to.Slots == unsetSlots {
		v.to.Slots = defaultSlots(v.to)
	}
	if v.to.Speed == 0 { // which no file can say
		v.to.Speed, v.to.SpeedAssumed = 1, true
	}
}

func jobValue(j *Job) value { return object[Job]{to: j, what: "a job", fields: jobFields} }

var jobFields = []field[Job]{
	{"name", true, func(j *Job) value { return name{&j.Name} }},
	{"weight", false, func(j *Job) value { return number{to: &j.Weight, unit: plain, absent: 1, max: maxFactor} }},
	{"release", false, func(j *Job) value {
		return number{to: &j.Release, unit: seconds, max: sched.MaxTime.Seconds()}
	}},
	{"tenant", false, func(j *Job) value { return name{&j.Tenant} }},
	{"after", false, func(j *Job) value { return names(&j.After, "names of jobs", true) }},
	{"stages", true, func(j *Job) value { return list[Stage]{to: &j.Stages, what: "stages", item: stageValue} }},
}

func stageValue(s *Stage) value { return object[Stage]{to: s, what: "a stage", fields: stageFields} }

var stageFields = []field[Stage]{
	{"name", true, func(s *Stage) value { return name{&s.Name} }},
	{"after", false, func(s *Stage) value { return names(&s.After, "names of stages", true) }},
	{"count", false, func(s *Stage) value {
		return integer{to: &s.Count, min: 1, max: MaxTasks, unit: " tasks in a workload"}
	}},
	{"size", false, func(s *Stage) value {
		return optional[Size]{&s.Size, func(z *Size) value { return sizeValue{z, seconds} }}
	}},
	{"sizes", false, func(s *Stage) value {
		return list[Size]{to: &s.Sizes, what: "sizes", inline: true, item: func(z *Size) value { return sizeValue{z, seconds} }}
	}},
	{"needs", false, func(s *Stage) value { return quantities(&s.Needs) }},
	{"machines", false, func(s *Stage) value { return names(&s.Machines, "names of machines", false) }},
	{"input", false, func(s *Stage) value {
		return dict[Input]{
			to: &s.Input, what: "names of stages to bytes", empty: true, check: nameKey,
			key:  func(i *Input) *string { return &i.From },
			item: func(i *Input) value { return number{to: &i.Bytes, unit: bytes_, always: true} },
		}
	}},
	{"run", false, func(s *Stage) value { return optional[sched.Command]{&s.Run, commandValue} }},
	{"workdir", false, func(s *Stage) value { return text{to: &s.Workdir} }},
	{"env", false, func(s *Stage) value {
		return dict[sched.EnvVar]{
			to: &s.Env, what: "names to texts", empty: true, check: envKey,
			key:  func(e *sched.EnvVar) *string { return &e.Name },
			item: func(e *sched.EnvVar) value { return text{to: &e.Value, empty: true} },
		}
	}},
	{"image", false, func(s *Stage) value { return text{to: &s.Image} }},
	{"retries", false, func(s *Stage) value { return integer{to: &s.Retries, max: maxRetries, unit: " retries"} }},
	{"timeout", false, func(s *Stage) value { return duration{&s.Timeout} }},
	{"shuffle", false, func(s *Stage) value {
		return optional[Shuffle]{&s.Shuffle, func(z *Shuffle) value {
			return object[Shuffle]{to: z, what: "a shuffle", fields: shuffleFields, inline: true}
		}}
	}},
	{"flows", false, func(s *Stage) value { return list[Flow]{to: &s.Flows, what: "flows", item: flowValue} }},
	{"maxRate", false, func(s *Stage) value { return number{to: &s.MaxRate, unit: plain, positive: true} }},
	{"gang", false, func(s *Stage) value { return boolean{&s.Gang} }},
	{"rates", false, func(s *Stage) value {
		return dict[Rate]{
			to: &s.Rates, what: "names of machines to rates", check: nameKey,
			key:  func(r *Rate) *string { return &r.Machine },
			item: func(r *Rate) value { return number{to: &r.Rate, unit: plain, positive: true, always: true} },
		}
	}},
	{"speedup", false, func(s *Stage) value {
		return list[sched.Segment]{to: &s.Speedup, what: "segments", item: segmentValue, inline: true}
	}},
	{"page", false, func(s *Stage) value { return name{&s.Page} }},
}

// maxRetries is far above any sensible number and far below overflow.
const maxRetries = 1_000_000

var shuffleFields = []field[Shuffle]{
	{"from", true, func(z *Shuffle) value { return name{&z.From} }},
	{"to", true, func(z *Shuffle) value { return name{&z.To} }},
	{"size", true, func(z *Shuffle) value { return sizeValue{&z.Size, bytes_} }},
}

func flowValue(f *Flow) value {
	return object[Flow]{to: f, what: "a flow", fields: flowFields, inline: true}
}

var flowFields = []field[Flow]{
	{"from", true, func(f *Flow) value { return name{&f.From} }},
	{"to", true, func(f *Flow) value { return name{&f.To} }},
	{"size", true, func(f *Flow) value { return sizeValue{&f.Size, bytes_} }},
	{"run", false, func(f *Flow) value { return optional[sched.Command]{&f.Run, commandValue} }},
}

func segmentValue(s *sched.Segment) value {
	return object[sched.Segment]{to: s, what: "a segment", fields: segmentFields, inline: true}
}

var segmentFields = []field[sched.Segment]{
	{"slope", true, func(s *sched.Segment) value { return number{to: &s.Slope, unit: plain, always: true} }},
	{"length", true, func(s *sched.Segment) value { return number{to: &s.Length, unit: plain, positive: true, always: true} }},
}

func commandValue(c *sched.Command) value { return command{c} }

func names(to *[]string, what string, empty bool) value {
	return list[string]{to: to, what: what, empty: empty, inline: true, item: func(s *string) value { return name{s} }}
}

func quantities(to *[]Quantity) value {
	return dict[Quantity]{
		to: to, what: "names of resources to amounts", empty: true, check: resourceKey,
		key:  func(q *Quantity) *string { return &q.Name },
		item: func(q *Quantity) value { return number{to: &q.Amount, unit: amount, always: true} },
	}
}

var (
	resourceRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	envRE      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func nameKey(d *decoder, key *yaml.Node) bool { return d.name(key, nameRE, nameRule) }

func resourceKey(d *decoder, key *yaml.Node) bool {
	return d.name(key, resourceRE, "a resource: letters, digits, '.', '_', '-' and '/', beginning with a letter or digit")
}

func envKey(d *decoder, key *yaml.Node) bool {
	switch {
	case !envRE.MatchString(key.Value):
		d.fail(key, BadEnv, quoteShort(key.Value), "the name of an environment variable: letters, digits and '_', not beginning with a digit")
	case len(key.Value) > 9 && key.Value[:9] == "FAIRLEAD_":
		d.fail(key, BadEnv, quoteShort(key.Value), "a name that does not begin with FAIRLEAD_: those are set for each task")
	default:
		return true
	}
	return false
}

// maxFactor bounds weights and speeds: beyond, sums and products of them with times
// would leave the range of floats.
const maxFactor = 1e30
