package described

import (
	"fmt"
	"math"

	"caucus/aggregation/fitting"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe"
)

// Table is a private table one: levels, means and quantiles of each column, with intervals for
// noise and for rounding to edges.
type Table struct {
	// public number of all records, also those that fail the condition
	Records int64 `json:"records"`
	// NoiseSD is the standard deviation of a count's noise, in records. ShareSD is NoiseSD divided
	// by Records.
	NoiseSD float64 `json:"noise_sd"`
	ShareSD float64 `json:"share_sd"`
	// records that meet the condition, if the plan has one
	MeetingCondition *Count `json:"inside,omitempty"`
	// By names the grouping column, and Groups has its levels. If By is "", all records form one
	// group.
	By     string  `json:"by,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	// in schema order, the label last, without the grouping column
	Columns []Column `json:"columns,omitempty"`
	// tables of the sites, sorted by name, if the plan allows them
	Sites []Site `json:"sites,omitempty"`
}

// Count is a released number of records, and its share of all records or of those that meet the
// condition. Share is nil if unknown.
type Count struct {
	Noisy float64   `json:"noisy"`
	Share *Estimate `json:"share"`
}

// Group is one level of the grouping column, with its noisy number of records.
type Group struct {
	Level string `json:"level"`
	Count
	NearestPossible float64 `json:"shown"` // the possible count nearest to Noisy
}

// Column is the result for a column. A text or the label has a cell for each level or class, and
// one for other values; a text also one for missing values. A number has a cell for each bin and
// one for missing values. In plans of before study.FormCommitted a text has one cell for other and
// missing values, and a number without "missing: true" in the schema counts missing values as the
// middle of its range.
type Column struct {
	Column string   `json:"column"`
	Levels []string `json:"levels,omitempty"` // cells of a text or the label
	// Edges are the public edges of a number's bins, in its own unit. A value on an edge belongs to
	// the bin above, and a value outside the range to the nearest bin. A bin between two equal
	// edges contains only that value. With Log, moments are those of log(1+v).
	Edges []float64 `json:"edges,omitempty"`
	Log   bool      `json:"log,omitempty"`
	// the plan gave the edges, so reports show the counts of bins
	EdgesGiven bool `json:"bands,omitempty"`
	// one for each of Table.Groups, or one for all records
	Groups []Summary `json:"groups"`
}

// Summary is the result for a column in one group.
type Summary struct {
	// released counts, perhaps negative; estimates use these
	Noisy []float64 `json:"noisy"`
	Sums  []float64 `json:"sums,omitempty"` // a number's two released sums of column.within
	// possible counts nearest to Noisy, for display; biased near 0
	Counts []float64 `json:"counts"`
	// estimated share of the group for each cell; null if unknown
	Shares []*Estimate `json:"shares"`
	// Mean and SD are over the records that have the number, in its own unit; null if unknown. With
	// Log they are the geometric mean of 1+v, minus 1, and the factor of one standard deviation of
	// log(1+v).
	Mean      *Estimate  `json:"mean,omitempty"`
	SD        *Estimate  `json:"sd,omitempty"`
	Quantiles []Quantile `json:"quantiles,omitempty"` // the quartiles of a number; none if unknown
}

// Quantile is the value below which a share P of a number's values lie. Its intervals end at public
// edges, or at the range's ends. Value is interpolated, for display.
type Quantile struct {
	P float64 `json:"p"`
	Estimate
}

var (
	quartiles = []float64{0.25, 0.5, 0.75}
)

var (
	quartileNames = []string{"lower quartile", "median", "upper quartile"}
)

// table makes the result from a released vector. sd is the standard deviation of a count's noise,
// in records.
func (t tables) table(v []int64, records int64, sd float64) Table {
	out := Table{Records: records, NoiseSD: sd}
	exact := sampled{Value: float64(records)}
	if records > 0 {
		out.ShareSD = sd / float64(records)
	}
	count := func(at int) sampled {
		return sampled{Value: float64(v[at]) / float64(t.Step), Variance: sd * sd}
	}
	about, shown := exact, float64(records)
	if t.CountsCondition {
		about = count(0)
		shown = math.Min(math.Max(about.Value, 0), float64(records))
		out.MeetingCondition = &Count{about.Value, fitting.EstimateShare(about, exact)}
	}
	groups, sizes := []sampled{about}, []float64{shown}
	if t.Group != nil {
		out.By = t.Group.Name
		groups, sizes = nil, nil
		for g := range t.Group.Levels {
			groups = append(groups, count(t.Group.First+g))
			sizes = append(sizes, groups[g].Value)
		}
		sizes = projected(sizes, shown)
		for g, level := range t.Group.Levels {
			out.Groups = append(out.Groups,
				Group{level, Count{groups[g].Value, fitting.EstimateShare(groups[g], about)},
					sizes[g]})
		}
	}
	for _, c := range t.Columns {
		of := Column{Column: c.Name, Levels: c.Levels, Edges: c.Edges, Log: c.Log,
			EdgesGiven: c.EdgesGiven}
		for g, size := range groups {
			of.Groups = append(of.Groups,
				t.summary(c, v[c.At(g):c.At(g)+c.NumbersPerGroup()], size, sizes[g], sd))
		}
		out.Columns = append(out.Columns, of)
	}
	return out
}

// summary makes a column's result in one group. size is the group's released size, and shown is the
// size to display.
func (t tables) summary(c describe.Column, v []int64, size sampled, shown, sd float64) Summary {
	var s Summary
	for _, n := range v[:c.Cells()] {
		s.Noisy = append(s.Noisy, float64(n)/float64(t.Step))
	}
	s.Counts = projected(s.Noisy, shown)
	for _, n := range s.Noisy {
		s.Shares = append(s.Shares, fitting.EstimateShare(sampled{Value: n, Variance: sd * sd},
			size))
	}
	if c.Levels != nil {
		return s
	}
	n := number{of: c, bins: s.Noisy[:c.Bins()], noise: sd * sd, total: size, binned: true}
	for _, sum := range v[c.Cells():] {
		s.Sums = append(s.Sums, float64(sum)/float64(2*t.Most))
	}
	n.first, n.second = s.Sums[0], s.Sums[1]
	switch { // means leave out records without the number
	case t.CountsMissing: // one noise in place of one for each bin
		n.total = sampled{Value: size.Value - s.Noisy[c.Bins()], Variance: size.Variance + sd*sd}
	case c.CountsMissing:
		n.total, n.binned = sampled{Value: sumOf(n.bins),
			Variance: float64(c.Bins()) * sd * sd}, false
	}
	mean, deviation := n.moments()
	s.Mean, s.SD = mean.Transform(c.Value), deviation.Transform(c.DeviationInUnits)
	for _, p := range quartiles {
		from, to, ok := n.quantile(p, true)
		if !ok {
			break
		}
		noiseFrom, noiseTo, _ := n.quantile(p, false)
		q := Quantile{P: p, Estimate: Estimate{
			Value: quantileOf(s.Counts[:c.Bins()], c.Edges, p), Low: c.Edges[from], High: c.Edges[to],
			NoiseLow: c.Edges[noiseFrom], NoiseHigh: c.Edges[noiseTo],
		}}
		q.Value = math.Min(math.Max(q.Value, q.Low), q.High)
		s.Quantiles = append(s.Quantiles, q)
	}
	return s
}

func projected(counts []float64, together float64) []float64 {
	if !(together > 0) {
		return make([]float64, len(counts))
	}
	return fitting.ProjectSimplex(counts, together)
}

// ExactTable returns the table of records without noise, under a checked plan. Its noise intervals
// are single values, except that a quantile has its bin as interval. Records are encoded by
// kinds.RecordSchema.
func ExactTable(p study.Plan, r *dataset.Records) Table {
	return ExactTableOfSum(p, describe.SumOf(p, r), int64(r.Len()))
}

// ExactTableOfSum is ExactTable for a vector (SumOf) of this number of records.
func ExactTableOfSum(p study.Plan, sum []int64, records int64) Table {
	return tables{describe.LayoutOf(p, describe.TermsOf(p))}.table(sum, records, 0)
}

// Position maps a value to 0..1 on the scale of the column's range. It returns shares unchanged.
func (c Column) Position(v float64) float64 {
	if c.Edges == nil {
		return v
	}
	return describe.Position(c.Edges, c.Log, v)
}

// Cells names the cells of the column in the order of a Summary's counts.
func (c Column) Cells() []string {
	if c.Edges == nil {
		return c.Levels
	}
	return describe.BinNames(c.Edges, c.Log, len(c.Groups) > 0 &&
		len(c.Groups[0].Noisy) > len(c.Edges)-1)
}

// TableOf reads a describe study's result. It refuses lengths that do not fit, so that readers can
// index safely.
func TableOf(r study.Release) (out Table, err error) {
	if err := r.Result.DecodeBody(&out); err != nil {
		return out, err
	}
	for _, s := range out.Sites {
		if err := s.check(); err != nil {
			return Table{}, fmt.Errorf("site %s: %w", s.Party, err)
		}
		if len(s.Sites) > 0 || (s.MeetingCondition == nil) != (out.MeetingCondition == nil) ||
			len(s.Columns) != len(out.Columns) {
			return Table{}, fmt.Errorf("read table: that of site %s is not of the form of all: it was changed", s.Party)
		}
	}
	if err := out.check(); err != nil {
		return Table{}, err
	}
	return out, nil
}

func (t Table) check() error {
	if (t.By == "") != (len(t.Groups) == 0) {
		return fmt.Errorf("read table: grouped by column %q, in %d groups: it was changed", t.By, len(t.Groups))
	}
	groups := max(len(t.Groups), 1)
	for _, c := range t.Columns {
		cells := len(c.Cells())
		ok := len(c.Groups) == groups && (len(c.Edges) == 0) != (len(c.Levels) == 0) &&
			(c.Edges == nil || len(c.Edges) > 2)
		for _, s := range c.Groups {
			ok = ok && len(s.Noisy) == cells && len(s.Counts) == cells && len(s.Shares) == cells &&
				(len(s.Quantiles) == 0 || len(s.Quantiles) == len(quartiles))
		}
		if !ok {
			return fmt.Errorf("read table: column %q does not have %d cells in each of %d groups: it was changed", c.Column, cells, groups)
		}
	}
	return nil
}
