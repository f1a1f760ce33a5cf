package judged

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/aggregation/validation"
	"caucus/study"
	"caucus/study/evaluate"
)

// Evaluation is how well a model does on private records, made from noisy histograms of its scores
// alone.
type Evaluation struct {
	NoiseSD float64       `json:"noise_sd"` // standard deviation of the noise on each count
	Classes []ClassResult `json:"classes"`  // in the plan's order
}

// ClassResult is the result for one class against all others. Edges are inner bin edges, one fewer
// than the bins.
type ClassResult struct {
	Class string `json:"class"`
	// scores are probabilities; Edges and bins are in log-odds
	Probability bool      `json:"probability"`
	Edges       []float64 `json:"edges"`
	// CertainScoreShare is the share of the pool's scores that are 0 or 1. Their log-odds have no
	// bound, so they bend slope and intercept. It is 0 in plans of before study.FormCommitted.
	CertainScoreShare float64 `json:"sure,omitempty"`
	// over all records; with groupings, from the weighted mean of their counts (overallNoise)
	Overall   Subgroup    `json:"overall"`
	Groupings []Subgroups `json:"groupings,omitempty"`
}

// Subgroups holds the results for the levels of one column.
type Subgroups struct {
	Column string     `json:"column"`
	Levels []Subgroup `json:"levels"`
}

// Subgroup is the result for the records of one level.
type Subgroup struct {
	Level string `json:"level,omitempty"`
	// Unlabelled counts records without a label, Unscored records without a score. Performance
	// leaves both out.
	Unlabelled float64 `json:"unlabelled"`
	Unscored   float64 `json:"unscored"`
	validation.Performance
}

// overallNoise returns the noise variance of a count over all records, if one released count has
// variance 1. Adding the L levels of a grouping gives such a count with variance L. The best mean
// over several groupings weighs each by 1/L and has variance 1/Σ(1/L).
func (h *histograms) overallNoise() float64 {
	sum := 0.0
	for _, g := range h.Groups {
		sum += 1 / float64(len(g.Levels))
	}
	return 1 / sum
}

// evaluate makes the result from counts whose noise has standard deviation sd. With sampling,
// intervals are for the population behind the records; without, for the counted records.
func (h *histograms) evaluate(v []float64, sd float64, sampling bool) Evaluation {
	out := Evaluation{NoiseSD: sd}
	overall := make([][]float64, len(h.scales))
	h.ForEach(func(at, g, first int) {
		s, by := h.scales[at], h.Groups[g]
		if g == 0 {
			out.Classes = append(out.Classes,
				ClassResult{Class: h.terms.Classes[at], Probability: h.Scorer.LogOdds,
					Edges: s.Edges})
			overall[at] = make([]float64, evaluate.CellsOfLevel(s.Bins()))
		}
		of := Subgroups{Column: by.Column}
		for level, name := range by.Levels {
			run := v[first+level*evaluate.CellsOfLevel(s.Bins()):][:evaluate.CellsOfLevel(s.Bins())]
			for c, n := range run {
				overall[at][c] += n * h.overallNoise() / float64(len(by.Levels))
			}
			if by.Column != "" {
				of.Levels = append(of.Levels, h.subgroup(s, name, run, sd*sd, sampling))
			}
		}
		if by.Column != "" {
			out.Classes[at].Groupings = append(out.Classes[at].Groupings, of)
		}
	})
	for at, s := range h.scales {
		if evaluate.CountsMissing(h.plan) && h.sure != nil {
			out.Classes[at].CertainScoreShare = h.sure[at]
		}
		out.Classes[at].Overall = h.subgroup(s, "", overall[at], sd*sd*h.overallNoise(), sampling)
	}
	return out
}

