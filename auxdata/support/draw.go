package support

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

// Margin is the public knowledge about one block of encoded columns (see dataset.Schema.Blocks).
type Margin struct {
	// Shares, for the levels of a text, are proportional to their frequencies.
	Shares []float64
	// Mean, for a number, is its mean in [0,1].
	Mean float64
	// Bins, for a number, are proportional to its frequencies in equal parts of [0,1]. They replace
	// Mean.
	Bins []float64
}

// UniformMargin returns a block's margin by the schema alone: all levels except "other", and all
// numbers, equally frequent.
func UniformMargin(b dataset.Block, levels int) Margin {
	if !b.OneHot {
		return Margin{Mean: 0.5}
	}
	m := Margin{Shares: make([]float64, b.Width)}
	for k := range levels {
		m.Shares[k] = 1
	}
	return m
}

// UniformMargins returns the margins of a schema if its data are unknown. In rows drawn from them
// no cell is missing.
func UniformMargins(s dataset.Schema) []Margin {
	var out []Margin
	names := s.FeatureNames()
	for _, b := range s.Blocks() {
		levels := b.Width
		if b.OneHot && names[b.Start+b.Width-1] == b.Column+"=other" && b.Width > 1 {
			levels--
		}
		m := UniformMargin(b, levels)
		if !b.OneHot && names[b.Start] != b.Column {
			m.Mean = 0
		}
		out = append(out, m)
	}
	return out
}

// Draw draws a pool of n rows, each block independently from its margin: levels by their shares; a
// number by its bins, uniformly inside each, or, if only the mean is known, from the density of
// largest entropy on [0,1] with this mean, ∝ e^{θv}. A missing flag is set with its mean as
// probability.
//
// Everything that Make reads is public, so the rows are too. Each column is plausible, but
// combinations may be impossible (men who are wives); weights later push such rows down.
func Draw(s dataset.Schema, n int, margins []Margin, rng *rand.Rand) (*dataset.Table, error) {
	blocks := s.Blocks()
	switch {
	case n < 1:
		return nil, fmt.Errorf("make public pool: %d rows: give at least 1", n)
	case len(margins) != len(blocks):
		return nil, fmt.Errorf("make public pool: have %d margins for %d blocks of features", len(margins), len(blocks))
	}
	names := s.FeatureNames()
	x := mat.NewDense(n, s.Dim(), nil)
	for k, b := range blocks {
		m := margins[k]
		shares := m.Shares
		if !b.OneHot {
			shares = m.Bins
		}
		pick, err := newPicker(shares)
		if err != nil || (b.OneHot && len(shares) != b.Width) {
			return nil, fmt.Errorf("make public pool: the margin of %s has %d shares for %d levels, or none above 0", b.Column, len(shares), b.Width)
		}
		if !(m.Mean >= 0 && m.Mean <= 1) {
			return nil, fmt.Errorf("make public pool: the mean of %s is %v of its range, want a number from 0 to 1", b.Column, m.Mean)
		}
		flag := !b.OneHot && names[b.Start] != b.Column
		slope := tiltOf(m.Mean)
		for i := range n {
			switch {
			case b.OneHot:
				x.Set(i, b.Start+pick.draw(rng), 1)
			case flag:
				if rng.Float64() < m.Mean {
					x.Set(i, b.Start, 1)
				}
			case m.Bins != nil:
				x.Set(i, b.Start, (float64(pick.draw(rng))+rng.Float64())/float64(len(m.Bins)))
			default:
				x.Set(i, b.Start, drawTilted(slope, rng))
			}
		}
	}
	return s.Decode(x)
}

// picker holds cumulative shares to draw from. The zero picker is empty.
type picker []float64

func newPicker(shares []float64) (picker, error) {
	p, total := make(picker, len(shares)), 0.0
	for k, v := range shares {
		if !(v > 0) { // released shares may be slightly below 0
			v = 0
		}
		total += v
		p[k] = total
	}
	if len(p) > 0 && (total <= 0 || math.IsInf(total, 1)) {
		return nil, fmt.Errorf("no share is above 0")
	}
	return p, nil
}

func (p picker) draw(rng *rand.Rand) int {
	u := rng.Float64() * p[len(p)-1]
	for k, v := range p {
		if u < v {
			return k
		}
	}
	return len(p) - 1
}

// maxTilt bounds θ. The mean is then within 1/500 of an end.
const maxTilt = 500

// tiltOf bisects mean = 1/(1−e^{−θ}) − 1/θ, the mean of the density ∝ e^{θv} on [0,1].
func tiltOf(mean float64) float64 {
	low, high := -float64(maxTilt), float64(maxTilt)
	for range 60 {
		mid := (low + high) / 2
		if meanOfTilt(mid) < mean {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

func meanOfTilt(theta float64) float64 {
	if math.Abs(theta) < 1e-4 {
		return 0.5 + theta/12 // the expansion to order θ³
	}
	return -1/math.Expm1(-theta) - 1/theta
}

// drawTilted inverts the distribution function (e^{θv}−1)/(e^θ−1).
func drawTilted(theta float64, rng *rand.Rand) float64 {
	u := rng.Float64()
	if math.Abs(theta) < 1e-4 {
		return u
	}
	if theta > 0 { // draw from the other end, where nothing overflows
		return 1 - drawFrom(theta, u)
	}
	return drawFrom(-theta, u)
}

// drawFrom returns the quantile u of the density ∝ e^{−tv} on [0,1], t > 0.
func drawFrom(t, u float64) float64 {
	return math.Max(0, math.Min(1, -math.Log1p(u*math.Expm1(-t))/t))
}
