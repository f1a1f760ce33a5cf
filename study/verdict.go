package study

import (
	"fmt"
	"strings"
)

// ByAUC says whether a forecast is told by AUC: where all records pooled would hardly
// beat the largest class by accuracy, as with rare classes.
func (f *Forecast) ByAUC() bool { return f.Pooled.Accuracy.Mid-f.Majority < LeastGap }

// Verdict says in words whether a study is expected to help, and why not where not.
func (f *Forecast) Verdict() string {
	switch f.Helps {
	case HelpsYes:
		return "it helps: each has more of the release than of its own records alone"
	case HelpsDepends:
		switch {
		case f.Separation.Low == f.Separation.High:
			return "perhaps: what a site has of it, over its own records alone, is too little to be sure of"
		case f.HelpsFrom == f.Separation.Low:
			return fmt.Sprintf("perhaps: it helps if features separate the classes to an AUC of %.2f to %.2f; --auc says how far yours do", f.Separation.Low, f.Separation.High)
		case f.HelpsFrom > 0:
			return fmt.Sprintf("perhaps: it helps where features separate the classes to an AUC of about %.2f; --auc says how far yours do", f.HelpsFrom)
		}
		return "perhaps, but by less than a point, however far features separate the classes"
	}
	return "it does not help: " + f.whyNot()
}

// whyNot says which of the conditions of Helps fails at the middle separation; where
// none does by the one measure, the forecast was judged by the other.
func (f *Forecast) whyNot() string {
	accuracy := [3]float64{f.Released.Accuracy.Mid - f.Majority, f.Unperturbed.Accuracy.Mid - f.Majority, f.Alone.Accuracy.Mid - f.Majority}
	auc := [3]float64{f.Released.AUC.Mid - .5, f.Unperturbed.AUC.Mid - .5, f.Alone.AUC.Mid - .5}
	measures := [][3]float64{accuracy, auc}
	if f.ByAUC() {
		measures = [][3]float64{auc, accuracy}
	}
	for _, m := range measures {
		switch has, had, alone := m[0], m[1], m[2]; {
		case had < LeastGap:
			return "without any noise it would tell the classes apart hardly better than naming the largest"
		case has < alone-LeastGain:
			return "each does better alone"
		case has < had/4:
			return "noise leaves less than a quarter of what it would be worth over naming the largest class"
		case has < alone:
			return "each does as well alone"
		}
	}
	return "it is too little better than a site alone, or than naming the largest class"
}

// Ways says in words what would make a study of a size help that does not: one thing
// changed, all others as they are. Of a band of separations it is about the middle.
func (f *Forecast) Ways(size Size) string {
	band := f.Separation.High > f.Separation.Low
	// NeedRecords is the least that helps: sites with more than that know more alone.
	fewer := f.NeedRecords > 0 && float64(f.NeedRecords) < size.Each()
	if need := f.needs(fewer); need != "" {
		words := "it would take " + need
		if band {
			words = "for it perhaps to help it would take " + need
		}
		if fewer {
			words += fmt.Sprintf("; sites with only %d records each would gain, as they know less alone", f.NeedRecords)
		}
		return words
	}
	words := fmt.Sprintf("none of these alone would change that: an ε up to %g, up to %d such parties", MostNeeded.Epsilon, MostNeeded.Parties)
	if fewer {
		words += fmt.Sprintf("; it is more for sites with only %d records each, which know less alone", f.NeedRecords)
	} else {
		words += fmt.Sprintf(", up to %d records at each", MostNeeded.Records)
	}
	if band {
		words = fmt.Sprintf("at an AUC of %.2f ", f.Separation.Mid) + words
	}
	return words
}

// needs says in words what it would take more of, "" where nothing within reach does alone.
func (f *Forecast) needs(fewer bool) string {
	var ways []string
	if f.NeedEpsilon > 0 {
		ways = append(ways, fmt.Sprintf("about ε = %.2g", f.NeedEpsilon))
	}
	if f.NeedParties > 0 {
		ways = append(ways, fmt.Sprintf("%d parties, each with as many records", f.NeedParties))
	}
	if f.NeedRecords > 0 && !fewer {
		ways = append(ways, fmt.Sprintf("%d records at each", f.NeedRecords))
	}
	return strings.Join(ways, ", or ")
}
