package describe

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
)

const (
	// fewest pool rows in a part; in a smaller part, a rare value could seem frequent
	rowsOfAPart = 5
	// widest is the largest width of a bin, as a share of the range. Wider bins are divided into
	// equal steps. The noise in means of skewed numbers is least near this width, because wider
	// bins have larger within-bin sums, and narrower bins more noisy counts far from the mean.
	widest = 0.15
)

// checkCuts refuses cuts of a column without numbers, and edges that do not increase or are outside
// its bounds.
func (t Terms) checkCuts(s dataset.Schema) error {
	columns := columnsOf(s, DefaultTerms(), false)
	for i, cut := range t.Cuts {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == cut.Column })
		switch {
		case at < 0 || columns[at].Edges == nil:
			return study.PlanError("describe.cuts", "%q is not a number of the schema: cut one of its numbers", cut.Column)
		case len(cut.Edges) == 0 || len(cut.Edges) >= maxBins ||
			slices.ContainsFunc(t.Cuts[:i], func(c Cut) bool {
				return c.Column == cut.Column
			}):
			return study.PlanError("describe.cuts", "%q: give 1 to %d edges, all at once",
				cut.Column, maxBins-1)
		}
		low, high := columns[at].Edges[0], columns[at].Edges[len(columns[at].Edges)-1]
		for k, e := range cut.Edges {
			if !(e > low && e < high) {
				return study.PlanError("describe.cuts", "edge %g of %q is not between its bounds %g and %g", e, cut.Column, low, high)
			}
			if k > 0 && !(e > cut.Edges[k-1]) {
				return study.PlanError("describe.cuts", "edges of %q must increase: %g follows %g",
					cut.Column, e, cut.Edges[k-1])
			}
		}
	}
	return nil
}

// innerEdges returns the edges of Cuts, and the pool's quantiles for other numbers.
func (t Terms) innerEdges(s dataset.Schema, pool *auxdata.Pool) map[string][]float64 {
	all := poolEdges(s, pool, t.PoolQuantiles)
	for _, c := range t.Cuts {
		all[c.Column] = c.Edges
	}
	return all
}

// poolEdges cuts the schema's numbers at the public pool's quantiles, into parts of about equal
// weight, and returns their inner edges. A value with more weight than a part has a bin of its own,
// between two equal edges (if it is an end of the range, between that end and one edge). Numbers
// with too few pool rows, or a single value, are left out.
func poolEdges(s dataset.Schema, pool *auxdata.Pool, parts int) map[string][]float64 {
	all := map[string][]float64{}
	for _, c := range columnsOf(s, DefaultTerms(), false) {
		weight, total, rows := map[float64]float64{}, 0.0, 0 // weights by position
		for i := range pool.Rows() {
			row, w := pool.Encoded.RawRowView(i), 1.0
			if c.Levels != nil || c.flagged && row[c.encoded+1] > 0.5 {
				continue
			}
			if pool.Weight != nil {
				w = pool.Weight[i]
			}
			weight[row[c.encoded]] += w
			total, rows = total+w, rows+1
		}
		n := float64(min(parts, rows/rowsOfAPart))
		if n < 2 || len(weight) < 2 {
			continue
		}
		var edges []float64
		last, seen := 0.0, 0.0
		add := func(v float64) {
			steps := math.Ceil((v - last) / widest)
			for k := 1.0; k < steps; k++ {
				edges = append(edges, c.short(last+(v-last)*k/steps, widest/100))
			}
			edges, last = append(edges, c.short(v, nudge/100)), v
		}
		for _, v := range slices.Sorted(maps.Keys(weight)) {
			before := max(1, math.Ceil(seen*n/total))
			if seen += weight[v]; math.Ceil(seen*n/total) > before {
				add(v)
			}
			if weight[v]*n > total && v > 0 && v < 1 {
				add(v)
			}
		}
		add(1)
		all[c.Name] = edges[:len(edges)-1]
	}
	return all
}

// short returns the number with the fewest digits whose position differs from at by less than near.
func (c Column) short(at, near float64) float64 {
	exact := c.Value(at)
	for digits := range 15 {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(exact, 'f', digits, 64), 64)
		if math.Abs(c.position(v)-at) < near {
			return v
		}
	}
	return exact
}
