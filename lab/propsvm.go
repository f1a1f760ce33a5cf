package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// bag is a set of rows with a known share of positives: the input of the two
// proportion learners that class ratios are compared with. Positives is p.
type bag struct {
	Rows      *mat.Dense // n×d
	Positives float64
}

// linearSVM scores a row by ⟨w,x⟩ + b; positive means class +1.
type linearSVM struct {
	w []float64
	b float64
}

func (s linearSVM) score(row []float64) float64 {
	sum := s.b
	for j, v := range row {
		sum += v * s.w[j]
	}
	return sum
}

// positives is classify-and-count: the share of rows scored above zero.
func (s linearSVM) positives(x *mat.Dense) float64 {
	n, _ := x.Dims()
	var count float64
	for i := range n {
		if s.score(x.RawRowView(i)) > 0 {
			count++
		}
	}
	return count / float64(n)
}

// coordinateDescent solves min ½‖(w,b)‖² + C·Σ losses in the dual, one variable at a time in random
// order (Hsieh et al. 2008; Ho & Lin 2012), the bias as a feature of value 1. Labels ±1 with hinge
// loss, or real targets with |target − score| where regression is set. It stops when no variable
// moved by more than 1e-4·C in a sweep, or after 300 sweeps.
//
// Zeros of a row, most of a one-hot one, are skipped: they change nothing.
func coordinateDescent(x *mat.Dense, target []float64, c float64, regression bool,
	rng *rand.Rand) linearSVM {
	n, d := x.Dims()
	out := linearSVM{w: make([]float64, d)}
	dual := make([]float64, n) // contribution of row i to (w,b): dual·(x,1)
	norm := make([]float64, n)
	filled := make([][]int, n) // columns that are not zero
	for i := range n {
		norm[i] = 1
		for j, v := range x.RawRowView(i) {
			norm[i] += v * v
			if v != 0 {
				filled[i] = append(filled[i], j)
			}
		}
	}
	for range 300 {
		moved := 0.0
		for _, i := range rng.Perm(n) {
			row := x.RawRowView(i)
			score := out.b
			for _, j := range filled[i] {
				score += row[j] * out.w[j]
			}
			next := dual[i] + (target[i]-score)/norm[i]
			switch { // the hinge dual lies between 0 and C·label, the other within ±C
			case regression:
				next = min(max(next, -c), c)
			case target[i] > 0:
				next = min(max(next, 0), c)
			default:
				next = min(max(next, -c), 0)
			}
			if step := next - dual[i]; step != 0 {
				dual[i] = next
				out.b += step
				for _, j := range filled[i] {
					out.w[j] += step * row[j]
				}
				moved = max(moved, math.Abs(step))
			}
		}
		if moved < 1e-4*c {
			break
		}
	}
	return out
}

// alterPSVMOptions are the constants of alter-∝SVM (Yu et al. 2013).
type alterPSVMOptions struct {
	C      float64 // weight of the hinge loss, summed over rows
	C2     float64 // weight of |p̃ − p|, summed over bags
	Starts int     // random labellings tried; the best objective wins
}

func defaultAlterPSVM() alterPSVMOptions { return alterPSVMOptions{C: 1, C2: 10, Starts: 10} }

