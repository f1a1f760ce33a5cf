package bodies

import (
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FeatureUnit is the factor that turns features, whose magnitude is below 1, into two-byte integers.
const FeatureUnit = 1 << 15

func AppendFeatures(b []byte, x *mat.Dense) []byte {
	n, d := x.Dims()
	for i := range n {
		for _, v := range x.RawRowView(i)[:d] {
			v = math.Max(-FeatureUnit, math.Min(FeatureUnit-1, math.Round(v*FeatureUnit)))
			b = binary.BigEndian.AppendUint16(b, uint16(int16(v)))
		}
	}
	return b
}

func ParseFeatures(b []byte, n, dim int) *mat.Dense {
	x := mat.NewDense(n, dim, nil)
	data := x.RawMatrix().Data
	for at := range data {
		data[at] = float64(int16(binary.BigEndian.Uint16(b[2*at:]))) / FeatureUnit
	}
	return x
}
