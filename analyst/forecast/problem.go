package forecast

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
)

// problem draws records like the pool's rows, with labels from a linear model (truth).
type problem struct {
	pool  *auxdata.Pool
	truth learners.Linear
	p     *mat.Dense // N×K, the probability of each class for each pool row
	// train and test are disjoint halves of the pool's rows. The parties' records are drawn from
	// train, test records from test.
	train, test []int
	rng         *rand.Rand
}

// flats define three models for two classes. A mapped column with standard deviation sd changes the
// score by a random number of standard deviation sd^flat when it changes by sd. With a larger flat,
// columns with a large sd matter more; with flat 0 all columns would matter alike.
var flats = []float64{.5, 1, 1.5}

// newProblem draws a linear model whose scores have the given AUC on the pool's rows (each class
// against the rest), and whose classes have the given shares. With more than two classes, the
// direction of each class is a random pool row minus the mean row.
func newProblem(pool *auxdata.Pool, shares []float64, auc float64, number int,
	rng *rand.Rand) *problem {
	n, d := pool.X.Dims()
	k := len(shares)
	t := &problem{pool: pool, truth: learners.Linear{W: mat.NewDense(d, learners.WeightColumns(k),
		nil),
		Classes: k}, rng: rng}
	rows := rng.Perm(n)
	t.train, t.test = rows[:(n+1)/2], rows[n/2:]
	flat := flats[number%len(flats)]
	for c := range learners.WeightColumns(k) {
		if k == 2 {
			break
		}
		row := rows[rng.IntN(n)]
		for j := range d - 1 {
			t.truth.W.Set(j, c, pool.X.At(row, j)-stat.Mean(mat.Col(nil, j, pool.X), nil))
		}
	}
	for j := range d - 1 {
		if k > 2 {
			break
		}
		sd := stat.PopStdDev(mat.Col(nil, j, pool.X), nil)
		for c := range learners.WeightColumns(k) {
			if g := rng.NormFloat64(); sd > 1e-9 {
				t.truth.W.Set(j, c, g*math.Pow(sd, flat)/sd)
			}
		}
	}
	direction := mat.DenseCopyOf(t.truth.W)
	low, high := 0.0, 1/math.Max(stat.PopStdDev(t.truth.Scores(pool.X).RawMatrix().Data, nil), 1e-9)
	u := make([]float64, n) // all scales get labels from the same draws
	for i := range u {
		u[i] = rng.Float64()
	}
	reaches := func(scale float64) bool {
		t.truth.W.Scale(scale, direction)
		t.level(shares)
		y := make([]int, n)
		for i := range y {
			y[i] = pick(t.p.RawRowView(i), u[i])
		}
		return learners.MeasureScores(t.truth, pool.X, y,
			learners.LabelChannel{Classes: k, Keep: 1}).AUC >= auc
	}
	for range 10 { // doubles high, up to a thousandfold, until the true scores reach the AUC
		if reaches(high) {
			break
		}
		low, high = high, 2*high
	}
	for range 20 {
		if mid := (low + high) / 2; reaches(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	reaches(high)
	return t
}

// level sets intercepts so that the classes have the given shares, and updates p.
func (p *problem) level(shares []float64) {
	n, d := p.pool.X.Dims()
	for range 50 {
		p.p = p.truth.Probabilities(p.pool.X)
		worst := 0.0
		step := make([]float64, len(shares))
		for k, share := range shares {
			has := mat.Sum(p.p.ColView(k)) / float64(n)
			step[k] = math.Log(share / math.Max(has, 1e-12))
			worst = math.Max(worst, math.Abs(has-share))
		}
		if worst < 1e-4 {
			return
		}
		if len(shares) == 2 {
			p.truth.W.Set(d-1, 0, p.truth.W.At(d-1, 0)+(step[1]-step[0])/intercept(p.pool.X))
			continue
		}
		for k, s := range step {
			p.truth.W.Set(d-1, k, p.truth.W.At(d-1, k)+s/intercept(p.pool.X))
		}
	}
}

// intercept returns the mean of a map's last column, which is constant except in clipped rows.
func intercept(x *mat.Dense) float64 {
	_, d := x.Dims()
	return stat.Mean(mat.Col(nil, d-1, x), nil)
}

// pick turns a uniform number u in [0,1] into a class with probabilities p.
func pick(p []float64, u float64) int {
	for k, share := range p[:len(p)-1] {
		if u < share {
			return k
		}
		u -= share
	}
	return len(p) - 1
}

// draw draws this number of records from the pool rows listed in from, with probabilities by their
// weights.
func (p *problem) draw(from []int, records int) *dataset.Records {
	_, d := p.pool.Encoded.Dims()
	out := &dataset.Records{X: mat.NewDense(records, d, nil), Y: make([]int, records)}
	heaviest := 0.0
	for _, row := range from {
		heaviest = math.Max(heaviest, p.weight(row))
	}
	for i := range records {
		row := from[p.rng.IntN(len(from))]
		for p.weight(row) < p.rng.Float64()*heaviest {
			row = from[p.rng.IntN(len(from))]
		}
		out.X.SetRow(i, p.pool.Encoded.RawRowView(row))
		out.Y[i] = pick(p.p.RawRowView(row), p.rng.Float64())
	}
	return out
}

func (p *problem) weight(row int) float64 {
	if p.pool.Weight == nil {
		return 1
	}
	return p.pool.Weight[row]
}
