package workload

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

type fieldSet struct{ names, required []string }

func setOf[T any](fields []field[T]) fieldSet {
	s := fieldSet{names: fieldNames(fields)}
	for _, f := range fields {
		if f.required {
			s.required = append(s.required, f.name)
		}
	}
	return s
}

// The mappings of the format, by their names in the schema.
var mappings = map[string]fieldSet{
	"workload": setOf(fileFields), "metadata": setOf(metadataFields), "cluster": setOf(clusterFields), "machine": setOf(machineFields),
	"job": setOf(jobFields), "stage": setOf(stageFields), "shuffle": setOf(shuffleFields), "flow": setOf(flowFields), "segment": setOf(segmentFields),
	"distribution": setOf(distFields(seconds)), "exponential": setOf(exponentialFields(seconds)), "lognormal": setOf(lognormalFields(seconds)),
}

type schemaNode struct {
	Description          string
	Properties           map[string]json.RawMessage
	Required             []string
	AdditionalProperties json.RawMessage
	Maximum              float64
}

func schemaDefs(t *testing.T) map[string]schemaNode {
	t.Helper()
	var s struct {
		Defs map[string]schemaNode `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s.Defs
}

// The schema has exactly the fields that the parser accepts, and each is described.
func TestSchemaHasTheParsersFields(t *testing.T) {
	defs := schemaDefs(t)
	for name, def := range defs {
		if _, ok := mappings[name]; !ok && def.Properties != nil {
			t.Errorf("%s: the parser has no such mapping", name)
		}
	}
	for name, want := range mappings {
		def := defs[name]
		got := slices.Sorted(maps.Keys(def.Properties))
		if w := slices.Sorted(slices.Values(want.names)); !slices.Equal(got, w) {
			t.Errorf("%s: the schema has %v, the parser %v", name, got, w)
		}
		if w := slices.Sorted(slices.Values(want.required)); !slices.Equal(slices.Sorted(slices.Values(def.Required)), w) {
			t.Errorf("%s: the schema requires %v, the parser %v", name, def.Required, w)
		}
		if string(def.AdditionalProperties) != "false" {
			t.Errorf("%s: the schema allows unknown fields", name)
		}
		for field, raw := range def.Properties {
			var p schemaNode
			if err := json.Unmarshal(raw, &p); err != nil || p.Description == "" {
				t.Errorf("%s.%s: no description (%v)", name, field, err)
			}
		}
	}
}

func TestSchemaHasTheParsersLimits(t *testing.T) {
	defs := schemaDefs(t)
	for field, want := range map[string]float64{"machine.count": MaxMachines, "machine.slots": MaxSlots, "machine.cpus": maxCPU, "stage.count": MaxTasks, "stage.retries": maxRetries} {
		def, name, _ := strings.Cut(field, ".")
		var p schemaNode
		if err := json.Unmarshal(defs[def].Properties[name], &p); err != nil || p.Maximum != want {
			t.Errorf("%s: maximum %v, want %v (%v)", field, p.Maximum, want, err)
		}
	}
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("workload.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("workload.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load reads a file as editors do that know nothing but YAML.
func load(data []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(j))
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	s := compileSchema(t)
	for name, data := range goodFiles(t) {
		texts := encodings(t, mustParse(t, name, string(data)))
		texts["as written"] = string(data)
		for form, text := range texts {
			v, err := load([]byte(text))
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			} else if err := s.Validate(v); err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

// Files that are wrong in structure fail the schema too.
func TestSchemaRefusesBadStructure(t *testing.T) {
	structure := map[Class]bool{
		UnknownField: true, MissingField: true, BadVersion: true, NullValue: true, WrongType: true, EmptyList: true,
		BadName: true, BadUnit: true, OutOfRange: true, BadEnv: true, WrongStageKind: false, OverLimit: false,
	}
	beyond := map[string]string{ // what a schema cannot see
		"gang-without-rate.yaml":     "depends on another field",
		"sharing-without-needs.yaml": "depends on another field",
		"name-yes.yaml":              "text for YAML 1.2",
		"name-date.yaml":             "text when converted to JSON",
		"size-sexagesimal.yaml":      "a number for YAML 1.1",
		"alias-of-itself.yaml":       "endless for a generic reader",
		"lognormal-zero-cv.yaml":     "a distribution's parameters",
		"exponential-zero.yaml":      "a distribution's parameters",
		"release-far.yaml":           "the end of time",
		"timeout-zero.yaml":          "no duration of zero, in any unit",
		"capacity-huge.yaml":         "the end of int64",
		"memory-two-scales.yaml":     "an exponent and a unit",
		"weight-overflow.yaml":       "text when read as YAML",
	}
	s := compileSchema(t)
	names, errs := badFiles(t)
	refused := 0
	for _, name := range names {
		base := filepath.Base(name)
		if es := errs[name]; len(es) == 0 || !structure[es[0].Class] || beyond[base] != "" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := load(data)
		if err != nil {
			continue // not even YAML
		}
		refused++
		if s.Validate(v) == nil {
			t.Errorf("%s passes the schema", base)
		}
	}
	if refused < 50 {
		t.Errorf("only %d files", refused)
	}
}
