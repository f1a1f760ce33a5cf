package dataset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FourierMap is the kind of a map of random Fourier features.
const FourierMap MapKind = "fourier"

// Fourier holds the parameters of random features for the kernel exp(−Gamma‖x−y‖²) (Rahimi & Recht
// 2007): Outputs numbers, in pairs
//
//	z = √(2/Outputs)·(cos⟨ω_1,x⟩, sin⟨ω_1,x⟩, cos⟨ω_2,x⟩, …)
//
// so that ‖z‖ = 1 and nothing is clipped. The frequencies ω ([Frequencies]) come from Seed alone. A
// linear model on these features is a kernel model.
type Fourier struct {
	Gamma float64 `json:"gamma"`
	Seed  uint64  `json:"seed"`
}

// FitFourier makes a map from first's output to an even number of features. It needs no rows. First's
// features have norm about 1 on the rows of its fit, so a Gamma of about 1/2 gives a kernel of suitable
// width.
func FitFourier(first Map, features int, f Fourier) (Map, error) {
	m := Map{Kind: FourierMap, Inputs: first.Dim() - 1, Outputs: features, Scale: 1, Fourier: &f}.After(first)
	if err := m.Validate(); err != nil {
		return Map{}, fmt.Errorf("make Fourier features: %w", err)
	}
	return m, nil
}

func (f *Fourier) validate(m Map) error {
	switch {
	case f == nil || !(f.Gamma > 0) || f.Gamma > 1e6:
		return fmt.Errorf("map: a fourier map needs a gamma above 0, such as 0.5")
	case m.Outputs < 2 || m.Outputs%2 != 0 || m.Outputs > maxColumns:
		return fmt.Errorf("map: outputs is %d; Fourier features come in pairs, from 2 to %d", m.Outputs, maxColumns)
	case len(m.Mean) != 0 || len(m.Directions) != 0:
		return fmt.Errorf("map: a fourier map has no mean or directions; remove them")
	}
	return nil
}

func (f Fourier) fill(z, x *mat.Dense) {
	n, width := z.Dims()
	_, d := x.Dims()
	frequencies := DrawFrequencies(d, width/2, f.Gamma, f.Seed)
	phases := make([]float64, width/2)
	scale := math.Sqrt(2 / float64(width))
	for i := range n {
		frequencies.Phases(phases, x.RawRowView(i))
		row := z.RawRowView(i)
		for j, p := range phases {
			s, c := math.Sincos(p)
			row[2*j], row[2*j+1] = scale*c, scale*s
		}
	}
}
