package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-project/fairlead/sched"
)

// Fields are what the arguments of `run` may refer to: {{.Job}}, {{.Stage}},
// {{.Task}} (counted from 0 within the stage), {{.Machine}}, {{.Attempt}} (counted
// from 1).
type Fields struct {
	Job     string
	Stage   string
	Task    int
	Machine string
	Attempt int
}

// Argv returns the command line of c for one task: the arguments with their
// templates filled in, or sh -c and the shell string as it is.
func Argv(c *sched.Command, f Fields) ([]string, error) {
	if len(c.Argv) == 0 {
		return []string{"sh", "-c", c.Shell}, nil
	}
	argv := make([]string, len(c.Argv))
	for i, text := range c.Argv {
		if !strings.Contains(text, "{{") {
			argv[i] = text
			continue
		}
		t, err := parseTemplate(text)
		if err != nil {
			return nil, fmt.Errorf("workload: argument %d: %w", i, err)
		}
		var b strings.Builder
		if err := t.Execute(&b, f); err != nil {
			return nil, fmt.Errorf("workload: argument %d: %w", i, err)
		}
		argv[i] = b.String()
	}
	return argv, nil
}

// fieldList names the fields for messages.
const fieldList = "{{.Job}}, {{.Stage}}, {{.Task}}, {{.Machine}} and {{.Attempt}}"

// templatePrefix is what text/template puts before its messages.
var templatePrefix = regexp.MustCompile(`^template: run:[0-9:]+ (executing "run" at )?`)

// parseTemplate parses a template that uses nothing but the fields, printf of one of
// them (for leading zeros), and texts in quotes for what else stands in braces. With
// all of text/template a line could fill the memory or run forever.
func parseTemplate(text string) (*template.Template, error) {
	t, err := template.New("run").Parse(text)
	if err != nil {
		return nil, err
	}
	if len(t.Templates()) > 1 {
		return nil, fmt.Errorf("a definition inside the template")
	}
	if t.Tree == nil { // nothing but a comment or empty
		return t, nil
	}
	for _, n := range t.Root.Nodes {
		if err := allowed(n); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func allowed(n parse.Node) error {
	action, ok := n.(*parse.ActionNode)
	if !ok {
		if n.Type() == parse.NodeText || n.Type() == parse.NodeComment {
			return nil
		}
		return fmt.Errorf("%s in the template", quoteShort(n.String()))
	}
	var args []parse.Node
	if p := action.Pipe; len(p.Decl) == 0 && len(p.Cmds) == 1 {
		args = p.Cmds[0].Args
	}
	if len(args) == 3 && args[0].String() == "printf" {
		if f, ok := args[1].(*parse.StringNode); ok && formatRE.MatchString(f.Text) {
			args = args[2:]
		}
	}
	if len(args) != 1 {
		return fmt.Errorf("%s in the template", quoteShort(n.String()))
	}
	switch arg := args[0].(type) {
	case *parse.StringNode:
		return nil
	case *parse.FieldNode:
		if len(arg.Ident) == 1 && slices.Contains(templateFields, arg.Ident[0]) {
			return nil
		}
		return fmt.Errorf("the unknown field {{%s}}", arg)
	}
	return fmt.Errorf("%s in the template", quoteShort(n.String()))
}

// formatRE is a format for one value, at most 99 characters wide.
var formatRE = regexp.MustCompile(`^[^%]*%-?0?([1-9][0-9]?)?[dsvxq][^%]*$`)

var templateFields = []string{"Job", "Stage", "Task", "Machine", "Attempt"}

// command is a list of arguments, or one text for sh.
type command struct{ to *sched.Command }

// shellFieldRE finds templates in a shell string, where they mean nothing. Others,
// like those of docker --format, are none of our business.
var shellFieldRE = regexp.MustCompile(`\{\{-?\s*\.(Job|Stage|Task|Machine|Attempt)\s*-?\}\}`)

func (v command) decode(d *decoder, n *yaml.Node) {
	switch n = target(n); n.Kind {
	case yaml.SequenceNode:
		list[string]{to: &v.to.Argv, what: "arguments", item: func(s *string) value { return argument{s} }}.decode(d, n)
		if len(v.to.Argv) > 0 && v.to.Argv[0] == "" && !d.abort {
			d.fail(n, BadText, "an empty program name", "the name of a program as the first argument")
		}
	case yaml.ScalarNode:
		text{to: &v.to.Shell}.decode(d, n)
		if m := shellFieldRE.FindStringSubmatch(v.to.Shell); m != nil {
			d.fail(n, BadTemplate, m[0]+" in a text for sh, which is not a template", "the variable $FAIRLEAD_"+strings.ToUpper(m[1])+", or a list of arguments")
		}
	default:
		d.fail(n, WrongType, describe(n), "a list of arguments, or a text for sh")
	}
}

func (v command) encode() *yaml.Node {
	if v.to.Argv == nil {
		return textNode(v.to.Shell)
	}
	return list[string]{to: &v.to.Argv, inline: true, item: func(s *string) value { return argument{s} }}.encode()
}

// argument is a text that may be a template.
type argument struct{ to *string }

func (v argument) decode(d *decoder, n *yaml.Node) {
	text{to: v.to, empty: true}.decode(d, n)
	if !strings.Contains(*v.to, "{{") {
		return
	}
	var out strings.Builder
	t, err := parseTemplate(*v.to)
	if err == nil {
		err = t.Execute(&out, Fields{Job: "job", Stage: "stage", Machine: "machine", Attempt: 1})
	}
	if err == nil && strings.Contains(out.String(), "%!") {
		err = fmt.Errorf("a format that does not suit the field, giving %s", quoteShort(out.String()))
	}
	if err != nil {
		d.fail(n, BadTemplate, templatePrefix.ReplaceAllString(err.Error(), ""), "a template with "+fieldList)
	}
}

func (v argument) encode() *yaml.Node { return textNode(*v.to) }
