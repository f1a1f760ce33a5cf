package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Describe explains how features are made from encoded columns.
func (m Map) Describe() string {
	var before string
	if m.Inner != nil {
		before = m.Inner.Describe() + ", then "
	}
	switch m.Kind {
	case IdentityMap:
		return before + fmt.Sprintf("the columns as %d numbers, all kept", m.Inputs)
	case StandardMap:
		return before + fmt.Sprintf("the columns as %d numbers, each rescaled", m.Inputs)
	case PCAMap:
		s := fmt.Sprintf("a projection of %[2]d numbers on %[1]d directions", m.Outputs, m.Inputs)
		if m.LeadingComponents > 0 {
			before = fmt.Sprintf("the columns as %d numbers, each rescaled, then ", m.Columns())
			s = fmt.Sprintf("a projection of them on %d directions, and of their bins on %d", m.LeadingComponents, m.Outputs-m.LeadingComponents)
		}
		if m.Whiten > 0 {
			s += fmt.Sprintf(", whose variances are equalised to degree %g (0 keeps them, 1 makes them equal)", m.Whiten)
		}
		return before + s
	}
	return before + fmt.Sprintf("%s: %d features of %d numbers", m.Kind, m.Dim(), m.Inputs)
}

// mostFilled is how many columns FilledText names.
const mostFilled = 12

// FilledText says what stands for missing cells in studies that do not count them: the middle of a
// number's range, other for a text. Columns for which named is false are left out; "" if none is
// left.
func (s Schema) FilledText(named func(column string) bool) string {
	var words []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		fill := otherLevel
		if f.Kind == Numeric {
			fill = f.decode([]float64{missingNumber, 0}, "")
		}
		for _, name := range names {
			if named(name) {
				words = append(words, name+" "+fill)
			}
		}
	}
	if n := len(words) - mostFilled; n > 0 {
		words = append(words[:mostFilled], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

// MissingColumns tells the columns of which cells are missing, or count as missing.
func MissingColumns(remarks []Remark) func(column string) bool {
	return func(column string) bool {
		return slices.ContainsFunc(remarks, func(r Remark) bool {
			return r.Column == column && (r.Problem == ProblemMissing ||
				r.Problem == ProblemNotANumber)
		})
	}
}

const leastKept = 5

const wholeShare = 0.995

// KeptText describes the columns that keep the smallest shares of variance; "" without columns.
func KeptText(kept []KeptShare) string {
	if len(kept) == 0 {
		return ""
	}
	mean := 0.0
	var least []string
	for i, k := range kept {
		mean += k.Share / float64(len(kept))
		if i < leastKept && k.Share < wholeShare {
			least = append(least, fmt.Sprintf("%s %.0f %%", k.Column, 100*k.Share))
		}
	}
	if len(least) == 0 {
		return "keeps each column's variance in the pool"
	}
	return fmt.Sprintf("keeps %.0f %% of a column's variance in the pool on average, least of %s", 100*mean, strings.Join(least, ", "))
}
