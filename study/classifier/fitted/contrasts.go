package fitted

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/dataset"
)

// Contrast is a difference between two records that are equal in all other columns: Column is
// larger by Increment of its units; or, on a log scale, 1 + Column is larger by the factor Factor;
// or Column is Level instead of ReferenceLevel.
type Contrast struct {
	Column         string  `json:"column"`
	Increment      float64 `json:"per,omitempty"`
	Factor         float64 `json:"times,omitempty"`
	Level          string  `json:"level,omitempty"`
	ReferenceLevel string  `json:"against,omitempty"`
}

// contrasted is a contrast in mapped features. change, of map.Dim() numbers, is the mean change of
// the pool rows' mapped features when the column changes. For any map (scaled, projected, clipped
// or non-linear), the mean change of a linear classifier's log-odds is the inner product of change
// and the weights. If the map is linear over the pool, the change is the same for all records.
type contrasted struct {
	Contrast
	change []float64
	// kept is the share of the contrast that the map keeps, 1 if the map loses nothing: the
	// contrast's variance in a regression on mapped rows m, change'Cov(m)⁺change, divided by its
	// variance in a regression on encoded rows x, e'Cov(x)⁺e, where e is the change of the encoded
	// columns. A map may keep two correlated columns almost wholly and still drop the small
	// difference between them. Then the contrast of one column with the other held fixed is lost.
	kept float64
	// rows is the number of pool rows that have the level. For a numeric column it is the number of
	// rows that differ from the most frequent number.
	rows int
}

const (
	contrastRows    = 500 // most pool rows to average over, evenly spaced
	contrastColumns = 300 // with more encoded columns (images) there are no contrasts
	// change up and down that measures a number's slope, as a share of its range
	contrastStep = 0.005
)

const (
	missing  = "missing"
	PoolMean = "its mean in the pool" // mean of the pool rows where the number is present
)

// contrastsOf lists the contrasts of a schema's columns. It compares each level with the pool's
// most frequent level. Contrasts follow from map and pool, so they are public.
func contrastsOf(s dataset.Schema, m dataset.Map, pool *auxdata.Pool) []contrasted {
	if n, d := pool.Encoded.Dims(); n == 0 || d > contrastColumns {
		return nil
	}
	keeps := keeping{fitting.InverseCovariance(pool.X, pool.Weight),
		fitting.InverseCovariance(pool.Encoded, pool.Weight)}
	base, weight := sampleOf(pool)
	mean := func(change func(row []float64)) []float64 {
		x := mat.DenseCopyOf(base)
		n, _ := x.Dims()
		for i := range n {
			change(x.RawRowView(i))
		}
		return meanRow(m.Apply(x), weight)
	}
	difference := func(a, b []float64, scale float64) []float64 {
		out := make([]float64, len(a))
		for j := range a {
			out[j] = (a[j] - b[j]) * scale
		}
		return out
	}
	var all []contrasted
	for _, code := range s.ColumnCodes() {
		f, at := code.Feature, code.FirstColumn
		if f.Kind == dataset.Numeric {
			up := mean(func(row []float64) { row[at] += contrastStep })
			down := mean(func(row []float64) { row[at] -= contrastStep })
			c := contrasted{Contrast: Contrast{Column: code.Column},
				rows: differing(pool.Encoded, at)}
			of := 0.0
			c.Increment, c.Factor, of = unitOf(f)
			c.change = difference(up, down, of/(2*contrastStep))
			c.kept = keeps.share(c.change, map[int]float64{at: of})
			all = append(all, c)
			if f.FlagMissing {
				known := knownMean(base, weight, at)
				there := mean(func(row []float64) { row[at], row[at+1] = known, 0 })
				gone := mean(func(row []float64) { row[at], row[at+1] = 0.5, 1 })
				c := contrasted{
					Contrast: Contrast{Column: code.Column, Level: missing, ReferenceLevel: PoolMean},
					change:   difference(gone, there, 1), rows: having(pool.Encoded, at+1),
				}
				c.kept = keeps.share(c.change, map[int]float64{at: 0.5 - known, at + 1: 1})
				all = append(all, c)
			}
			continue
		}
		names := f.Levels
		if code.Width > len(names) {
			names = append(names[:len(names):len(names)], "other")
		}
		set := func(k int) []float64 {
			return mean(func(row []float64) {
				clear(row[at : at+code.Width])
				row[at+k] = 1
			})
		}
		reference := 0
		for k := range names {
			if having(pool.Encoded, at+k) > having(pool.Encoded, at+reference) {
				reference = k
			}
		}
		against := set(reference)
		for k, level := range names {
			if k == reference {
				continue
			}
			c := contrasted{
				Contrast: Contrast{Column: code.Column, Level: level, ReferenceLevel: names[reference]},
				change:   difference(set(k), against, 1), rows: having(pool.Encoded, at+k),
			}
			c.kept = keeps.share(c.change, map[int]float64{at + k: 1, at + reference: -1})
			all = append(all, c)
		}
	}
	return all
}