func (h *histograms) subgroup(s validation.ScoreBins, name string, run []float64, variance float64,
	sampling bool) Subgroup {
	bins := s.Bins()
	return Subgroup{
		Level: name, Unlabelled: run[2*(bins+1)], Unscored: run[bins] + run[2*bins+1],
		Performance: s.Performance(validation.Histogram{
			Positive: run[:bins], Negative: run[bins+1 : 2*bins+1], Noise: variance, ForPopulation: sampling,
		}, h.terms.Thresholds),
	}
}

// ResultOf reads a release's body, and refuses one whose bins and edges do not match. It checks no
// signature.
func ResultOf(r study.Release) (out Evaluation, err error) {
	if err := r.Result.DecodeBody(&out); err != nil {
		return out, err
	}
	if len(out.Classes) == 0 {
		return out, fmt.Errorf("read evaluation: it judges no class: the release was damaged")
	}
	for _, c := range out.Classes {
		if len(c.Overall.Bins) != len(c.Edges)+1 {
			return Evaluation{}, fmt.Errorf("read evaluation: class %q has %d bins and %d edges: the release was damaged", c.Class, len(c.Overall.Bins), len(c.Edges))
		}
	}
	return out, nil
}

// Curve is a ROC curve: Points are (false positive share, true positive share), ascending, both in
// [0,1].
type Curve struct {
	Class  string       `json:"class"`
	Of     string       `json:"of"` // whose curve: all records, or a column and its level
	Points [][2]float64 `json:"points"`
}

// ROC returns, for each class, the curve of all records and of each level.
func (e Evaluation) ROC() (all []Curve) {
	for _, c := range e.Classes {
		c.subgroups(func(name string, of Subgroup) {
			if points := of.ROC(); points != nil {
				all = append(all, Curve{c.Class, name, points})
			}
		})
	}
	return all
}

// ROC returns a point for each edge, the highest first: the share of other classes and the share of
// the class that score at least the edge. Neither share ever decreases. ROC is nil if, after noise,
// either has no records.
func (s Subgroup) ROC() (points [][2]float64) {
	var yes, no float64
	for _, bin := range s.Bins {
		yes, no = yes+bin.Positives, no+bin.Negatives
	}
	if !(yes > 0 && no > 0) {
		return nil
	}
	var at [2]float64
	points = append(points, at)
	var p, n float64
	for _, bin := range slices.Backward(s.Bins) {
		p, n = p+bin.Positives/yes, n+bin.Negatives/no
		at = [2]float64{math.Min(math.Max(n, at[0]), 1), math.Min(math.Max(p, at[1]), 1)}
		points = append(points, at)
	}
	return points
}

// Report makes the answer, charts and tables of a release. It fails where ResultOf does.
func (Results) Report(r study.Release) (study.Report, error) {
	e, err := ResultOf(r)
	if err != nil {
		return study.Report{}, err
	}
	out := study.Report{Answer: e.answer()}
	for _, c := range e.Classes {
		if chart := c.chart(); chart != nil {
			out.Charts = append(out.Charts, chart)
		}
		out.Figures = append(out.Figures, c.figures()...)
		out.Tables = append(out.Tables, c.table())
		if t, ok := c.thresholds(); ok {
			out.Tables = append(out.Tables, t)
		}
		out.Tables = append(out.Tables, c.curve())
	}
	return out, nil
}

// mostNamed bounds the subgroups that an answer names.
const mostNamed = 4

func (e Evaluation) answer() string {
	c := e.Classes[0]
	auc, slope := c.Overall.AUC, c.Overall.Slope
	if !auc.Known() {
		return fmt.Sprintf("How well the model tells %s from other records stays unknown: %s.", c.Class, auc.Unknown)
	}
	s := fmt.Sprintf("On %s labelled records the model tells %s from the others with an AUC of %s", c.Overall.Records.Words(0), c.Class, auc.Words(3))
	var groups []string
	c.subgroups(func(name string, of Subgroup) {
		if name != allRecords && of.AUC.Known() {
			groups = append(groups, name+" "+of.AUC.Words(3))
		}
	})
	if n := len(groups); 0 < n && n <= mostNamed {
		s += "; by group: " + strings.Join(groups, ", ")
	}
	s += "."
	if auc.High < 0.5 && !auc.NoHigh {
		s += fmt.Sprintf(" That is below chance: the scores are lower where the label is %s. "+
			"Are they of another class? Then judge that (evaluate.classes).", c.Class)
	}
	switch {
	case !c.Probability:
	case slope.Known():
		s += fmt.Sprintf(" As probabilities, its scores have the calibration slope %s: 1 is calibrated, above 1 too cautious, below 1 too extreme.", slope.Words(2))
	default:
		s += " Whether its scores are probabilities stays unknown: " + slope.Unknown + "."
	}
	return s + c.sureWords()
}

