package classifier

import (
	"fmt"
	"math"
	"strconv"

	"caucus/study"
)

// Noise says whether the interval is useless: it holds both no effect and tenfold odds.
func (e Estimate) Noise() bool {
	return e.Low <= 0 && e.High >= 0 && e.High-e.Low > 2*math.Log(mostOdds)
}

// Words describe a contrast.
func (c Contrast) Words() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case c.Times > 0:
		return fmt.Sprintf("1 + %s: %s times as large", c.Column, number(c.Times))
	case c.Level != "":
		return fmt.Sprintf("%s: %s, against %s", c.Column, c.Level, c.Against)
	}
	return fmt.Sprintf("%s: %s more", c.Column, number(c.Per))
}

// Words say what a classifier's coefficients are, or why it has none; of may be nil.
func (of *Coefficients) Words(c Classifier) string {
	if of == nil {
		switch {
		case c.Lambda == 0:
			return "noise is all there is"
		case c.Output == VoteShare:
			return "none: votes hold no outcomes, so what moves them has no odds ratio"
		case c.Output == Score:
			return "none: the numbers are scores, whose scale nobody knows"
		}
		return "none: of more than two classes, or of a pool that was tilted, their error is not known"
	}
	told, noise := 0, 0
	for _, e := range of.Of {
		if e.LogOdds != nil {
			told++
			if e.LogOdds.Noise() {
				noise++
			}
		}
	}
	switch {
	case told == 0:
		return "none whose error is known"
	case noise == told:
		return "noise is all there is: every interval holds 1 and spans tenfold odds and more"
	}
	return fmt.Sprintf("%d of %d with 95 %% intervals, of privacy noise and of sampling; one interval in twenty misses. They are what goes with %s among these records, not what causes it", told, len(of.Of), of.Class)
}

// Tables show odds ratios, then contrasts without one, grouped by column and reason.
func (of *Coefficients) Tables() (out []study.ReportTable) {
	ratios := study.ReportTable{
		Title: fmt.Sprintf("odds of %s, all else alike", of.Class),
		Head:  []string{"difference", "odds ratio", "95 % interval", "log-odds ± sd", "reading"},
	}
	untold := study.ReportTable{Title: "no odds ratio", Head: []string{"column", "because"}}
	type reason struct{ column, why string }
	counts := map[reason]int{}
	first := map[reason]string{} // described in words
	var reasons []reason
	for _, e := range of.Of {
		if v := e.LogOdds; v != nil {
			says := ""
			switch {
			case v.Noise():
				says = "noise is all there is"
			case v.Low <= 0 && v.High >= 0:
				says = "may be none"
			}
			ratios.Rows = append(ratios.Rows, []string{
				e.Words(), odds(v.Value), odds(v.Low) + " to " + odds(v.High), fmt.Sprintf("%+.3f ± %.3f", v.Value, v.SD), says,
			})
			continue
		}
		k := reason{e.Column, e.Untold}
		if counts[k] == 0 {
			reasons = append(reasons, k)
			first[k] = e.Words()
		}
		counts[k]++
	}
	for _, k := range reasons {
		name := first[k]
		if n := counts[k]; n > 1 {
			name = fmt.Sprintf("%s (%d levels)", k.column, n)
		}
		untold.Rows = append(untold.Rows, []string{name, k.why})
	}
	for _, t := range []study.ReportTable{ratios, untold} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func odds(v float64) string {
	switch o := math.Exp(v); {
	case o > 9999:
		return "over 9999"
	case o < 0.0001:
		return "under 0.0001"
	case o >= 10:
		return strconv.FormatFloat(o, 'f', max(0, 2-int(math.Log10(o))), 64)
	case o >= 0.1:
		return strconv.FormatFloat(o, 'f', 2, 64)
	default:
		return strconv.FormatFloat(o, 'g', 2, 64)
	}
}
