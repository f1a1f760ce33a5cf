package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// drawnPictures are noise around a gradient.
func drawnPictures(n int, p pictures) *mat.Dense {
	rng := rand.New(rand.NewPCG(4, 4))
	x := mat.NewDense(n, p.pixels(), nil)
	for i := range n {
		for j := range p.pixels() {
			x.Set(i, j, math.Min(1,
				float64((j+7*i)%p.Width)/float64(p.Width)*0.5+0.5*rng.Float64()))
		}
	}
	return x
}

// dumbPatches follows the documentation of patches for one picture.
func dumbPatches(p patches, row []float64) []float64 {
	count := len(p.Bias)
	out := make([]float64, 2*count*p.Grid*p.Grid)
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
	for _, p := range []pictures{{Height: 14, Width: 17, Channels: 3},
		{Height: 28, Width: 28, Channels: 1}} {
		x := drawnPictures(60, p)
		made, err := fitPatches(x, p, 5, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		z := made.features(x)
		for i := range 3 {
			for j, want := range dumbPatches(made, x.RawRowView(i)) {
				if got := z.At(i, j); math.Abs(got-want) > 1e-9 {
					t.Fatalf("feature %d of picture %d is %g, want %g", j, i, got, want)
				}
			}
		}
	}
	p := pictures{Height: 12, Width: 12, Channels: 1}
	if _, err := fitPatches(mat.NewDense(5, 144, nil), p, 3,
		rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "all blank") {
		t.Errorf("blank pictures: error %v", err)
	}
}
