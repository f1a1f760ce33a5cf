package learners

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// CART is the classification tree learner "cart" (Breiman et al. 1984): binary splits x_j ≤ t that
// lower the Gini impurity most. Columns are first cut into at most treeBins bins, so a column with
// more distinct values is split only at quantiles.
type CART struct {
	MaxDepth int // ≥ 1; the greatest depth tried
	MinLeaf  int // ≥ 1; the fewest rows in a leaf
	// Folds > 1 chooses the depth, up to MaxDepth, with the least held-out error by
	// cross-validation on the given rows. 0 uses MaxDepth.
	Folds int
	// Columns is the number of columns drawn for each split, from those that vary in the node. 0
	// means all.
	Columns int
}

// treeBins bounds the cost of a split. At 100-500 rows the loss of accuracy is not measurable.
const treeBins = 64

// DefaultCART returns a tree of at most eight levels, chosen by cross-validation.
func DefaultCART() CART { return CART{MaxDepth: 8, MinLeaf: 3, Folds: 4} }

// Name is "cart" for any depth, leaf or number of folds: plans name the learner, not its settings.
func (CART) Name() string { return "cart" }

// Features is EncodedFeatures: a split reads one column, so scaling and an intercept would not
// help.
func (CART) Features() Features { return EncodedFeatures }

// Fit implements Learner; the Model is a *Tree or a ConstantModel.
func (c CART) Fit(ctx context.Context, x *mat.Dense, y []int, classes int,
	rng *rand.Rand) (Model, error) {
	s, majority, err := learnable(x, y, classes)
	if majority != nil || err != nil {
		return majority, err
	}
	if c.Folds > 1 {
		c.MaxDepth = c.tune(ctx, s, rng)
	}
	tree := newGrower(ctx, c, s, rng).grow(everyRow(s))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return tree, nil
}

// tune returns the depth with the least held-out error, the smallest in a tie.
func (c CART) tune(ctx context.Context, s sample, rng *rand.Rand) int {
	fold := s.folds(c.Folds, rng)
	wrong := make([]int, c.MaxDepth+1)
	for f := range c.Folds {
		train, held := s.split(fold, f)
		if len(held.y) == 0 || len(train.y) == 0 {
			continue
		}
		tree := newGrower(ctx, c, train, rng).grow(everyRow(train))
		for i, k := range held.y {
			row := held.x.RawRowView(i)
			for depth := range wrong {
				if tree.nodes[tree.descend(row, depth)].class != k {
					wrong[depth]++
				}
			}
		}
	}
	best := 0
	for depth, n := range wrong {
		if n < wrong[best] {
			best = depth
		}
	}
	return best
}

func everyRow(s sample) []int {
	r := make([]int, len(s.y))
	for i := range r {
		r[i] = i
	}
	return r
}

// Tree is a fitted CART. It is read-only, so goroutines may share it.
type Tree struct {
	classes int
	nodes   []node
	share   []float64 // share[i*classes+k] is the share of class k at node i
}

type node struct {
	cut    float64
	column int
	// index of the child for values up to cut; the other child is next to it; 0 at a leaf
	low   int
	class int
}

// Predict implements Model: the majority class of the leaf that a row reaches.
func (t *Tree) Predict(x *mat.Dense) []int {
	y := make([]int, rows(x))
	for i := range y {
		y[i] = t.nodes[t.descend(x.RawRowView(i), len(t.nodes))].class
	}
	return y
}

// descend returns the node that a row reaches after at most steps steps.
func (t *Tree) descend(row []float64, steps int) int {
	at := 0
	for ; steps > 0; steps-- {
		n := &t.nodes[at]
		if n.low == 0 {
			break
		}
		at = n.low
		if !(row[n.column] <= n.cut) {
			at++
		}
	}
	return at
}

func (t *Tree) sharesAt(at int) []float64 {
	return t.share[at*t.classes : (at+1)*t.classes]
}

// grower grows trees on one sample. Its trees are incomplete if ctx has ended.
type grower struct {
	ctx context.Context
	CART
	rng     *rand.Rand
	y       []int
	classes int
	bins    bins
	codes   [][]uint8
	columns []int // columns with more than one bin
	// Scratch memory of these lengths.
	count []int // treeBins×classes
	low   []int // classes
	high  []int // classes
	spill []int
}