// unitOf chooses the unit of a numeric contrast: the power of ten nearest to an eighth of the range
// (10 years for age), or a factor of 2 on a log scale. encoded is the same step in the encoded
// column.
func unitOf(f dataset.Feature) (per, times, encoded float64) {
	if f.Log {
		return 0, 2, math.Ln2 / (math.Log1p(f.Max) - math.Log1p(f.Min))
	}
	width := f.Max - f.Min
	per = math.Pow(10, math.Round(math.Log10(width/8)))
	return per, 0, per / width
}

// keeping computes contrasted.kept.
type keeping struct{ mapped, columns *mat.Dense } // pseudo-inverses of covariances

// share returns contrasted.kept for a contrast that changes mapped rows by mapped, and the encoded
// column c by encoded[c].
func (k keeping) share(mapped []float64, encoded map[int]float64) float64 {
	v := mat.NewVecDense(len(mapped), mapped)
	whole := 0.0
	for i, a := range encoded {
		for j, b := range encoded {
			whole += a * b * k.columns.At(i, j)
		}
	}
	if !(whole > 0) {
		return 0
	}
	return mat.Inner(v, k.mapped, v) / whole
}

func sampleOf(pool *auxdata.Pool) (*mat.Dense, []float64) {
	n, d := pool.Encoded.Dims()
	rows := min(n, contrastRows)
	x, weight := mat.NewDense(rows, d, nil), make([]float64, rows)
	for i := range rows {
		from := i * n / rows
		x.SetRow(i, pool.Encoded.RawRowView(from))
		weight[i] = 1
		if pool.Weight != nil {
			weight[i] = pool.Weight[from]
		}
	}
	return x, weight
}

func meanRow(x *mat.Dense, weight []float64) []float64 {
	n, d := x.Dims()
	out, total := make([]float64, d), 0.0
	for i := range n {
		total += weight[i]
	}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			out[j] += weight[i] / total * v
		}
	}
	return out
}

// knownMean returns the mean of an encoded number over the rows where it is present.
func knownMean(x *mat.Dense, weight []float64, at int) float64 {
	n, _ := x.Dims()
	sum, total := 0.0, 0.0
	for i := range n {
		if x.At(i, at+1) == 0 {
			sum += weight[i] * x.At(i, at)
			total += weight[i]
		}
	}
	if total == 0 {
		return 0.5
	}
	return sum / total
}

func having(x *mat.Dense, column int) (rows int) {
	n, _ := x.Dims()
	for i := range n {
		if x.At(i, column) == 1 {
			rows++
		}
	}
	return rows
}

// differing counts the rows whose number differs from the most frequent number.
func differing(x *mat.Dense, column int) int {
	n, _ := x.Dims()
	counts, most := map[float64]int{}, 0
	for i := range n {
		v := x.At(i, column)
		counts[v]++
		most = max(most, counts[v])
	}
	return n - most
}
