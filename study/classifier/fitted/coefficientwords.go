package fitted

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/study"
	"caucus/study/classifier"
)

// Noise reports whether noise makes the interval of odds useless: it includes 1 (no effect) and
// spans a factor of more than 100.
func (e Estimate) Noise() bool {
	return e.Low <= 0 && e.High >= 0 && e.High-e.Low > 2*math.Log(mostOdds)
}

// Words says which difference of a record is meant: more of a number, a factor, or a level against
// another.
func (c Contrast) Words() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case c.Factor > 0:
		return fmt.Sprintf("1 + %s, times %s", c.Column, number(c.Factor))
	case c.Level != "":
		return fmt.Sprintf("%s: %s, against %s", c.Column, c.Level, c.ReferenceLevel)
	}
	return fmt.Sprintf("%s: %s more", c.Column, number(c.Increment))
}

// UseRegress says where intervals come from that odds ratios lack.
const UseRegress = "use kind regress with few columns: it gives differences of shares, and its forecast their intervals; odds are classify's alone"

// Words summarise a classifier's coefficients, or say why there are none. of may be nil. Where some
// have no interval, they say what has; not of votes, which mostly hide whole parties.
func (of *Coefficients) Words(c classifier.Classifier) string {
	words, all := of.words(c)
	if all || c.Output == classifier.VoteShare {
		return words
	}
	return words + "; " + UseRegress
}

// words also report whether each coefficient has an interval.
func (of *Coefficients) words(c classifier.Classifier) (string, bool) {
	if of == nil {
		switch {
		case c.Lambda == 0:
			return "the noise hides every effect", false
		case c.Output == classifier.VoteShare:
			return "no odds ratios: sites sent votes on public rows, which hold no outcomes", false
		case c.Output == classifier.Score:
			return "no odds ratios: the classifier is not calibrated", false
		}
		return "no odds ratios: their standard errors are not known for more than two classes, a tilted pool or map.bins", false
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
		return "no odds ratios: no standard error can be estimated", false
	case noise == told:
		return "the noise hides every effect: each interval includes 1 and is wider than from 1/10 to 10", false
	}
	return fmt.Sprintf("%d of %d have a 95 %% interval, which covers privacy noise and sampling; one interval in twenty misses. They say what occurs together with %s among these records, not what causes it", told, len(of.Of), of.Class), told == len(of.Of)
}

// Chart shows the odds ratios that have an interval, the clearest effect first. It is nil if there
// are none.
func (of *Coefficients) Chart(outcome string) *study.ReportChart {
	c := &study.ReportChart{
		Title: fmt.Sprintf("odds of %s, all else alike", outcome), Note: "odds ratios with 95 % intervals of privacy noise and sampling; the axis is logarithmic, dashed: 1, no difference; bold: the interval excludes 1", Ratio: true,
	}
	for _, e := range of.withInterval() {
		v := e.LogOdds
		c.Bars = append(c.Bars, study.ReportBar{Name: e.Words(), Value: math.Exp(v.Value),
			Low: math.Exp(v.Low), High: math.Exp(v.High), Main: v.clear()})
	}
	if len(c.Bars) == 0 {
		return nil
	}
	return c
}

// withInterval returns the contrasts with an interval, sorted by |value|/SD, largest first.
func (of *Coefficients) withInterval() (all []Coefficient) {
	for _, e := range of.Of {
		if e.LogOdds != nil {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Coefficient) int {
		return cmp.Compare(math.Abs(b.LogOdds.Value)/b.LogOdds.SD,
			math.Abs(a.LogOdds.Value)/a.LogOdds.SD)
	})
	return all
}

func (e Estimate) clear() bool { return e.Low > 0 || e.High < 0 }

// mostNamed bounds the contrasts that Conclusion names after "more often with", and after "less
// often with".
const mostNamed = 3

// Conclusion says in one sentence with which contrasts an outcome is more or less frequent, the
// clearest effect first. It is "" if every interval includes 1.
func (of *Coefficients) Conclusion(outcome string, parties int) string {
	var up, down []string
	for _, e := range of.withInterval() {
		if v := e.LogOdds; v.clear() {
			words := fmt.Sprintf("%s (the odds are multiplied by %s, 95 %% interval %s to %s)", e.Words(), OddsText(v.Value), OddsText(v.Low), OddsText(v.High))
			if v.Value > 0 {
				up = append(up, words)
			} else {
				down = append(down, words)
			}
		}
	}
	var said []string
	for _, of := range []struct {
		how string
		all []string
	}{{"more often with ", up}, {"less often with ", down}} {
		if named := of.all[:min(len(of.all), mostNamed)]; len(named) > 0 {
			said = append(said, of.how+strings.Join(named, "; "))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("Among the records of %d parties, all else alike, %s comes %s.", parties, outcome, strings.Join(said, ", and "))
}

// Tables show odds ratios, and then contrasts without an odds ratio, grouped by column and reason.
func (of *Coefficients) Tables() (out []study.ReportTable) {
	ratios := study.ReportTable{
		Collapsed: true, Title: fmt.Sprintf("odds of %s, all else alike", of.Class),
		Head: []string{"difference", "odds ratio", "95 % interval", "log-odds ± sd", "reading"},
	}
	untold := study.ReportTable{Title: "features without an odds ratio",
		Head: []string{"column", "because"}, Collapsed: true}
	type reason struct{ column, why string }
	counts := map[reason]int{}
	first := map[reason]string{} // the first contrast with each reason, in words
	var reasons []reason
	for _, e := range of.Of {
		if v := e.LogOdds; v != nil {
			says := ""
			switch {
			case v.Noise():
				says = "too noisy to tell"
			case v.Low <= 0 && v.High >= 0:
				says = "may be no effect"
			}
			ratios.Rows = append(ratios.Rows, []string{
				e.Words(), OddsText(v.Value), OddsText(v.Low) + " to " + OddsText(v.High), fmt.Sprintf("%+.3f ± %.3f", v.Value, v.SD), says,
			})
			continue
		}
		k := reason{e.Column, e.UnknownReason}
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

// OddsText writes e^v, an odds ratio, with two or three digits; beyond a factor of 10,000 only the
// direction.
func OddsText(v float64) string {
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
