package demo

import (
	"cmp"
	"math"
	"slices"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe/described"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
)

// The functions below return the mean error of sites that each use only their own records, without
// a study. A site without matching records learns nothing.

func aloneShare(data dealt) (float64, error) {
	condition, err := dataset.ParseCondition(data.outcome)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, table := range data.clinics {
		holds, err := condition.Rows(table)
		if err != nil {
			return 0, err
		}
		own := 0.0
		for _, h := range holds {
			if h {
				own += 1 / float64(len(holds))
			}
		}
		sum += math.Abs(own-data.truth) / float64(len(data.clinics))
	}
	return sum, nil
}

func aloneCounts(r study.Release, data dealt) (float64, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return 0, err
	}
	var all []described.Table
	var truth [][]float64
	records := 0.0
	for _, table := range data.clinics {
		of, _, err := kinds.RecordSchema(p).Encode(table)
		if err != nil {
			return 0, err
		}
		own := described.ExactTable(p, of)
		records += float64(of.Len())
		// leave out the label, as the release's measure does
		for i, c := range own.Columns[:len(own.Columns)-1] {
			if len(truth) <= i {
				truth = append(truth, make([]float64, len(c.Groups[0].Noisy)))
			}
			for k, n := range c.Groups[0].Noisy {
				truth[i][k] += n
			}
		}
		all = append(all, own)
	}
	sum, cells := 0.0, 0.0
	for _, own := range all {
		for i, column := range truth {
			for k, n := range column {
				off := own.Columns[i].Groups[0].Noisy[k]/float64(own.Records) - n/records
				sum, cells = sum+off*off, cells+1
			}
		}
	}
	return math.Sqrt(sum / cells), nil
}

// alone sets Measure.Alone: the accuracy of one party's own classifier, trained as in simulations,
// or the error of its own numbers. Class shares need none, because their baseline is already a
// party's own shares.
func (o Options) alone(data dealt, r *Report, releases []study.Release) error {
	for i := range r.Studies {
		m := &r.Studies[i].Measure
		var alone float64
		var err error
		switch {
		case m.Name == "accuracy":
			alone = r.Curves[1].Alone // simulated clinics
			if r.Studies[i].Name == r.Curves[0].Study {
				alone = r.Curves[0].Alone // simulated devices
			}
		case r.Studies[i].Kind == "reweigh":
			alone, err = aloneShare(data)
		case r.Studies[i].Kind == "describe":
			alone, err = aloneCounts(releases[i], data)
		default:
			continue
		}
		if err != nil {
			return err
		}
		m.Alone = &alone
	}
	return nil
}

func (m Measure) without() float64 {
	if m.Better == "high" {
		return max(m.Baseline, m.SiteAlone())
	}
	return min(m.Baseline, m.SiteAlone())
}

// gain returns the relative improvement of a release over m.without(). The page sorts studies by
// gain.
func (m Measure) gain() float64 {
	without := m.without()
	if m.Better == "high" {
		return (m.Released - without) / max(1-without, 1e-9)
	}
	return (without - m.Released) / max(without, 1e-9)
}

// Comparison compares a release with the better of the numbers that exist without a study. A
// difference within ± Sure may be chance and counts as none.
func (m Measure) Comparison() Comparison {
	ahead := m.Released - m.without()
	if m.Better == "low" {
		ahead = -ahead
	}
	switch {
	case ahead > m.Margin:
		return Better
	case ahead < -m.Margin:
		return Worse
	}
	return Equal
}

// Comparison is an outcome of comparing a release with no study. The best outcome is the smallest
// number.
type Comparison int

// Outcomes beyond chance, as Measure.Margin bounds it.
const (
	Better Comparison = iota
	Equal
	Worse
)

// String returns "better", "level" or "worse", the words of page and terminal, and panics for other
// numbers.
func (c Comparison) String() string { return []string{"better", "level", "worse"}[c] }

func (m Measure) chart() *study.ReportChart {
	released := study.NewIntervalBar("released", m.Released, m.Margin)
	released.Main = true
	c := &study.ReportChart{Title: m.Name + ", " + map[string]string{"high": "more",
		"low": "less"}[m.Better] + " is better", Note: "± is " +
		m.MarginText, Percent: true, Bars: []study.ReportBar{released}}
	if m.Alone != nil {
		c.Bars = append(c.Bars, study.NewIntervalBar("one party alone", *m.Alone, 0))
	}
	c.Bars = append(c.Bars, study.NewIntervalBar("without a study: "+m.BaselineName, m.Baseline, 0))
	return c
}

// SortedStudies sorts studies by Comparison, then by gain.
func (r Report) SortedStudies() []Study {
	all := slices.Clone(r.Studies)
	slices.SortStableFunc(all, func(a, b Study) int {
		return cmp.Or(cmp.Compare(a.Measure.Comparison(), b.Measure.Comparison()),
			cmp.Compare(b.Measure.gain(), a.Measure.gain()))
	})
	return all
}

// Best returns the study with the most accurate classifier.
func (r Report) Best() (best Study) {
	for _, s := range r.Studies {
		if s.Measure.Name == "accuracy" && s.Measure.Released > best.Measure.Released {
			best = s
		}
	}
	return best
}

// SiteAlone returns the number of one party alone, or the baseline if Alone is nil.
func (m Measure) SiteAlone() float64 {
	if m.Alone == nil {
		return m.Baseline
	}
	return *m.Alone
}