// alterPSVM alternates an SVM with the per-bag relabelling that minimises
// hinge + C2·|p̃ − p|, the hinge weight annealed from 1e-4·C by ×1.5 to C.
func alterPSVM(bags []bag, o alterPSVMOptions, rng *rand.Rand) (linearSVM, error) {
	x, first, err := joinBags(bags)
	if err != nil {
		return linearSVM{}, fmt.Errorf("alter-pSVM: %w", err)
	}
	n, _ := x.Dims()
	best, lowest := linearSVM{}, math.Inf(1)
	for range max(o.Starts, 1) {
		labels := make([]float64, n)
		for k, b := range bags {
			rows := rng.Perm(first[k+1] - first[k])
			for a, r := range rows {
				labels[first[k]+r] = -1
				if float64(a) < math.Round(b.Positives*float64(len(rows))) {
					labels[first[k]+r] = 1
				}
			}
		}
		var svm linearSVM
		var objective float64
		for c := 1e-4 * o.C; ; c = min(1.5*c, o.C) {
			previous := math.Inf(1)
			for range 50 {
				svm = coordinateDescent(x, labels, c, false, rng)
				objective = svm.b * svm.b / 2
				for _, w := range svm.w {
					objective += w * w / 2
				}
				for k, b := range bags {
					objective += relabel(svm, x, labels, first[k], first[k+1], b.Positives, c, o.C2)
				}
				if previous-objective < 1e-4*math.Abs(objective) {
					break
				}
				previous = objective
			}
			if c >= o.C {
				break
			}
		}
		if objective < lowest {
			best, lowest = svm, objective
		}
	}
	return best, nil
}

// relabel sets the labels of one bag: rows in the order of what being positive saves, cut where the
// total is least. It returns the bag's part of the objective.
func relabel(svm linearSVM, x *mat.Dense, labels []float64, from, to int,
	p, c, c2 float64) float64 {
	type gain struct {
		row   int
		saves float64
	}
	gains := make([]gain, 0, to-from)
	var loss float64 // of all rows negative
	for i := from; i < to; i++ {
		s := svm.score(x.RawRowView(i))
		negative, positive := max(1+s, 0), max(1-s, 0)
		loss += c * negative
		gains = append(gains, gain{i, c * (negative - positive)})
	}
	slices.SortFunc(gains, func(a, b gain) int {
		switch {
		case a.saves > b.saves:
			return -1
		case a.saves < b.saves:
			return 1
		}
		return a.row - b.row
	})
	n := float64(len(gains))
	best, cut := loss+c2*p, 0
	for k, g := range gains {
		loss -= g.saves
		if total := loss + c2*math.Abs(float64(k+1)/n-p); total < best {
			best, cut = total, k+1
		}
	}
	for k, g := range gains {
		labels[g.row] = -1
		if k < cut {
			labels[g.row] = 1
		}
	}
	return best
}

// inverseCalibration (Rüping 2010) fits the bags' mean rows to the log-odds of their shares by
// linear support vector regression; shares are kept within [.01,.99]. c is the weight of each bag's
// absolute error.
func inverseCalibration(bags []bag, c float64, rng *rand.Rand) (linearSVM, error) {
	if _, _, err := joinBags(bags); err != nil {
		return linearSVM{}, fmt.Errorf("inverse calibration: %w", err)
	}
	_, d := bags[0].Rows.Dims()
	means, odds := mat.NewDense(len(bags), d, nil), make([]float64, len(bags))
	for k, b := range bags {
		n, _ := b.Rows.Dims()
		for i := range n {
			for j, v := range b.Rows.RawRowView(i) {
				means.Set(k, j, means.At(k, j)+v/float64(n))
			}
		}
		p := min(max(b.Positives, 0.01), 0.99)
		odds[k] = math.Log(p / (1 - p))
	}
	return coordinateDescent(means, odds, c, true, rng), nil
}

// joinBags stacks the bags; rows of bag k are first[k] .. first[k+1]−1.
func joinBags(bags []bag) (x *mat.Dense, first []int, err error) {
	if len(bags) == 0 {
		return nil, nil, errors.New("no bags: give at least two with different shares")
	}
	_, d := bags[0].Rows.Dims()
	first = []int{0}
	var data []float64
	for k, b := range bags {
		n, bd := b.Rows.Dims()
		if bd != d || !(b.Positives >= 0 && b.Positives <= 1) {
			return nil, nil, fmt.Errorf("bag %d has %d columns and share %g, want %d columns and a share in [0,1]", k, bd, b.Positives, d)
		}
		for i := range n {
			data = append(data, b.Rows.RawRowView(i)...)
		}
		first = append(first, first[k]+n)
	}
	return mat.NewDense(first[len(bags)], d, data), first, nil
}