// sureWords warns of scores that bend the calibration; "" if there are none.
func (c ClassResult) sureWords() string {
	if c.CertainScoreShare == 0 {
		return ""
	}
	return fmt.Sprintf(" Of the pool's scores %.3g %% are 0 or 1, which no log-odds have: they bend slope and "+
		"intercept. Give scores between, say of .001 to .999.", 100*c.CertainScoreShare)
}

func (c ClassResult) chart() *study.ReportChart {
	out := &study.ReportChart{Title: fmt.Sprintf("AUC of the scores of class %s", c.Class), Note: "95 % intervals, of noise and of sampling; chance is .5"}
	c.subgroups(func(name string, of Subgroup) {
		n := of.AUC
		if !n.Known() {
			return
		}
		low, high := n.Ends()
		out.Bars = append(out.Bars,
			study.ReportBar{Name: name, Value: n.Value, Low: low, High: high,
				Main: name == allRecords})
	})
	if len(out.Bars) == 0 {
		return nil
	}
	return out
}

const allRecords = "everybody"

func (c ClassResult) subgroups(call func(name string, of Subgroup)) {
	call(allRecords, c.Overall)
	for _, g := range c.Groupings {
		for _, l := range g.Levels {
			call(g.Column+" "+l.Level, l)
		}
	}
}

func (c ClassResult) table() study.ReportTable {
	t := study.ReportTable{
		Title: fmt.Sprintf("scores of class %s, with 95 %% intervals of noise and sampling", c.Class),
		Head:  []string{"records", "labelled", "of the class", "AUC", "slope", "intercept", "Brier"},
	}
	c.subgroups(func(name string, of Subgroup) {
		t.Rows = append(t.Rows, []string{name, of.Records.Words(0), of.Prevalence.Words(3),
			of.AUC.Words(3), of.Slope.Words(2), of.Intercept.Words(2), of.Brier.Words(3)})
	})
	return t
}

func (c ClassResult) thresholds() (study.ReportTable, bool) {
	t := study.ReportTable{
		Title: fmt.Sprintf("class %s called at or above a threshold", c.Class),
		Head:  []string{"threshold", "records", "sensitivity", "specificity", "net benefit"},
	}
	for k, at := range c.Overall.Thresholds {
		c.subgroups(func(name string, of Subgroup) {
			if k < len(of.Thresholds) {
				x := of.Thresholds[k]
				t.Rows = append(t.Rows,
					[]string{fmt.Sprintf("%g", at.Cutoff), name, x.Sensitivity.Words(3),
						x.Specificity.Words(3), x.NetBenefit.Words(3)})
			}
		})
	}
	return t, len(t.Rows) > 0
}

func (c ClassResult) curve() study.ReportTable {
	t := study.ReportTable{
		Title: fmt.Sprintf("calibration of class %s: mean score of the pool in the bin, share of the class, and noisy counts, which may be negative", c.Class),
		Head:  []string{"score", "share", "of the class", "others"}, Collapsed: c.Overall.AUC.Known(),
	}
	for _, b := range c.Overall.Bins {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%.3f", b.Mean), b.Observed.Words(3),
			fmt.Sprintf("%.0f", b.Positives), fmt.Sprintf("%.0f", b.Negatives)})
	}
	return t
}
