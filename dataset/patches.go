package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Pictures describes a row of encoded pixels as a picture: channel after channel, each row by row, as
// from ReadIDX and ReadJPEGs.
type Pictures struct {
	Height   int `json:"height" yaml:"height"`
	Width    int `json:"width" yaml:"width"`
	Channels int `json:"channels" yaml:"channels"`
}

// Pixels returns the number of encoded columns of a picture.
func (p Pictures) Pixels() int { return p.Height * p.Width * p.Channels }

// Patches holds the parameters of a patches map, whose features say how strongly small filters respond
// in each part of a picture (Coates, Ng & Lee 2011, "An analysis of single-layer networks in
// unsupervised feature learning", with random patches of public pictures as filters, as in Coates & Ng
// 2011).
//
// Every Stride pixels a Side×Side patch v is cut out, all channels. With its own mean and variance,
//
//	u = (v − mean)/√(variance + Contrast),  r_f = ⟨filter_f, u⟩ + bias_f,
//
// and each filter gives max(0, r_f − Threshold) and max(0, −r_f − Threshold), averaged over the patches
// in each of Grid×Grid parts of the picture: 2·Filters·Grid² features, part after part.
type Patches struct {
	Pictures
	Side      int     `json:"side"`
	Stride    int     `json:"stride"`
	Grid      int     `json:"grid"`
	Contrast  float64 `json:"contrast"`
	Threshold float64 `json:"threshold"`
	// Filters holds Side²·Channels numbers per filter, with the patches' whitening; Bias holds one
	// per filter. Single precision, like a map's directions.
	Filters []float32 `json:"filters"`
	Bias    []float32 `json:"bias"`
}

// Settings of FitPatches, from Coates & Ng 2011 for 32×32 pictures, with a coarser stride, which costs a
// point of accuracy and saves three quarters of the time.
const (
	patchSide      = 6
	patchStride    = 2
	patchGrid      = 2
	patchContrast  = 10. / (255 * 255) // their 10, for pixels in [0,1]
	patchThreshold = 0.25
	patchWhitening = 0.1 // added to the eigenvalues of the patches' covariance
	patchSample    = 20_000
)

// PatchesMap is the kind of a map of pictures.
const PatchesMap MapKind = "patches"

