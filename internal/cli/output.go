package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

const apiVersion = "fairlead.dev/v1alpha1"

var noPort = math.Inf(1)

// header opens every JSON result.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// format is the value of -o.
type format string

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }
func (f *format) Set(s string) error {
	switch s {
	case "table", "json", "yaml":
		*f = format(s)
		return nil
	}
	return errors.New("table, json or yaml")
}

func (f *format) addTo(cmd *cobra.Command) {
	*f = "table"
	cmd.Flags().VarP(f, "output", "o", "output `format`: table, json or yaml")
	completes(cmd, "output", "table", "json", "yaml")
}

// completes has the shell complete the values of a flag.
func completes(cmd *cobra.Command, flag string, values ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// must panics on what only a mistake in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// print writes v as JSON or YAML, or what asTable makes of it: all or, on an
// error, nothing.
func (f format) print(w io.Writer, v any, asTable func(*bytes.Buffer)) error {
	var b bytes.Buffer
	if f == "table" {
		asTable(&b)
		_, err := w.Write(b.Bytes())
		return err
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	if f == "yaml" {
		var node yaml.Node // keeps the order of keys
		if err := yaml.Unmarshal(b.Bytes(), &node); err != nil {
			return err
		}
		blockStyle(&node)
		b.Reset()
		y := yaml.NewEncoder(&b)
		y.SetIndent(2)
		if err := y.Encode(&node); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// newTable returns a plain aligned table, for render to print.
func newTable(columns ...string) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	row := make(table.Row, len(columns))
	for i, c := range columns {
		row[i] = c
	}
	t.AppendHeader(row)
	return t
}

func render(w *bytes.Buffer, t table.Writer) {
	w.WriteString(t.Render())
	w.WriteByte('\n')
}

// rightAlign aligns the columns numbered from 1.
func rightAlign(t table.Writer, columns ...int) {
	var configs []table.ColumnConfig
	for _, c := range columns {
		configs = append(configs, table.ColumnConfig{Number: c, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// number prints x with four significant digits or, if larger, as an integer.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case a >= 1e15:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case a >= 1000 || x == 0:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 3, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// optional prints a number that may not exist.
func optional(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}

// down prints a lower bound with at most that many significant digits, rounded
// down: what is printed holds as well.
func down(x float64, digits int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	y, err := strconv.ParseFloat(mantissa[:min(len(mantissa), digits+1)]+"e"+exponent, 64)
	if err != nil || x < 0 {
		y = x // not a bound of ours
	}
	if y != 0 && y < 1e-6 || y >= 1e21 {
		return strconv.FormatFloat(y, 'g', -1, 64)
	}
	return strconv.FormatFloat(y, 'f', -1, 64)
}
