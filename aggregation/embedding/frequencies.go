package embedding

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// frequencies are public random directions ω_1 … ω_count for the random features of the kernel
// exp(−gamma‖x−y‖²) (Rahimi & Recht 2007). They come in blocks of p, a power of two that is at
// least dim and leastBlock. In a block
//
//	ω_i = √(2·gamma)·s_i·(row i of H·D₃·H·D₂·H·D₁),  H the Walsh–Hadamard matrix/√p,
//
// where the D are diagonal matrices of random signs and s_i has the law of the norm of p standard
// normal numbers. So ω_i is distributed like N(0, 2·gamma·I) in length and nearly so in direction.
// In p dimensions (rows are padded with zeros) the ω of a block are orthogonal, which lowers the
// kernel's error (Yu, Suresh, Choromanski, Holtmann-Rice & Kumar 2016; the lengths as in Le, Sarlós
// & Smola 2013).
//
// The products with a row cost 3p·log₂p additions per block; independent ω would cost dim·p
// multiplications. Sums have a fixed order, so a row's phases do not depend on other rows.
type frequencies struct {
	dim, count, block int
	signs             []float64 // 3p signs for each block
	scale             []float64 // a factor for each frequency
	work              []float64 // scratch memory, p numbers
}

// leastBlock is the least p. In smaller blocks the directions are too regular.
const leastBlock = 64

// drawFrequencies draws count frequencies for rows of dim numbers from a seed. Copy them for
// concurrent use.
func drawFrequencies(dim, count int, gamma float64, seed uint64) *frequencies {
	rng := rand.New(rand.NewPCG(seed, 0x666f7572696572))
	p := max(leastBlock, 1<<bits.Len(uint(dim-1)))
	blocks := (count + p - 1) / p
	f := &frequencies{
		dim: dim, count: count, block: p,
		signs: make([]float64, 3*p*blocks), scale: make([]float64, count), work: make([]float64, p),
	}
	for i := range f.signs {
		f.signs[i] = float64(2*int(rng.Uint64()>>63) - 1)
	}
	// Three transforms H without 1/√p give a factor p^(3/2) too much.
	unit := math.Sqrt(2*gamma) / math.Pow(float64(p), 1.5)
	for i := range f.scale {
		// χ² with p degrees of freedom by Wilson & Hilferty (1931), which for p ≥ 64 is exact to a
		// thousandth.
		a := 2 / (9 * float64(p))
		f.scale[i] = unit * math.Sqrt(float64(p)*math.Pow(1-a+math.Sqrt(a)*rng.NormFloat64(), 3))
	}
	return f
}

// copy returns the same frequencies with separate scratch space, for another goroutine.
func (f *frequencies) copy() *frequencies {
	c := *f
	c.work = make([]float64, len(f.work))
	return &c
}

// project sets to[j] = ⟨ω_j, row⟩ for all count frequencies. row has dim numbers.
func (f *frequencies) project(to, row []float64) {
	if len(to) != f.count || len(row) != f.dim {
		panic(fmt.Sprintf("embedding: %d phases of a row of %d numbers, made for %d and %d", len(to), len(row), f.count, f.dim))
	}
	p, v := f.block, f.work
	for first := 0; first < f.count; first += p {
		signs := f.signs[3*first : 3*first+3*p]
		for i, x := range row {
			v[i] = x * signs[i]
		}
		clear(v[f.dim:])
		hadamard(v)
		multiply(v, signs[p:2*p])
		hadamard(v)
		multiply(v, signs[2*p:])
		hadamard(v)
		for j, s := range f.scale[first:min(f.count, first+p)] {
			to[first+j] = s * v[j]
		}
	}
}

func multiply(v, by []float64) {
	for i, s := range by {
		v[i] *= s
	}
}

// hadamard applies the unnormalised Walsh–Hadamard transform in place. len(v) is a power of two ≥
// 4.
func hadamard(v []float64) {
	for i := 0; i+3 < len(v); i += 4 {
		a, b, c, d := v[i], v[i+1], v[i+2], v[i+3]
		a, b, c, d = a+b, a-b, c+d, c-d
		v[i], v[i+1], v[i+2], v[i+3] = a+c, b+d, a-c, b-d
	}
	for h := 4; h < len(v); h *= 2 {
		for i := 0; i < len(v); i += 2 * h {
			low, high := v[i:i+h], v[i+h:i+2*h]
			for j, b := range high {
				a := low[j]
				low[j], high[j] = a+b, a-b
			}
		}
	}
}
