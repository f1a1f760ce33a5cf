package describe

import (
	"fmt"
	"math"
	"strconv"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/study"
)

// Table is the result of a describe study.
type Table struct {
	// Records is the public number of private records, those included that the study is
	// not about.
	Records int64 `json:"records"`
	// NoiseSD is the standard deviation of the noise on each count, in records; ShareSD
	// the same as a share of Records, 0 without any.
	NoiseSD float64 `json:"noise_sd"`
	ShareSD float64 `json:"share_sd"`
	// Inside is how many of the records the study is about, where it is not about all:
	// as released, and as a share of the records.
	Inside *Count `json:"inside,omitempty"`
	// By names the grouping column, and Groups its levels with how many records each
	// has. Without one there is a single group, of all that the study is about.
	By     string  `json:"by,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	// Columns are the features in the order of the schema, then the label, but for the
	// grouping column.
	Columns []Column `json:"columns,omitempty"`
	// Sites are the tables of each site, where the plan shows them, in the order of their
	// names; they have none themselves.
	Sites []Site `json:"sites,omitempty"`
}

// Count is a number of records as released, and what share of another number it is;
// nil where that is unknown.
type Count struct {
	Noisy float64   `json:"noisy"`
	Share *Estimate `json:"share"`
}

// Group is one level of the grouping column.
type Group struct {
	Level string `json:"level"`
	Count
	// Shown is the count moved to what records can have.
	Shown float64 `json:"shown"`
}

// Column is what is said of one column. It has one cell a level or class, and one for
// what is none; or one a bin, and where the schema says missing: true, one for what is
// missing.
type Column struct {
	Column string `json:"column"`
	// Levels name the cells of a text or the label; none for a number.
	Levels []string `json:"levels,omitempty"`
	// Edges are the public ends of a number's bins, in the column's own unit. A value on
	// an edge is in the bin above, one beyond the ends in the bin there. Log: its
	// moments are those of log(1+v).
	Edges []float64 `json:"edges,omitempty"`
	Log   bool      `json:"log,omitempty"`
	// Groups are one each of Table.Groups, or a single one.
	Groups []Summary `json:"groups"`
}

// Summary is what is said of a column in one group.
type Summary struct {
	// Noisy are the counts as released, in records. They may be negative; estimates
	// start here.
	Noisy []float64 `json:"noisy"`
	// Sums are, of a number, the two sums of what bins leave out, in bins, as released.
	Sums []float64 `json:"sums,omitempty"`
	// Counts are the nearest to Noisy that records can have, none below 0 and together
	// the group's: for display, because they are biased near 0.
	Counts []float64 `json:"counts"`
	// Shares estimate what share of the group each cell has; null is unknown.
	Shares []*Estimate `json:"shares"`
	// Mean and SD are a number's, of the records that have it, in the column's own unit;
	// where Log, the geometric mean of 1+v less 1, and the factor that is one standard
	// deviation of log(1+v). Null is unknown.
	Mean *Estimate `json:"mean,omitempty"`
	SD   *Estimate `json:"sd,omitempty"`
	// Quantiles are the quartiles of a number; none where unknown.
	Quantiles []Quantile `json:"quantiles,omitempty"`
}

// Quantile is where a share P of a number's values lie below. The intervals end at
// public edges, and at the column's own ends where nothing more can be said; Value is
// interpolated, for display.
type Quantile struct {
	P float64 `json:"p"`
	Estimate
}

// quartiles are the quantiles of a table one.
var quartiles = []float64{0.25, 0.5, 0.75}

// table is what a released vector says, sd the deviation of the noise on a count, in
// records.
func (l layout) table(v []int64, records int64, sd float64) Table {
	out := Table{Records: records, NoiseSD: sd}
	exact := sampled{value: float64(records)}
	if records > 0 {
		out.ShareSD = sd / float64(records)
	}
	count := func(at int) sampled { return sampled{value: float64(v[at]) / float64(l.step), noise: sd * sd} }
	about, shown := exact, float64(records)
	if l.inside {
		about = count(0)
		shown = math.Min(math.Max(about.value, 0), float64(records))
		out.Inside = &Count{about.value, share(about, exact)}
	}
	groups, sizes := []sampled{about}, []float64{shown}
	if l.group != nil {
		out.By = l.group.name
		groups, sizes = nil, nil
		for g := range l.group.levels {
			groups = append(groups, count(l.group.first+g))
			sizes = append(sizes, groups[g].value)
		}
		sizes = projected(sizes, shown)
		for g, level := range l.group.levels {
			out.Groups = append(out.Groups, Group{level, Count{groups[g].value, share(groups[g], about)}, sizes[g]})
		}
	}
	for _, c := range l.columns {
		of := Column{Column: c.name, Levels: c.levels, Edges: c.edges, Log: c.log}
		for g, size := range groups {
			of.Groups = append(of.Groups, l.summary(c, v[c.at(g):c.at(g)+c.run()], size, sizes[g], sd))
		}
		out.Columns = append(out.Columns, of)
	}
	return out
}

// summary is what a column's numbers of one group say: size is how many records the
// group has, shown the same for display.
func (l layout) summary(c column, v []int64, size sampled, shown, sd float64) Summary {
	var s Summary
	for _, n := range v[:c.cells()] {
		s.Noisy = append(s.Noisy, float64(n)/float64(l.step))
	}
	s.Counts = projected(s.Noisy, shown)
	for _, n := range s.Noisy {
		s.Shares = append(s.Shares, share(sampled{value: n, noise: sd * sd}, size))
	}
	if c.levels != nil {
		return s
	}
	n := number{bins: s.Noisy[:c.bins()], noise: sd * sd, total: size, binned: true}
	for _, sum := range v[c.cells():] {
		s.Sums = append(s.Sums, float64(sum)/(2*mostWithin))
	}
	n.first, n.second = s.Sums[0], s.Sums[1]
	if c.flagged { // who misses it has no mean
		n.total, n.binned = sampled{noise: float64(c.bins()) * sd * sd}, false
		for _, b := range n.bins {
			n.total.value += b
		}
	}
	lo, hi := c.scale(0), c.scale(1)
	mean, deviation := n.moments()
	s.Mean = mean.scaled(c.value)
	s.SD = deviation.scaled(func(v float64) float64 {
		if c.log {
			return math.Exp(v * (hi - lo))
		}
		return v * (hi - lo)
	})
	for _, p := range quartiles {
		from, to, ok := n.quantile(p, true)
		if !ok {
			break
		}
		noiseFrom, noiseTo, _ := n.quantile(p, false)
		q := Quantile{P: p, Estimate: Estimate{quantileOf(s.Counts[:c.bins()], c.edges, p), c.edges[from], c.edges[to], c.edges[noiseFrom], c.edges[noiseTo]}}
		q.Value = math.Min(math.Max(q.Value, q.Low), q.High)
		s.Quantiles = append(s.Quantiles, q)
	}
	return s
}

// projected are the nearest numbers to counts that are none below 0 and together so
// many.
func projected(counts []float64, together float64) []float64 {
	if !(together > 0) {
		return make([]float64, len(counts))
	}
	return aggregation.ProjectSimplex(counts, together)
}

// scale is a number of [0,1] on the scale of the bins; value the same in the column's
// own unit.
func (c column) scale(v float64) float64 {
	lo, hi := c.edges[0], c.edges[len(c.edges)-1]
	if c.log {
		lo, hi = math.Log1p(lo), math.Log1p(hi)
	}
	return lo*(1-v) + hi*v
}

func (c column) value(v float64) float64 {
	if c.log {
		return math.Expm1(c.scale(v))
	}
	return c.scale(v)
}

// Exact is the table of records without noise: the truth that a simulation compares
// with. Its intervals that hold the noise alone are the truth itself: of a quantile
// the bin that it is in. The plan was checked.
func Exact(p study.Plan, r *dataset.Records) Table {
	l := layoutOf(p, termsOf(p))
	return l.table(l.count(r), int64(r.Len()), 0)
}

// ExactOf is Exact of the sum of what so many records add (Parts).
func ExactOf(p study.Plan, sum []int64, records int64) (Table, error) {
	l := layoutOf(p, termsOf(p))
	if len(sum) != l.cells {
		return Table{}, fmt.Errorf("make table: %d numbers, the plan has %d", len(sum), l.cells)
	}
	return l.table(sum, records, 0), nil
}

// Position is where a value is in the column's range, on the scale of its bins: 0 to 1;
// that of a share is itself.
func (c Column) Position(v float64) float64 {
	if c.Edges == nil {
		return v
	}
	lo, hi := c.Edges[0], c.Edges[len(c.Edges)-1]
	if c.Log {
		v, lo, hi = math.Log1p(v), math.Log1p(lo), math.Log1p(hi)
	}
	return (v - lo) / (hi - lo)
}

// middles is the mean of a number if each bin's middle stood for all in it.
func (c Column) middles(s Summary) float64 {
	sum, total := 0.0, 0.0
	bins := len(c.Edges) - 1
	for k, n := range s.Noisy[:bins] {
		sum, total = sum+n*(c.Position(c.Edges[k])+c.Position(c.Edges[k+1]))/2, total+n
	}
	of := column{edges: c.Edges, log: c.Log}
	return of.value(sum / total)
}

// Cells name the column's cells.
func (c Column) Cells() []string {
	if c.Edges == nil {
		return c.Levels
	}
	var names []string
	for k := 1; k < len(c.Edges); k++ {
		names = append(names, numeral(c.Edges[k-1])+" to "+numeral(c.Edges[k]))
	}
	switch bins := len(names); {
	case len(c.Groups) > 0 && len(c.Groups[0].Noisy) > bins:
		names = append(names, missing)
	case bins > 0: // what is missing is encoded as the middle
		names[binOf(0.5, bins)] += ", or " + missing
	}
	return names
}

// numeral writes a number so that it can be read, large ones without an exponent.
func numeral(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// TableOf is what the release of a describe study says. It refuses one whose parts do
// not belong together: readers go by them.
func TableOf(r study.Release) (out Table, err error) {
	if err := r.Result.DecodeBody(&out); err != nil {
		return out, err
	}
	for _, s := range out.Sites {
		if err := s.check(); err != nil {
			return Table{}, fmt.Errorf("site %s: %w", s.Party, err)
		}
		if len(s.Sites) > 0 || (s.Inside == nil) != (out.Inside == nil) || len(s.Columns) != len(out.Columns) {
			return Table{}, fmt.Errorf("read table: that of site %s is not of the form of all: it was changed", s.Party)
		}
	}
	if err := out.check(); err != nil {
		return Table{}, err
	}
	return out, nil
}

// check says whether the parts of a table belong together.
func (t Table) check() error {
	if (t.By == "") != (len(t.Groups) == 0) {
		return fmt.Errorf("read table: grouped by column %q, in %d groups: it was changed", t.By, len(t.Groups))
	}
	groups := max(len(t.Groups), 1)
	for _, c := range t.Columns {
		cells := len(c.Cells())
		ok := len(c.Groups) == groups && (len(c.Edges) == 0) != (len(c.Levels) == 0) && (c.Edges == nil || len(c.Edges) > 2)
		for _, s := range c.Groups {
			ok = ok && len(s.Noisy) == cells && len(s.Counts) == cells && len(s.Shares) == cells && (len(s.Quantiles) == 0 || len(s.Quantiles) == len(quartiles))
		}
		if !ok {
			return fmt.Errorf("read table: column %q does not have %d cells in each of %d groups: it was changed", c.Column, cells, groups)
		}
	}
	return nil
}
