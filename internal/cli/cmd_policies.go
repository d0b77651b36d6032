package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
)

type policyDoc struct {
	Name      string      `json:"name"`
	Family    string      `json:"family"`
	Summary   string      `json:"summary"`
	Problem   string      `json:"problem"`
	Guarantee string      `json:"guarantee"`
	Source    string      `json:"source"`
	Sizes     string      `json:"sizes"`
	Arrivals  string      `json:"arrivals"`
	Params    []policyArg `json:"parameters"`
}

type policyArg struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

func newPolicies(e *env) *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List the policies, what they need to know and what they guarantee",
		Long: `List the policies. Each says what it is shown: sizes exactly, as a distribution,
or not at all (nothing); jobs from the start (offline) or from their release
(online).

A policy is named in full (dag/spc) or, where that is clear, in short (spc),
with parameters after a colon: spc:plain=true,patience=2` + exits(exitUsage),
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return e.listPolicies(out) },
	}
	out.addTo(cmd)
	return cmd
}

// policyNames are what the shell completes --policy to.
func (e *env) policyNames() []string {
	var names []string
	for _, p := range e.policies.Entries() {
		names = append(names, p.Name)
	}
	return names
}

func (e *env) listPolicies(out format) error {
	result := struct {
		header
		Policies []policyDoc `json:"policies"`
	}{header: header{apiVersion, "PolicyList"}}
	for _, p := range e.policies.Entries() {
		d := policyDoc{
			Name: p.Full(), Family: p.Family, Summary: p.Summary, Problem: p.Problem,
			Guarantee: p.Guarantee, Source: p.Source, Params: []policyArg{},
			Sizes: p.Knowledge.Sizes.String(), Arrivals: p.Knowledge.Arrivals.String(),
		}
		for _, a := range p.Params {
			d.Params = append(d.Params, policyArg{a[0], a[1]})
		}
		result.Policies = append(result.Policies, d)
	}
	return out.print(e.stdout, result, func(w *bytes.Buffer) {
		for i, p := range result.Policies {
			if i > 0 {
				w.WriteByte('\n')
			}
			fmt.Fprintf(w, "%s\n  %s\n", p.Name, p.Summary)
			line := func(key, value string) {
				if value != "" {
					fmt.Fprintf(w, "  %-10s %s\n", key, value)
				}
			}
			line("problem", p.Problem)
			line("guarantee", p.Guarantee)
			line("source", p.Source)
			line("shown", "sizes: "+p.Sizes+", arrivals: "+p.Arrivals)
			width := 0
			for _, a := range p.Params {
				width = max(width, len(a.Name))
			}
			for k, a := range p.Params {
				key := ""
				if k == 0 {
					key = "parameters"
				}
				fmt.Fprintf(w, "  %-10s %-*s  %s\n", key, width, a.Name, a.Meaning)
			}
		}
	})
}
