package dataset

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// drawnPictures returns noise around a gradient.
func drawnPictures(n int, p Pictures) *mat.Dense {
	rng := rand.New(rand.NewPCG(4, 4))
	x := mat.NewDense(n, p.Pixels(), nil)
	for i := range n {
		for j := range p.Pixels() {
			x.Set(i, j, math.Min(1, float64((j+7*i)%p.Width)/float64(p.Width)*0.5+0.5*rng.Float64()))
		}
	}
	return x
}

// dumbPatches follows the documentation of Patches for one picture.
func dumbPatches(p Patches, row []float64) []float64 {
	count := len(p.Bias)
	out := make([]float64, p.outputs())
	down, across := (p.Height-p.Side)/p.Stride+1, (p.Width-p.Side)/p.Stride+1
	in := make([]float64, p.Grid*p.Grid)
	for y := range down {
		for x := range across {
			part := y*p.Grid/down*p.Grid + x*p.Grid/across
			in[part]++
			var v []float64
			for c := range p.Channels {
				for dy := range p.Side {
					for dx := range p.Side {
						v = append(v, row[c*p.Height*p.Width+(y*p.Stride+dy)*p.Width+x*p.Stride+dx])
					}
				}
			}
			mean, variance := 0.0, 0.0
			for _, a := range v {
				mean += a / float64(len(v))
			}
			for _, a := range v {
				variance += (a - mean) * (a - mean) / float64(len(v))
			}
			for f := range count {
				r := float64(p.Bias[f])
				for j, a := range v {
					r += float64(p.Filters[f*len(v)+j]) * (a - mean) / math.Sqrt(variance+p.Contrast)
				}
				out[part*2*count+f] += math.Max(0, r-p.Threshold)
				out[part*2*count+count+f] += math.Max(0, -r-p.Threshold)
			}
		}
	}
	for i := range out {
		out[i] /= in[i/(2*count)]
	}
	return out
}

func TestPatches(t *testing.T) {
	for _, p := range []Pictures{{Height: 14, Width: 17, Channels: 3}, {Height: 28, Width: 28, Channels: 1}} {
		x := drawnPictures(60, p)
		m, err := FitPatches(x, p, 5, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		again, _ := FitPatches(x, p, 5, rand.New(rand.NewPCG(1, 1)))
		if !reflect.DeepEqual(m, again) {
			t.Error("another map the second time")
		}
		z := m.Features(x)
		for i := range 3 {
			for j, want := range dumbPatches(*m.Patches, x.RawRowView(i)) {
				if got := z.At(i, j) * m.Scale; math.Abs(got-want) > 1e-9 {
					t.Fatalf("feature %d of picture %d is %g, want %g", j, i, got, want)
				}
			}
		}
		pca, err := FitPCAWhitened(z, 6, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		both := pca.After(m)
		if err := both.Validate(); err != nil {
			t.Fatal(err)
		}
		if both.Columns() != p.Pixels() || both.Dim() != 7 {
			t.Errorf("it takes %d columns and gives %d", both.Columns(), both.Dim())
		}
		if !mat.EqualApprox(both.Apply(x), pca.Apply(z), 1e-12) {
			t.Error("two maps after each other differ from one after the other's features")
		}
		wild := mat.DenseCopyOf(x)
		wild.Set(0, 0, math.NaN())
		wild.Set(1, 3, 1e300)
		wild.Set(2, 5, math.Inf(-1))
		for _, m := range []Map{m, both} {
			z := m.Apply(wild)
			for i := range 60 {
				if norm := mat.Norm(z.RowView(i), 2); !(norm <= 1) {
					t.Errorf("row %d has norm %g", i, norm)
				}
			}
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var back Map
			if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, m) {
				t.Errorf("%s changed on its way: %v", m.Kind, err)
			}
		}
	}
}

func TestPatchesErrors(t *testing.T) {
	p := Pictures{Height: 12, Width: 12, Channels: 1}
	x := drawnPictures(9, p)
	rng := rand.New(rand.NewPCG(1, 1))
	for want, fit := range map[string]func() (Map, error){
		"ask for 1 to":         func() (Map, error) { return FitPatches(x, p, 0, rng) },
		"too small":            func() (Map, error) { return FitPatches(x, Pictures{8, 18, 1}, 3, rng) },
		"rows have 144":        func() (Map, error) { return FitPatches(x, Pictures{13, 12, 1}, 3, rng) },
		"the pool has 1":       func() (Map, error) { return FitPatches(drawnPictures(1, p), p, 3, rng) },
		"pictures are all bla": func() (Map, error) { return FitPatches(mat.NewDense(5, 144, nil), p, 3, rng) },
	} {
		if _, err := fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	good, err := FitPatches(x, p, 3, rng)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(m *Map, p *Patches){
		"needs patches":     func(m *Map, _ *Patches) { m.Patches = nil },
		"a size is 0":       func(_ *Map, p *Patches) { p.Stride = 0 },
		"do not fill":       func(_ *Map, p *Patches) { p.Grid = 9 },
		"have 144 pixels":   func(m *Map, _ *Patches) { m.Inputs = 143 },
		"expected 36 each":  func(_ *Map, p *Patches) { p.Filters = p.Filters[1:] },
		"give 24":           func(m *Map, _ *Patches) { m.Outputs = 25 },
		"contrast is 0":     func(_ *Map, p *Patches) { p.Contrast = 0 },
		"patches hold NaN":  func(_ *Map, p *Patches) { p.Bias = []float32{1, 2, float32(math.NaN())} },
		"remove them":       func(m *Map, _ *Patches) { m.Mean = []float64{1} },
		"first map gives":   func(m *Map, _ *Patches) { m.First = &Map{Kind: IdentityMap, Inputs: 3, Scale: 1} },
		"kind pca has no":   func(m *Map, _ *Patches) { m.Kind = PCAMap },
		"at most two maps":  func(m *Map, _ *Patches) { m.First = &Map{First: &Map{First: &Map{}}} },
		"first map: inputs": func(m *Map, _ *Patches) { m.First = &Map{} },
	} {
		m, p := good, *good.Patches
		m.Patches = &p
		change(&m, &p)
		if want == "needs patches" {
			m.Patches = nil
		}
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func BenchmarkPatches(b *testing.B) {
	p := Pictures{Height: 32, Width: 32, Channels: 3}
	x := drawnPictures(100, p)
	m, err := FitPatches(x, p, 200, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.Features(x)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/100, "ms/picture")
}
