package simulate

import (
	"math"
	"slices"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/describe/described"
)

// truth is the reference for a describe release: what its records say without noise and rounding.
// Shares come from the plan's cells. Means, deviations (divided by the number of records) and
// quartiles come from the numbers themselves, as floating point, clamped to the schema's bounds.
type truth struct {
	plan    study.Plan
	sum     []int64 // counts by cell
	records int64
	by      dataset.Block // of the grouping text; its width is 0 if the label groups, or nothing
	numbers []numbers
}

// numbers are the present numbers of a column in each group, as encoded: positions in its range.
type numbers struct {
	feature dataset.Feature
	dataset.Block
	groups [][]float64
}

func newTruth(p study.Plan) *truth {
	t := &truth{plan: p, sum: describe.SumOf(p, &dataset.Records{})}
	by := study.TermsOf[describe.Terms](p).By
	blocks := p.Schema.Blocks()
	for _, f := range p.Schema.Features {
		// no error: the schema was checked
		names, _ := dataset.ExpandNames(append(f.Columns, f.Column))
		for i, b := range blocks {
			// the second block flags missing numbers
			first := i == 0 || blocks[i-1].Column != b.Column
			switch {
			case !slices.Contains(names, b.Column):
			case b.Column == by:
				t.by = b
			case !b.OneHot && first:
				t.numbers = append(t.numbers, numbers{feature: f, Block: b})
			}
		}
	}
	return t
}

// add counts records, which mark missing cells.
func (t *truth) add(r *dataset.Records) {
	for j, n := range describe.SumOf(t.plan, r) {
		t.sum[j] += n
	}
	t.records += int64(r.Len())
	for i, class := range r.Y {
		if r.IsExcluded(i) {
			continue
		}
		row, group := r.X.RawRowView(i), class
		if t.by.Width > 0 {
			group = slices.Index(row[t.by.Start:t.by.Start+t.by.Width], 1)
		}
		for j := range t.numbers {
			t.numbers[j].add(row, group)
		}
	}
}

// add appends a record's number to a group, −1 for the last.
func (n *numbers) add(row []float64, group int) {
	if v := row[n.Start]; v == v && !(n.feature.FlagMissing && row[n.Start+1] > 0) {
		for len(n.groups) < group+2 {
			n.groups = append(n.groups, nil)
		}
		n.groups[group+1] = append(n.groups[group+1], v)
	}
}

// table returns the table of all added records.
func (t *truth) table() described.Table {
	out := described.ExactTableOfSum(t.plan, t.sum, t.records)
	for _, c := range out.Columns {
		at := slices.IndexFunc(t.numbers, func(n numbers) bool { return n.Column == c.Column })
		if at < 0 {
			continue
		}
		n := t.numbers[at]
		for g := range c.Groups {
			var of []float64
			for k, some := range n.groups {
				if out.By == "" || k == g+1 || k == 0 && g == len(c.Groups)-1 {
					of = append(of, some...)
				}
			}
			if len(of) > 0 {
				n.describe(&c.Groups[g], of)
			}
		}
	}
	return out
}

func (n numbers) describe(to *described.Summary, of []float64) {
	low, high, value := n.feature.Min, n.feature.Max, func(v float64) float64 { return v }
	if n.feature.Log {
		low, high, value = math.Log1p(low), math.Log1p(high), math.Expm1
	}
	for i, v := range of {
		of[i] = low + v*(high-low)
	}
	slices.Sort(of)
	mean, square := 0.0, 0.0
	for _, v := range of {
		mean += v / float64(len(of))
	}
	for _, v := range of {
		square += (v - mean) * (v - mean) / float64(len(of))
	}
	sd := math.Sqrt(square)
	if n.feature.Log {
		sd = math.Exp(sd)
	}
	moveTo(to.Mean, value(mean))
	moveTo(to.SD, sd)
	if of[0] == of[len(of)-1] {
		to.SD = nil
	}
	for i, q := range to.Quantiles { // between the two nearest numbers, as pandas does
		at := q.P * float64(len(of)-1)
		k := int(at)
		a, b := value(of[k]), value(of[min(k+1, len(of)-1)])
		to.Quantiles[i].Value = a + (b-a)*(at-float64(k))
	}
}

// moveTo changes an estimate's value, and moves its intervals along. nil stays unknown.
func moveTo(e *described.Estimate, value float64) {
	if e != nil {
		by := value - e.Value
		*e = *e.Transform(func(v float64) float64 { return v + by })
		e.Value = value
	}
}
