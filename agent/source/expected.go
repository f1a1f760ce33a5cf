package source

import (
	"fmt"
	"strconv"
	"strings"
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
