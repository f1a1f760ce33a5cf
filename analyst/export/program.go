package export

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// JSON writes the document that docs/analyst.md describes, with shortest decimals that read back as
// the same floats.
func (m Model) JSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("export: write JSON: %w", err)
	}
	return out.Bytes(), nil
}

//go:embed model.R
var rProgram string

// R writes one R file that needs no package: the model as a list, and a function that predicts from
// a data frame.
func (m Model) R() ([]byte, error) {
	var b strings.Builder
	b.WriteString(m.comment("# "))
	fmt.Fprintf(&b, "caucus_model <- list(\n  output = %s,\n  classes = %s,\n  missing = %s,\n  warnings = %s,\n  encoded = %d,\n  columns = list(",
		rText(string(m.Output)), rTexts(m.Classes), rText(m.Missing), rTexts(m.Warnings),
		m.EncodedColumns)
	for i, c := range m.Columns {
		separate(&b, i)
		fmt.Fprintf(&b, "\n    list(name = %s, kind = %s, at = %d", rText(c.Name),
			rText(string(c.Kind)), c.At)
		if c.OtherIndex >= 0 {
			fmt.Fprintf(&b, ", levels = %s, other = %d)", rTexts(c.Levels), c.OtherIndex)
		} else {
			fmt.Fprintf(&b, ", min = %s, max = %s, log = %s, flag = %s)", number(c.Min),
				number(c.Max), rBool(c.Log), rBool(c.MissingFlag))
		}
	}
	b.WriteString("),\n  steps = list(")
	for i, s := range m.Steps {
		separate(&b, i)
		fmt.Fprintf(&b, "\n    list(op = %s", rText(string(s.Op)))
		switch s.Op {
		case Standardise:
			fmt.Fprintf(&b, ", mean = %s, factor = %s, cut = %s", rNumbers(s.Mean),
				rNumbers(s.Factor), number(s.Cut))
		case Linear:
			var all []float64
			for _, row := range s.Matrix {
				all = append(all, row...)
			}
			fmt.Fprintf(&b, ", offset = %s, matrix = matrix(%s, ncol = %d, byrow = TRUE)", rNumbers(s.Offset), rNumbers(all), len(s.Offset))
		}
		b.WriteString(")")
	}
	b.WriteString(")\n)\n\n")
	b.WriteString(rProgram)
	return []byte(b.String()), nil
}

func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(",")
	}
}

// rText quotes a text for R in ASCII. Other characters than letters, digits and plain signs become
// \u or \U.
func rText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r < 0x80:
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func rTexts(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = rText(s)
	}
	return "c(" + strings.Join(out, ", ") + ")"
}

func rNumbers(all []float64) string {
	var b strings.Builder
	b.WriteString("c(")
	for i, v := range all {
		if i > 0 {
			b.WriteString(", ")
			if i%8 == 0 {
				b.WriteString("\n      ")
			}
		}
		b.WriteString(number(v))
	}
	return b.String() + ")"
}

func rBool(v bool) string { return strings.ToUpper(strconv.FormatBool(v)) }

// number returns the shortest text that every language reads as this number.
func number(v float64) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) { // impossible: New refuses infinities and NaN
		return "0"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func (m Model) comment(sign string) string {
	var b strings.Builder
	for _, line := range m.words() {
		b.WriteString(sign + oneLine(line) + "\n")
	}
	b.WriteString(strings.TrimRight(sign, " ") + "\n")
	return b.String()
}

func (m Model) words() []string {
	return m.About.words(m.Warnings,
		fmt.Sprintf("Classifier of the study %s: it predicts %s (%s).", m.About.Study, m.About.Label, strings.Join(m.Classes, ", ")),
		fmt.Sprintf("What it tells of each class are %s. Written by caucus release export.", m.Output.Words()))
}

// words begin a file: what the file holds, the study, and the caveats.
func (a About) words(warnings []string, holds ...string) []string {
	all := append(holds, fmt.Sprintf("Plan %s: %s by %s, %d parties, unit %s, ε = %g, δ = %g.", a.Plan, a.Kind, a.Mechanism, a.Parties, a.Unit, a.Epsilon, a.Delta))
	if a.Simulated {
		all = append(all, "Simulated: its noise protected nobody.")
	}
	for _, w := range warnings {
		all = append(all, "Warning: "+w)
	}
	return all
}

// oneLine makes a text safe for a comment in every language: control characters, line separators
// and marks that reverse the writing direction become spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}
