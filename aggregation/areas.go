package aggregation

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// areas are the areas under the curve of more than two classes, each against the rest by
// its odds, mean over classes, as classes come apart: a class's odds rest on all scores,
// so no closed form is known.
type areas []float64 // at each areaStep, from 0

const (
	areaStep   = 0.25
	areaMost   = 8.0
	areaPoints = 256 // of each class: the table is within .003
)

// areasOf looks at points of a sequence that fills the cube evenly (Roberts 2018: the
// powers of the root of x^(K+1) = x + 1), so that the same shares have the same table.
func areasOf(shares, far []float64) (out areas) {
	k := len(shares)
	root := 2.
	for range 60 {
		root = math.Pow(1+root, 1/float64(k+1))
	}
	points := make([][]float64, areaPoints)
	for i := range points {
		points[i] = make([]float64, k)
		for j := range points[i] {
			_, u := math.Modf(.5 + float64(i+1)*math.Pow(root, -float64(j+1)))
			points[i][j] = distuv.UnitNormal.Quantile(math.Max(u, 1e-12))
		}
	}
	odds := make([][][]float64, k) // of a class, of records of another
	for c := range odds {
		odds[c] = make([][]float64, k)
		for of := range odds[c] {
			odds[c][of] = make([]float64, areaPoints)
		}
	}
	weight := make([]float64, k)
	out = areas{.5}
	for apart := areaStep; apart <= areaMost; apart += areaStep {
		for of := range k {
			for i, z := range points {
				total := 0.
				for c, v := range z {
					own := apart * far[c]
					if c == of {
						v += own
					}
					weight[c] = shares[c] * math.Exp(own*v-own*own/2)
					total += weight[c]
				}
				for c := range k {
					odds[c][of][i] = math.Log(math.Max(weight[c], 1e-300) / math.Max(total-weight[c], 1e-300))
				}
			}
		}
		area := 0.
		for c := range k {
			own := odds[c][c]
			slices.Sort(own)
			for of, share := range shares {
				if of == c {
					continue
				}
				above := 0
				for _, v := range odds[c][of] {
					above += areaPoints - sort.SearchFloat64s(own, v)
				}
				area += share / (1 - shares[c]) * float64(above) / (areaPoints * areaPoints) / float64(k)
			}
		}
		out = append(out, math.Max(area, out[len(out)-1]))
	}
	return out
}

// at is the area at a distance.
func (a areas) at(apart float64) float64 {
	if apart < 0 {
		return 1 - a.at(-apart)
	}
	return interpolate(a, apart/areaMost)
}

// apart is the distance at which the area is so large.
func (a areas) apart(area float64) float64 {
	low, high := 0., areaMost
	for range 40 {
		if mid := (low + high) / 2; a.at(mid) < area {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// farOf is how far each class is from the others, of mean square 1 over classes: with
// tilt 0 all alike; above, the frequent further than the rare, by up to e^(2·tilt).
func farOf(shares []float64, tilt float64) []float64 {
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return shares[order[a]] < shares[order[b]] })
	out, square := make([]float64, len(shares)), 0.
	for rank, k := range order {
		out[k] = math.Exp(tilt * (2*float64(rank)/float64(len(shares)-1) - 1))
		square += out[k] * out[k] / float64(len(shares))
	}
	floats.Scale(1/math.Sqrt(square), out)
	return out
}
