package agent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
)

// Fraction is a part of a whole, 0 to 1; people write 5% or 0.05.
type Fraction float64

// UnmarshalText reads a fraction.
func (s *Fraction) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%q is no share: write 5%%, or 0.05", text)
	}
	*s = Fraction(v)
	return nil
}

// String is the fraction as a percentage.
func (s Fraction) String() string { return fmt.Sprintf("%.3g%%", 100*float64(s)) }

// Expected says what a person would find normal in a source's file. A file that
// is not is not declared, and a preview of a study says so. It decides nothing
// while a study takes place: that would tell of the records.
type Expected struct {
	// Unreadable is the largest share of cells that are no number, no known
	// level or no text, those of lines that are no record among them; a quarter
	// where it is not given. Missing cells are none of them. Of any one column it
	// is half, or this where it is more.
	Unreadable *Fraction `yaml:"unreadable"`
	// Unlabelled is the largest share of records without a known label; half
	// where it is not given.
	Unlabelled *Fraction `yaml:"unlabelled"`
	// Records are the fewest and the most that the file may have.
	Records []int `yaml:"records"`
}

// What a file that nobody said anything about may have: beyond that it is
// something else than its schema says, or all but useless.
const (
	usualUnreadable Fraction = 0.25
	usualUnlabelled Fraction = 0.5
	// Of one column more than half: it is written in a way that nobody has said.
	usualColumn Fraction = 0.5
)

func (e Expected) validate() error {
	if len(e.Records) != 0 && (len(e.Records) != 2 || e.Records[0] < 0 || e.Records[1] < e.Records[0]) {
		return fmt.Errorf("records: write the fewest and the most, such as [1000, 100000]")
	}
	return nil
}

// unreadableProblems are those of cells that hold something that cannot be used.
var unreadableProblems = []dataset.Problem{dataset.NotANumber, dataset.UnknownLevel, dataset.NoText, mapping.NoDate, mapping.NoValue}

// problems says where a file is not as expected. It tells of the records: for
// the eyes of the site.
func (e Expected) problems(r reading) []string {
	records := r.lines.Table.Rows()
	if len(e.Records) == 2 && (records < e.Records[0] || records > e.Records[1]) {
		return []string{fmt.Sprintf("the file has %s, expected are %d to %d (records: in the source's entry)", textpage.Count(records, "record"), e.Records[0], e.Records[1])}
	}
	if records == 0 {
		if len(e.Records) == 2 { // somebody expects that
			return nil
		}
		return []string{"the file has no record, only a line of names: look whether it was written to its end, or write records: [0, 100000] in the source's entry if that is as it should be"}
	}
	unreadable, unlabelled := r.lines.Malformed*r.columns, 0
	column := map[string]int{}
	for _, m := range slices.Concat(r.lines.Remarks, r.encoded) {
		switch {
		case m.Problem == dataset.UnknownLabel:
			unlabelled += m.Count
		case slices.Contains(unreadableProblems, m.Problem):
			unreadable += m.Count
			column[m.Column] += m.Count
		}
	}
	var out []string
	say := func(n, of int, most *Fraction, usual Fraction, format string) {
		if most == nil {
			most = &usual
		}
		if share := Fraction(float64(n) / float64(of)); share > *most {
			out = append(out, fmt.Sprintf(format, share, *most))
		}
	}
	say(unreadable, records*max(r.columns, 1), e.Unreadable, usualUnreadable,
		"%v of the cells cannot be read as what the schema says, at most %v are expected (unreadable: in the source's entry): look at the remarks; a mapping may be missing")
	say(unlabelled, records, e.Unlabelled, usualUnlabelled,
		"%v of the records have no known label, at most %v are expected (unlabelled: in the source's entry): look at the label's texts; a mapping may be missing")
	ofColumn := usualColumn
	if e.Unreadable != nil {
		ofColumn = max(usualColumn, *e.Unreadable)
	}
	for _, name := range slices.Sorted(maps.Keys(column)) {
		if share := Fraction(float64(column[name]) / float64(records)); share > ofColumn && len(out) == 0 {
			out = append(out, fmt.Sprintf("%v of the cells of %s cannot be read as what the schema says: look at the remarks; a mapping may be missing, or write unreadable: 100%% in the source's entry if that is as it should be", share, name))
		}
	}
	return out
}