func newGrower(ctx context.Context, c CART, s sample, rng *rand.Rand) *grower {
	g := &grower{ctx: ctx, CART: c, rng: rng, y: s.y, classes: s.classes,
		bins: newBins(s.x, treeBins)}
	g.codes = g.bins.codes(s.x)
	for j, cuts := range g.bins.cuts {
		if len(cuts) > 0 {
			g.columns = append(g.columns, j)
		}
	}
	g.count = make([]int, treeBins*s.classes)
	g.low, g.high = make([]int, s.classes), make([]int, s.classes)
	return g
}

// grow grows one tree on the given rows, which it reorders. A row may occur several times.
func (g *grower) grow(rows []int) *Tree {
	t := &Tree{classes: g.classes}
	g.add(t)
	g.divide(t, 0, rows, g.MaxDepth)
	return t
}

func (g *grower) add(t *Tree) {
	t.nodes = append(t.nodes, node{})
	for range g.classes {
		t.share = append(t.share, 0)
	}
}

func (g *grower) divide(t *Tree, at int, rows []int, depth int) {
	clear(g.high)
	for _, i := range rows {
		g.high[g.y[i]]++
	}
	share := t.sharesAt(at)
	for k, n := range g.high {
		share[k] = float64(n) / float64(len(rows))
	}
	t.nodes[at].class = argmax(share)
	if depth == 0 || g.ctx.Err() != nil || len(rows) < 2*g.MinLeaf ||
		share[t.nodes[at].class] == 1 {
		return
	}
	best := g.bestSplit(rows)
	if best.column < 0 {
		return
	}
	low, high := g.part(rows, best)
	first := len(t.nodes)
	g.add(t)
	g.add(t)
	t.nodes[at].column, t.nodes[at].cut, t.nodes[at].low = best.column,
		g.bins.cuts[best.column][best.bin], first
	g.divide(t, first, low, depth-1)
	g.divide(t, first+1, high, depth-1)
}

// part moves the rows of the lower bins to the front, in order.
func (g *grower) part(rows []int, s split) (low, high []int) {
	codes := g.codes[s.column]
	g.spill = g.spill[:0]
	n := 0
	for _, i := range rows {
		if int(codes[i]) <= s.bin {
			rows[n] = i
			n++
		} else {
			g.spill = append(g.spill, i)
		}
	}
	copy(rows[n:], g.spill)
	return rows[:n], rows[n:]
}

// split divides a node: rows in bins 0..bin of column go to the low child.
type split struct {
	column, bin int // column −1 means no split
	// Σₖ n_lowₖ²/n_low + Σₖ n_highₖ²/n_high: n minus the weighted Gini impurities
	purity float64
}

// leastGain is the least gain in purity that counts. Smaller gains may be rounding errors.
const leastGain = 1e-9

func (g *grower) bestSplit(rows []int) split {
	whole := 0.0
	for _, n := range g.high {
		whole += float64(n) * float64(n)
	}
	best := split{column: -1, purity: whole/float64(len(rows)) + leastGain}
	left := g.Columns
	if left <= 0 {
		left = len(g.columns)
	}
	for next := 0; next < len(g.columns) && left > 0; next++ {
		if g.Columns > 0 {
			other := next + g.rng.IntN(len(g.columns)-next)
			g.columns[next], g.columns[other] = g.columns[other], g.columns[next]
		}
		if g.tryColumn(g.columns[next], rows, &best) {
			left--
		}
	}
	return best
}

// tryColumn replaces best if a cut of column j is better. It reports whether the column varies.
func (g *grower) tryColumn(j int, rows []int, best *split) bool {
	k := g.classes
	last := len(g.bins.cuts[j])
	count := g.count[:(last+1)*k]
	clear(count)
	codes := g.codes[j]
	for _, i := range rows {
		count[int(codes[i])*k+g.y[i]]++
	}
	clear(g.low)
	clear(g.high)
	filled := 0
	for bin := range last + 1 {
		some := false
		for c, n := range count[bin*k : (bin+1)*k] {
			g.high[c] += n
			some = some || n > 0
		}
		if some {
			filled++
		}
	}
	if filled < 2 {
		return false
	}
	below := 0
	for bin := range last {
		here := 0
		for c, n := range count[bin*k : (bin+1)*k] {
			g.low[c] += n
			g.high[c] -= n
			here += n
		}
		below += here
		above := len(rows) - below
		if above < g.MinLeaf {
			break
		}
		if here == 0 || below < g.MinLeaf {
			continue
		}
		lowSquares, highSquares := 0, 0
		for c, n := range g.low {
			lowSquares += n * n
			highSquares += g.high[c] * g.high[c]
		}
		purity := float64(lowSquares)/float64(below) + float64(highSquares)/float64(above)
		if purity > best.purity {
			*best = split{column: j, bin: bin, purity: purity}
		}
	}
	return true
}