// FitPatches makes a patches map with a number of filters from x, N×Pixels encoded rows of the
// PUBLIC pool, never of private records. Filters are patches of the pool drawn by rng, whitened by
// the pool's patches and scaled to norm 1, so equal pools and seeds give equal maps.
func FitPatches(x *mat.Dense, p Pictures, filters int, rng *rand.Rand) (Map, error) {
	n, d := x.Dims()
	switch {
	case filters < 1 || filters > maxColumns/(2*patchGrid*patchGrid):
		return Map{}, fmt.Errorf("fit patches: %d filters asked for; ask for 1 to %d", filters, maxColumns/(2*patchGrid*patchGrid))
	case p.Height < 2*patchSide || p.Width < 2*patchSide || p.Channels < 1:
		return Map{}, fmt.Errorf("fit patches: pictures of %d×%d pixels are too small; they need %d×%d at least", p.Width, p.Height, 2*patchSide, 2*patchSide)
	case d != p.Pixels():
		return Map{}, fmt.Errorf("fit patches: rows have %d columns, pictures of %d×%d×%d have %d", d, p.Width, p.Height, p.Channels, p.Pixels())
	case n < 2:
		return Map{}, fmt.Errorf("fit patches: the pool has %d pictures; it needs at least 2", n)
	}
	spec := Patches{Pictures: p, Side: patchSide, Stride: patchStride, Grid: patchGrid, Contrast: patchContrast, Threshold: patchThreshold}
	size := spec.size()
	sample := mat.NewDense(max(patchSample, filters), size, nil)
	samples, _ := sample.Dims()
	for i := range samples {
		row := finiteRow(x.RawRowView(rng.IntN(n)))
		spec.cut(sample.RawRowView(i), row, rng.IntN(p.Height-spec.Side+1), rng.IntN(p.Width-spec.Side+1))
	}
	mean := make([]float64, size)
	for i := range samples {
		for j, v := range sample.RawRowView(i) {
			mean[j] += v / float64(samples)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance(sample, mean), true) {
		return Map{}, errors.New("fit patches: the eigenvalues did not converge")
	}
	values := eigen.Values(nil)
	if !(values[size-1] > 1e-20) {
		return Map{}, errors.New("fit patches: the pool's pictures are all blank; use a pool that varies")
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
	m := Map{Kind: PatchesMap, Inputs: d, Outputs: spec.outputs(), Scale: 1, Patches: &spec}
	z := mat.NewDense(min(n, 1000), m.Outputs, nil)
	rows, _ := z.Dims()
	spec.fill(z, x.Slice(0, rows, 0, d).(*mat.Dense))
	m.Scale = quantileNorm(z)
	return m, nil
}

func (p Patches) size() int { return p.Side * p.Side * p.Channels }

func (p Patches) outputs() int { return 2 * len(p.Bias) * p.Grid * p.Grid }

// cut writes the patch at (top, left) to v, normalised in brightness and contrast.
func (p Patches) cut(v, row []float64, top, left int) {
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

func (p Patches) fill(z, x *mat.Dense) {
	size, count := p.size(), len(p.Bias)
	filters := mat.NewDense(count, size, nil)
	for i, v := range p.Filters {
		filters.RawMatrix().Data[i] = float64(v)
	}
	down, across := (p.Height-p.Side)/p.Stride+1, (p.Width-p.Side)/p.Stride+1
	patches := mat.NewDense(down*across, size, nil)
	response := mat.NewDense(down*across, count, nil)
	n, _ := x.Dims()
	in := make([]int, p.Grid*p.Grid) // patches in each part
	for i := range down * across {
		in[p.part(i/across, down)*p.Grid+p.part(i%across, across)]++
	}
	for i := range n {
		row := x.RawRowView(i)
		for j := range down * across {
			p.cut(patches.RawRowView(j), row, j/across*p.Stride, j%across*p.Stride)
		}
		response.Mul(patches, filters.T())
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

func (p Patches) part(place, places int) int { return place * p.Grid / places }

func (p *Patches) validate(m Map) error {
	if p == nil {
		return errors.New("map: a patches map needs patches")
	}
	for _, v := range []int{p.Height, p.Width, p.Channels, p.Side, p.Stride, p.Grid} {
		if v < 1 || v > 1<<10 {
			return fmt.Errorf("map: patches: a size is %d; expected 1 to 1024", v)
		}
	}
	places := func(length int) int { return (length-p.Side)/p.Stride + 1 }
	switch count := len(p.Bias); {
	case p.Side > p.Height || p.Side > p.Width || p.Grid > places(p.Height) || p.Grid > places(p.Width):
		return fmt.Errorf("map: patches of side %d every %d pixels do not fill %d×%d parts of pictures of %d×%d", p.Side, p.Stride, p.Grid, p.Grid, p.Width, p.Height)
	case m.Inputs != p.Pixels():
		return fmt.Errorf("map: inputs is %d; pictures of %d×%d×%d have %d pixels", m.Inputs, p.Width, p.Height, p.Channels, p.Pixels())
	case count < 1 || len(p.Filters) != count*p.size():
		return fmt.Errorf("map: patches: %d filters have %d numbers; expected %d each", count, len(p.Filters), p.size())
	case m.Outputs != p.outputs():
		return fmt.Errorf("map: outputs is %d; %d filters on %d parts give %d", m.Outputs, count, p.Grid*p.Grid, p.outputs())
	case !(p.Contrast > 0 && p.Contrast < 1e6) || !(p.Threshold >= 0 && p.Threshold < 1e6):
		return fmt.Errorf("map: patches: contrast is %g and threshold %g; expected small positive numbers", p.Contrast, p.Threshold)
	}
	for _, all := range [][]float32{p.Filters, p.Bias} {
		for _, v := range all {
			if !(math.Abs(float64(v)) < 1e20) {
				return fmt.Errorf("map: patches hold %g; expected finite numbers", v)
			}
		}
	}
	return nil
}

func finiteRow(row []float64) []float64 {
	return finite(mat.NewDense(1, len(row), row)).RawRowView(0)
}
