package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"
)

func weightedRelease() Published {
	b := Bound{Unit: Record, L2sq: 20, Weight: []int64{5, 5, 5, 1, 1, 9}, PerParty: 7, Cells: 2}
	s := must(NewSensitive([]int64{1, -2, 3, 1 << 40, math.MaxInt64, 0}, b))
	return must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, "é/1", s,
		must(CalibrateGaussian(b, Budget{1, 1e-6}))))
}

func TestPublishedRoundTrip(t *testing.T) {
	laplaced := must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, "l", counts(4, 5),
		laplace(0.1)))
	for _, p := range []Published{weightedRelease(), laplaced} {
		data := must(p.MarshalBinary())
		back, err := ParsePublished(data)
		if err != nil || !reflect.DeepEqual(p, back) {
			t.Errorf("%+v\nbecomes %+v, %v", p, back, err)
		}
		if again := must(back.MarshalBinary()); string(again) != string(data) {
			t.Error("other bytes the second time")
		}
		for n := range data {
			if _, err := ParsePublished(data[:n]); err == nil {
				t.Fatalf("cut to %d bytes it parses", n)
			}
		}
		if _, err := ParsePublished(append(data, 0)); err == nil {
			t.Error("with a byte more it parses")
		}
	}
}

func TestPublishedClaim(t *testing.T) {
	for name, change := range map[string]func(p *Published){
		"cheaper":     func(p *Published) { p.Cost.Rho = big.NewRat(1, 1000) },
		"other unit":  func(p *Published) { p.Cost.Unit = Party },
		"k":           func(p *Published) { p.Cost.PerParty = 1 },
		"mechanism":   func(p *Published) { p.Mechanism = "discrete-laplace" },
		"unknown":     func(p *Published) { p.Mechanism = "magic" },
		"parameter":   func(p *Published) { p.Parameters = map[string]string{"variance": "1e3"} },
		"not lowest":  func(p *Published) { p.Parameters = map[string]string{"variance": "2/2"} },
		"two":         func(p *Published) { p.Parameters["scale"] = "1" },
		"bound":       func(p *Published) { p.Bound.L2sq = 1 },
		"weights":     func(p *Published) { p.Bound.Weight = p.Bound.Weight[1:] },
		"zero weight": func(p *Published) { p.Bound.Weight[0] = 0 },
		"values":      func(p *Published) { p.Values = p.Values[1:] },
		"beyond":      func(p *Published) { p.Values[0] = limit + 1 },
		"reals":       func(p *Published) { p.Reals = []float64{1} },
		"sequence":    func(p *Published) { p.Sequence = 0 },
		"simulated":   func(p *Published) { p.Simulated = true },
	} {
		p := weightedRelease()
		change(&p)
		if _, err := p.MarshalBinary(); err == nil {
			t.Errorf("%s: a changed answer marshals", name)
		}
		p.sealed = p.digest() // as if this package had made it
		data := append(append([]byte{publishedVersion}, p.EntryHash[:]...), encodePublished(p)...)
		if _, err := ParsePublished(data); err == nil {
			t.Errorf("%s: a false claim parses", name)
		}
	}
	made := Published{ID: "made", Values: []int64{1}, Mechanism: "discrete-laplace"}
	if _, err := made.MarshalBinary(); err == nil || made.IsUnchanged() {
		t.Error("an answer made by hand marshals")
	}
}

func TestPublishedSimulated(t *testing.T) {
	p := must(NewSimulation(1).Release(ctx, "s", counts(1, 2), laplace(1)))
	data := append(append([]byte{publishedVersion}, p.EntryHash[:]...), encodePublished(p)...)
	if _, err := ParsePublished(data); !errors.Is(err, ErrSimulationOnly) {
		t.Errorf("simulated bytes: %v", err)
	}
}

func TestPublishedVariance(t *testing.T) {
	p := weightedRelease()
	variance, _ := new(big.Rat).SetString(p.Parameters["variance"])
	base, _ := variance.Float64()
	for j, w := range p.Bound.Weight {
		if got := p.Variance(j); got != base/float64(w) {
			t.Errorf("variance of %d = %g, want %g", j, got, base/float64(w))
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a coordinate out of range has a variance")
		}
	}()
	p.Variance(6)
}

// TestPublishedIsCompact: 20,000 cells, weights equal in rows of ten, noise of σ ≈ 900 take at
// most three bytes a cell.
func TestPublishedIsCompact(t *testing.T) {
	const n = 20000
	b := Bound{Unit: Party, L2sq: 2 << 20, Weight: make([]int64, n)}
	for j := range b.Weight {
		b.Weight[j] = 1<<20 - int64(j/10)
	}
	m := DiscreteGaussian{Variance: new(big.Rat).SetInt64(768000 << 20)}
	p := must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, "big",
		must(NewSensitive(make([]int64, n), b)), m))
	if got := len(must(p.MarshalBinary())); got > 3*n {
		t.Errorf("%d bytes for %d cells", got, n)
	}
}

func FuzzParsePublished(f *testing.F) {
	f.Add(must(weightedRelease().MarshalBinary()))
	f.Add(must(must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, "l", counts(4, 5),
		laplace(0.1))).MarshalBinary()))
	for _, name := range []string{"laplace", "gaussian", "dirichlet", "laplace-prior"} {
		m := must(CalibrateCounts(name, CountTerms{Label, 3, 50, Budget{1, 1e-3}}))
		s := must(NewSensitive([]int64{10, 20, 20}, CountBound(Label, 3)))
		f.Add(must(must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, name, s,
			m)).MarshalBinary()))
	}
	share := must(NewSensitiveShare([]Residue{{1, 2}, {3, 4}}, Bound{Unit: Record, L1: 1}))
	f.Add(must(must(must(Open(NewMemoryJournal(), Config{})).Release(ctx, "share", share,
		laplace(1))).MarshalBinary()))
	f.Add([]byte{1})
	f.Add(append(make([]byte, 33), fmt.Appendf([]byte{60}, `{"values":9000000000000000000,"runs":9000000000000000000}`)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePublished(data)
		if err != nil {
			return
		}
		for j := range p.Len() {
			if v := p.Variance(j); !(v > 0) {
				t.Fatalf("variance of %d is %g", j, v)
			}
		}
		if back := must(p.MarshalBinary()); string(back) != string(data) {
			t.Fatalf("%x became %x", data, back)
		}
	})
}
