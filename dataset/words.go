package dataset

import (
	"fmt"
	"strings"
)

// Words explains how features are made from encoded columns.
func (m Map) Words() string {
	var before string
	if m.First != nil {
		before = m.First.Words() + ", then "
	}
	switch m.Kind {
	case IdentityMap:
		return before + fmt.Sprintf("the columns as %d numbers, all kept", m.Inputs)
	case StandardMap:
		return before + fmt.Sprintf("the columns as %d numbers, each rescaled", m.Inputs)
	case PCAMap:
		s := fmt.Sprintf("a projection of %[2]d numbers on %[1]d directions", m.Outputs, m.Inputs)
		if m.Nested > 0 {
			before = fmt.Sprintf("the columns as %d numbers, each rescaled, then ", m.Columns())
			s = fmt.Sprintf("a projection of them on %d directions, and of their bins on %d", m.Nested, m.Outputs-m.Nested)
		}
		if m.Whiten > 0 {
			s += fmt.Sprintf(", whose variances are equalised to degree %g (0 keeps them, 1 makes them equal)", m.Whiten)
		}
		return before + s
	}
	return before + fmt.Sprintf("%s: %d features of %d numbers", m.Kind, m.Dim(), m.Inputs)
}

const leastKept = 5

const wholeShare = 0.995

// KeptWords describes the columns that keep the smallest shares of variance; "" without columns.
func KeptWords(kept []Kept) string {
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
