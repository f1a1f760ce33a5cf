package export

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/aggregation/validation"
	"caucus/internal/csvfile"
	"caucus/study"
	"caucus/study/kinds/results"
)

// Frame is the table of a release's numbers, a row each, for a spreadsheet or a program.
type Frame struct {
	About          About
	Texts, Numbers []string // names of the columns: first texts, then numbers
	Rows           []FrameRow
	Warnings       []string
	says           []string    // what the numbers are
	constants      [][2]string // of an R program: a name, and its value in R
	program        string      // what an R program does with caucus_numbers
}

// FrameRow has a cell for each column. A number is NaN where there is none, and infinite where
// noise leaves an end open.
type FrameRow struct {
	Texts   []string
	Numbers []float64
}

// framed are the kinds that have a frame.
var framed = map[string]func(*Frame, study.Release) error{"survival": curves, "regress": changes}

// FramedKinds lists the kinds whose releases NewFrame reads, sorted.
func FramedKinds() []string { return slices.Sorted(maps.Keys(framed)) }

// NewFrame reads a release's numbers, and refuses kinds that are not FramedKinds. It checks no
// signature: verify first.
func NewFrame(r study.Release) (Frame, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{About: aboutOf(r, p), Warnings: r.Result.Warnings}
	read := framed[r.Kind]
	if read == nil {
		return f, fmt.Errorf("export: a %s release has no table of numbers", r.Kind)
	}
	return f, read(&f, r)
}

// interval returns value, low, high, sd and sd of the noise of a number.
func interval(n validation.Number) []float64 {
	none := math.NaN()
	switch {
	case !n.Known() && !n.NoHigh:
		return []float64{none, none, none, none, none}
	case n.NoLow && n.NoHigh:
		n.Low, n.High = none, none
	case n.NoLow:
		n.Low = math.Inf(-1)
	case n.NoHigh:
		n.High = math.Inf(1)
	}
	if !n.Known() { // it has a low end
		n.Value = none
	}
	return []float64{n.Value, n.Low, n.High, n.SD, n.NoiseSD}
}

// Columns are the names of all columns, in the order of a row's cells.
func (f Frame) Columns() []string { return slices.Concat(f.Texts, f.Numbers) }

// CSV writes a header and a row for each number. An empty cell is no number.
func (f Frame) CSV() ([]byte, error) {
	var out bytes.Buffer
	w := csvfile.NewEscaping(&out)
	rows := [][]string{f.Columns()}
	for _, r := range f.Rows {
		row := slices.Clone(r.Texts)
		for _, v := range r.Numbers {
			text := ""
			if v == v {
				text = strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+") // of +Inf
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return nil, fmt.Errorf("export: write CSV: %w", err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// R writes one R file that needs no package: the numbers as a data frame, and a function that draws
// them.
func (f Frame) R() ([]byte, error) {
	var b strings.Builder
	for _, line := range f.About.words(f.Warnings, f.says...) {
		b.WriteString("# " + oneLine(line) + "\n")
	}
	b.WriteString("#\n")
	for _, of := range append(f.constants, [2]string{"simulated",
		strings.ToUpper(strconv.FormatBool(f.About.Simulated))}) {
		fmt.Fprintf(&b, "caucus_%s <- %s\n", of[0], of[1])
	}
	b.WriteString("caucus_numbers <- data.frame(")
	for k, column := range f.Columns() {
		separate(&b, k)
		var cells []string
		for _, r := range f.Rows {
			if k < len(r.Texts) {
				cells = append(cells, rText(r.Texts[k]))
			} else {
				cells = append(cells, rNumber(r.Numbers[k-len(r.Texts)]))
			}
		}
		fmt.Fprintf(&b, "\n  %s = c(%s)", column, strings.Join(cells, ", "))
	}
	b.WriteString(",\n  stringsAsFactors = FALSE\n)\n\n" + f.program)
	return []byte(b.String()), nil
}

func rNumber(v float64) string {
	switch {
	case v != v:
		return "NA_real_"
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return number(v)
}
