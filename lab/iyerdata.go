package main

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/ratio"
	"caucus/dataset"
)

// ratioData is labelled records from which sets and test sets are drawn.
type ratioData struct {
	Name             string
	X, TestX         *mat.Dense
	Y, TestY         []int
	Classes          int
	SetSize, Targets int // records of a set and of a test set
}

// ratioSet loads a data set of the class-ratio experiments: a known set; "youtube"
// and "tweets", texts as 1,000 TF-IDF words and their length; "activities-3",
// wisdm_har as walking, jogging and the rest; "mnist-pca", 50 components.
func (l *lab) ratioSet(name string) (*ratioData, error) {
	out := &ratioData{Name: name, SetSize: 600, Targets: 600, Classes: 2}
	switch name {
	case "youtube":
		c, err := youtubeComments(l.DataDir)
		if err != nil {
			return nil, err
		}
		out.SetSize, out.Targets = 200, 200 // 1,956 comments in all
		out.split(c.features(1000), c.Y, l.rng("split "+name), .55)
		return out, nil
	case "tweets":
		train, err := tweets(l.DataDir, "train")
		if err != nil {
			return nil, err
		}
		test, err := tweets(l.DataDir, "test")
		if err != nil {
			return nil, err
		}
		all := corpus{append(train.Texts, test.Texts...), append(train.Y, test.Y...)}
		out.Classes = 3
		out.split(all.features(1000), all.Y, l.rng("split "+name), .7)
		return out, nil
	case "activities-3":
		s, err := l.records("wisdm_har")
		if err != nil {
			return nil, err
		}
		y := make([]int, len(s.Train.Y))
		for i, k := range s.Train.Y {
			y[i] = min(k, 2)
		}
		out.Classes = 3
		out.split(s.Train.X, y, l.rng("split "+name), .7)
		return out, nil
	case "mnist-pca":
		s, err := l.records("mnist")
		if err != nil {
			return nil, err
		}
		m, err := dataset.FitPCA(rowsOf(s.Train.X, l.rng("pca").Perm(s.Train.Len())[:5000]), 50, 0)
		if err != nil {
			return nil, err
		}
		out.X, out.TestX, out.Y, out.TestY = m.Apply(s.Train.X), m.Apply(s.Test.X), s.Train.Y,
			s.Test.Y
		out.Classes, out.SetSize, out.Targets = 10, 2500, 1000
		return out, nil
	}
	s, err := l.records(name)
	if err != nil {
		return nil, err
	}
	if out.Classes = len(s.Schema.Classes()); s.Test != nil {
		out.X, out.TestX, out.Y, out.TestY = s.Train.X, s.Test.X, s.Train.Y, s.Test.Y
		return out, nil
	}
	out.split(s.Train.X, s.Train.Y, l.rng("split "+name), .6)
	return out, nil
}

// split keeps a share of the records for the sets and the rest for tests.
func (d *ratioData) split(x *mat.Dense, y []int, rng *rand.Rand, share float64) {
	order := rng.Perm(len(y))
	cut := int(share * float64(len(y)))
	pick := func(rows []int) (*mat.Dense, []int) {
		labels := make([]int, len(rows))
		for i, r := range rows {
			labels[i] = y[r]
		}
		return rowsOf(x, rows), labels
	}
	d.X, d.Y = pick(order[:cut])
	d.TestX, d.TestY = pick(order[cut:])
}

// drawSets draws disjoint sets at the given shares; a set whose classes run out is smaller.
func (d *ratioData) drawSets(shares [][]float64, rng *rand.Rand) ([][]int, error) {
	of := make([][]int, d.Classes)
	for _, i := range rng.Perm(len(d.Y)) {
		if k := d.Y[i]; k >= 0 {
			of[k] = append(of[k], i)
		}
	}
	sets := make([][]int, len(shares))
	for s, p := range shares {
		for k, v := range p {
			n := min(int(v*float64(d.SetSize)+.5), len(of[k]))
			sets[s] = append(sets[s], of[k][:n]...)
			of[k] = of[k][n:]
		}
		if len(sets[s]) < 20 {
			return nil, fmt.Errorf("%s: the records run out at set %d of %d", d.Name, s+1,
				len(shares))
		}
	}
	return sets, nil
}

// targets draws test sets under a protocol. The field's protocols can reverse an order of
// methods, so that none is reported alone:
//
//	upp   shares uniform on the simplex
//	app   shares on a grid of step .05, of two classes in turn, of more at random
//	npp   rows drawn alike, so that shares are natural ones
//	grid  shares .1 to .9 of class 1
func (d *ratioData) targets(protocol string, n int, rng *rand.Rand) ([]ratio.Sample, error) {
	var out []ratio.Sample
	switch protocol {
	case "upp":
		return ratio.SampleSets(d.TestY,
			ratio.SampleOptions{Classes: d.Classes, Size: d.Targets, Sets: n}, rng)
	case "npp":
		for range n {
			var rows []int
			for r, k := range d.TestY {
				if k >= 0 && k < d.Classes {
					rows = append(rows, r)
				}
			}
			if len(rows) == 0 {
				return nil, fmt.Errorf("%s: no test record has a label", d.Name)
			}
			rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
			s := ratio.Sample{Rows: make([]int, d.Targets)}
			for a := range s.Rows {
				s.Rows[a] = rows[a%len(rows)]
			}
			s.Shares = ratio.SharesOfLabels(d.TestY, s.Rows, d.Classes)
			out = append(out, s)
		}
		return out, nil
	case "app":
		const grid = 20
		for i := range n {
			p := float64(i%(grid+1)) / grid
			shares := []float64{1 - p, p}
			if d.Classes > 2 {
				shares = gridShares(d.Classes, grid, rng)
			}
			s, err := ratio.SampleAtShares(d.TestY, shares, d.Targets, rng)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, nil
	}
	for i := 1; i <= 9; i++ {
		p := float64(i) / 10
		s, err := ratio.SampleAtShares(d.TestY, []float64{1 - p, p}, d.Targets, rng)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// gridShares draws uniformly among the compositions of grid into classes parts: stars and bars.
func gridShares(classes, grid int, rng *rand.Rand) []float64 {
	bars := make([]bool, grid+classes-1)
	for _, b := range rng.Perm(len(bars))[:classes-1] {
		bars[b] = true
	}
	out := make([]float64, classes)
	k := 0
	for _, bar := range bars {
		if bar {
			k++
		} else {
			out[k] += 1 / float64(grid)
		}
	}
	return out
}
