package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// patches make features of pictures that say how strongly small filters respond
// in each part of a picture (Coates, Ng & Lee 2011, "An analysis of single-layer networks in
// unsupervised feature learning", with random patches of public pictures as filters, as in Coates &
// Ng 2011).
//
// Every Stride pixels a Side×Side patch v is cut out, all channels. With its own mean and variance,
//
//	u = (v − mean)/√(variance + Contrast),  r_f = ⟨filter_f, u⟩ + bias_f,
//
// and each filter gives max(0, r_f − Threshold) and max(0, −r_f − Threshold), averaged over the
// patches in each of Grid×Grid parts of the picture: 2·Filters·Grid² features, part after part.
type patches struct {
	pictures
	Side      int
	Stride    int
	Grid      int
	Contrast  float64
	Threshold float64
	// Filters holds Side²·Channels numbers per filter, with the patches' whitening; Bias holds one
	// per filter. Single precision, like a map's directions.
	Filters []float32
	Bias    []float32
}

// Settings of FitPatches: those of Coates & Ng 2011 for 32×32 pictures, with a coarser stride,
// which costs a point of accuracy and saves three quarters of the time.
const (
	patchSide      = 6
	patchStride    = 2
	patchGrid      = 2
	patchContrast  = 10. / (255 * 255) // their 10, for pixels in [0,1]
	patchThreshold = 0.25
	patchWhitening = 0.1 // added to the eigenvalues of the patches' covariance
	patchSample    = 20_000
)

// fitPatches draws filters from x, N×Pixels encoded pictures: patches drawn by rng, whitened by all
// drawn patches and scaled to norm 1.
func fitPatches(x *mat.Dense, p pictures, filters int, rng *rand.Rand) (spec patches, err error) {
	n, d := x.Dims()
	switch {
	case p.Height < 2*patchSide || p.Width < 2*patchSide || p.Channels < 1:
		return spec, fmt.Errorf("fit patches: pictures of %d×%d pixels are too small; they need %d×%d at least", p.Width, p.Height, 2*patchSide, 2*patchSide)
	case d != p.pixels():
		return spec, fmt.Errorf("fit patches: rows have %d columns, pictures of %d×%d×%d have %d", d, p.Width, p.Height, p.Channels, p.pixels())
	case n < 2:
		return spec, fmt.Errorf("fit patches: the pool has %d pictures; it needs at least 2", n)
	}
	spec = patches{pictures: p, Side: patchSide, Stride: patchStride, Grid: patchGrid,
		Contrast: patchContrast, Threshold: patchThreshold}
	size := spec.size()
	sample := mat.NewDense(max(patchSample, filters), size, nil)
	samples, _ := sample.Dims()
	for i := range samples {
		row := x.RawRowView(rng.IntN(n))
		spec.cut(sample.RawRowView(i), row, rng.IntN(p.Height-spec.Side+1),
			rng.IntN(p.Width-spec.Side+1))
	}
	mean := make([]float64, size)
	for i := range samples {
		for j, v := range sample.RawRowView(i) {
			mean[j] += v / float64(samples)
		}
	}
	var eigen mat.EigenSym
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, sample, nil)
	if !eigen.Factorize(&covariance, true) {
		return spec, errors.New("fit patches: the eigenvalues did not converge")
	}
	values := eigen.Values(nil)
	if !(values[size-1] > 1e-20) {
		return spec, errors.New("fit patches: the pool's pictures are all blank; use a pool that varies")
	}
	var vectors, white mat.Dense
	eigen.VectorsTo(&vectors)
	white.CloneFrom(&vectors)
	for j, v := range values {
		for i := range size {
			white.Set(i, j, vectors.At(i, j)/math.Sqrt(math.Max(v, 0)+patchWhitening))
		}
	}
	white.Mul(&white, vectors.T()) // symmetric

	filter, whole := mat.NewVecDense(size, nil), mat.NewVecDense(size, nil)
	for i := 0; i < filters; i++ {
		for j, v := range sample.RawRowView(i) {
			filter.SetVec(j, v-mean[j])
		}
		whole.MulVec(&white, filter)
		if norm := mat.Norm(whole, 2); norm > 1e-9 {
			whole.ScaleVec(1/norm, whole)
		}
		filter.MulVec(&white, whole)
		for _, v := range filter.RawVector().Data {
			spec.Filters = append(spec.Filters, float32(v))
		}
		spec.Bias = append(spec.Bias, float32(-mat.Dot(filter, mat.NewVecDense(size, mean))))
	}
	return spec, nil
}

// features returns N×outputs features of N×Pixels pictures.
func (p patches) features(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	z := mat.NewDense(n, 2*len(p.Bias)*p.Grid*p.Grid, nil)
	p.fill(z, x)
	return z
}

func (p patches) size() int { return p.Side * p.Side * p.Channels }

// cut writes the patch at (top, left) to v, normalised in brightness and contrast.
func (p patches) cut(v, row []float64, top, left int) {
	at, sum, squares := 0, 0.0, 0.0
	for c := range p.Channels {
		for y := range p.Side {
			start := (c*p.Height+top+y)*p.Width + left
			for _, pixel := range row[start : start+p.Side] {
				v[at] = pixel
				sum += pixel
				squares += pixel * pixel
				at++
			}
		}
	}
	mean := sum / float64(at)
	scale := 1 / math.Sqrt(math.Max(squares/float64(at)-mean*mean, 0)+p.Contrast)
	for j := range v {
		v[j] = (v[j] - mean) * scale
	}
}

func (p patches) fill(z, x *mat.Dense) {
	size, count := p.size(), len(p.Bias)
	filters := mat.NewDense(count, size, nil)
	for i, v := range p.Filters {
		filters.RawMatrix().Data[i] = float64(v)
	}
	down, across := (p.Height-p.Side)/p.Stride+1, (p.Width-p.Side)/p.Stride+1
	cuts := mat.NewDense(down*across, size, nil)
	response := mat.NewDense(down*across, count, nil)
	n, _ := x.Dims()
	in := make([]int, p.Grid*p.Grid) // patches in each part
	for i := range down * across {
		in[p.part(i/across, down)*p.Grid+p.part(i%across, across)]++
	}
	for i := range n {
		row := x.RawRowView(i)
		for j := range down * across {
			p.cut(cuts.RawRowView(j), row, j/across*p.Stride, j%across*p.Stride)
		}
		response.Mul(cuts, filters.T())
		out := z.RawRowView(i)
		clear(out)
		for j := range down * across {
			part := p.part(j/across, down)*p.Grid + p.part(j%across, across)
			share := 1 / float64(in[part])
			to := out[2*count*part : 2*count*(part+1)]
			for f, r := range response.RawRowView(j) {
				r += float64(p.Bias[f])
				if r > p.Threshold {
					to[f] += share * (r - p.Threshold)
				} else if -r > p.Threshold {
					to[count+f] += share * (-r - p.Threshold)
				}
			}
		}
	}
}

func (p patches) part(place, places int) int { return place * p.Grid / places }
