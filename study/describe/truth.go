package describe

import (
	"math"
	"slices"

	"caucus/dataset"
	"caucus/study"
)

// Truth collects what a plan's records say without noise and rounding, as the reference for
// releases. Its means, deviations and quartiles come from the numbers themselves, clamped to the
// schema's bounds, and not from cells.
type Truth struct {
	layout
	sum     []int64
	records int64
	numbers [][][]float64 // by column and group: positions in [0,1] of those present
}

// NewTruth begins a Truth for a checked plan.
func NewTruth(p study.Plan) *Truth {
	t := &Truth{layout: layoutOf(p, termsOf(p))}
	t.sum = make([]int64, t.cells)
	for _, c := range t.columns {
		t.numbers = append(t.numbers, make([][]float64, c.groups))
	}
	return t
}

// Add counts records. They are encoded by kinds.RecordSchema, else missing values count as their
// filling.
func (t *Truth) Add(r *dataset.Records) {
	for j, n := range t.count(r) {
		t.sum[j] += n
	}
	t.records += int64(r.Len())
	for i, class := range r.Y {
		if r.IsOutside(i) {
			continue
		}
		row, group := r.X.RawRowView(i), 0
		if t.group != nil {
			group = t.group.of(row, class)
		}
		for j, c := range t.columns {
			if c.levels == nil && c.of(row, class) < c.bins() {
				t.numbers[j][group] = append(t.numbers[j][group], row[c.encoded])
			}
		}
	}
}

// Table returns the table of all added records. Its noise intervals are single values, except that
// a quantile has its bin as interval.
func (t *Truth) Table() Table {
	out := t.table(t.sum, t.records, 0)
	for j, c := range t.columns {
		for g, of := range t.numbers[j] {
			if len(of) == 0 { // a text, or no number is present
				continue
			}
			s := &out.Columns[j].Groups[g]
			slices.Sort(of)
			mean, sd := meanAndSD(of)
			s.Mean.moveTo(c.value(mean))
			if s.SD.moveTo(c.spread(sd)); sd == 0 {
				s.SD = nil
			}
			for i := range s.Quantiles {
				s.Quantiles[i].Value = c.quantileOf(of, s.Quantiles[i].P)
			}
		}
	}
	return out
}

// Exact is the Truth of these records.
func Exact(p study.Plan, r *dataset.Records) Table {
	t := NewTruth(p)
	t.Add(r)
	return t.Table()
}

// moveTo changes an estimate's value, and moves its intervals along. nil stays unknown.
func (e *Estimate) moveTo(value float64) {
	if e != nil {
		by := value - e.Value
		*e = *e.scaled(func(v float64) float64 { return v + by })
		e.Value = value
	}
}

// meanAndSD takes sorted numbers; the deviation of equal numbers is exactly 0. It divides by their
// count.
func meanAndSD(sorted []float64) (mean, sd float64) {
	n := float64(len(sorted))
	if sorted[0] == sorted[len(sorted)-1] {
		return sorted[0], 0
	}
	for _, v := range sorted {
		mean += v / n
	}
	for _, v := range sorted {
		sd += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(sd)
}

// quantileOf interpolates between the two nearest of the sorted positions, in the number's own
// unit.
func (c column) quantileOf(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	k := int(at)
	low, high := c.value(sorted[k]), c.value(sorted[min(k+1, len(sorted)-1)])
	return low + (high-low)*(at-float64(k))
}
