package validation

import (
	"math"
	"slices"

	"caucus/aggregation/binning"
)

// ScoreBins is the public side of a histogram: bins of a score, and a public pool's scores in each
// bin.
type ScoreBins struct {
	binning.Edges
	// LogOdds reports that a score z stands for the probability 1/(1+e⁻ᶻ).
	LogOdds bool
	bins    []bin
}

// bin holds its pool scores as a few points, in increasing order.
type bin struct {
	points []point
	share  float64 // share of the pool's rows
	mean   float64 // mean of the points' scores
	sd     float64
	rows   float64 // effective number of pool rows
}

// point stands for some of a bin's scores: mean z, mean probability p, and weight. A bin's weights
// sum to 1.
type point struct{ z, p, weight float64 }

// slicesOfABin is the number of points of a bin. Six lose less than a hundredth of the scatter
// within a bin.
const slicesOfABin = 6

// NewScoreBins makes bins with these edges from a pool's scores and the weights of its rows (nil:
// equal). A bin without pool rows has one point in its middle.
func NewScoreBins(edges, pool, weight []float64, logOdds bool) ScoreBins {
	s := ScoreBins{Edges: edges, LogOdds: logOdds, bins: make([]bin, len(edges)+1)}
	order := make([]int, len(pool))
	total := 0.0
	w := func(i int) float64 {
		if weight == nil {
			return 1
		}
		return weight[i]
	}
	for i := range order {
		order[i] = i
		total += w(i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case pool[a] < pool[b]:
			return -1
		case pool[a] > pool[b]:
			return 1
		}
		return 0
	})
	for len(order) > 0 {
		b := s.Bin(pool[order[0]])
		n := 1
		for n < len(order) && s.Bin(pool[order[n]]) == b {
			n++
		}
		s.bins[b] = s.binOf(order[:n], pool, w, total)
		order = order[n:]
	}
	for b := range s.bins {
		if len(s.bins[b].points) == 0 {
			z := s.middle(b)
			s.bins[b] = bin{points: []point{{z, s.probability(z), 1}}, mean: z, sd: s.width(b) / 2}
		}
	}
	return s
}

func (s ScoreBins) binOf(order []int, pool []float64, w func(int) float64, total float64) bin {
	var out bin
	inside, squares := 0.0, 0.0
	for _, i := range order {
		inside += w(i)
		squares += w(i) * w(i)
	}
	if !(inside > 0) {
		return out
	}
	for k := range slicesOfABin {
		var p point
		for _, i := range order[k*len(order)/slicesOfABin : (k+1)*len(order)/slicesOfABin] {
			p.z += w(i) * pool[i]
			p.p += w(i) * s.probability(pool[i])
			p.weight += w(i)
		}
		if p.weight > 0 {
			out.points = append(out.points,
				point{p.z / p.weight, p.p / p.weight, p.weight / inside})
		}
	}
	for _, p := range out.points {
		out.mean += p.weight * p.z
	}
	for _, p := range out.points {
		out.sd += p.weight * (p.z - out.mean) * (p.z - out.mean)
	}
	out.sd, out.share, out.rows = math.Sqrt(out.sd), inside/total, inside*inside/squares
	return out
}

// PoolShare returns the weighted share of the pool's rows in bin b, 0..Bins()−1; the shares sum to
// 1. A bin without rows has 0.
func (s ScoreBins) PoolShare(b int) float64 { return s.bins[b].share }

// PoolMean returns the mean probability of the pool's rows in bin b; without log-odds, their mean
// score.
func (s ScoreBins) PoolMean(b int) float64 {
	if !s.LogOdds {
		return s.bins[b].mean
	}
	sum := 0.0
	for _, p := range s.bins[b].points {
		sum += p.weight * p.p
	}
	return sum
}

func (s ScoreBins) probability(z float64) float64 {
	if !s.LogOdds {
		return math.NaN() // not used, because the score is no probability
	}
	return sigmoid(z)
}

// middle returns the middle of a bin. An open bin is as wide as its neighbour.
func (s ScoreBins) middle(b int) float64 {
	switch n := len(s.Edges); {
	case n == 0:
		return 0
	case b == 0:
		return s.Edges[0] - s.width(b)/2
	case b == n:
		return s.Edges[n-1] + s.width(b)/2
	}
	return (s.Edges[b-1] + s.Edges[b]) / 2
}

func (s ScoreBins) width(b int) float64 {
	n := len(s.Edges)
	if n < 2 {
		return 1
	}
	b = min(max(b, 1), n-1)
	return s.Edges[b] - s.Edges[b-1]
}

// Quantiles returns the inner edges that cut a pool into parts of equal weight, together with the
// edges given by with. It returns fewer if scores coincide.
func Quantiles(pool, weight []float64, parts int, with []float64) []float64 {
	type row struct{ z, w float64 }
	rows := make([]row, len(pool))
	total := 0.0
	for i, z := range pool {
		rows[i] = row{z, 1}
		if weight != nil {
			rows[i].w = weight[i]
		}
		total += rows[i].w
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch {
		case a.z < b.z:
			return -1
		case a.z > b.z:
			return 1
		}
		return 0
	})
	edges := slices.Clone(with)
	seen, k := 0.0, 1
	for i, r := range rows {
		for ; k < parts && i > 0 && seen >= total*float64(k)/float64(parts); k++ {
			edges = append(edges, short(r.z))
		}
		seen += r.w
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	if len(rows) > 0 { // drop edges that have no score below them
		edges = slices.DeleteFunc(edges, func(z float64) bool {
			return z <= rows[0].z && !slices.Contains(with, z)
		})
	}
	return edges
}

// short rounds an edge to four digits, for people who read the document.
func short(z float64) float64 {
	if z == 0 || math.IsInf(z, 0) || math.IsNaN(z) {
		return z
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(z)))-3)
	if unit < 1e-300 {
		return z
	}
	// 1/unit is a whole number, which floats hold exactly; unit is not.
	if unit < 1 {
		return math.Round(z*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(z/unit) * unit
}

func sigmoid(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}
