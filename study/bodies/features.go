package bodies

import (
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FeatureScale is the factor that turns features, whose magnitude is below 1, into two-byte
// integers.
const FeatureScale = 1 << 15

// AppendFeatures appends mapped rows x, in [−1,1), as two big-endian bytes for each number: rounded
// to 2⁻¹⁵ and clamped, so that the length is 2·n·dim.
func AppendFeatures(b []byte, x *mat.Dense) []byte {
	n, d := x.Dims()
	for i := range n {
		for _, v := range x.RawRowView(i)[:d] {
			v = math.Max(-FeatureScale, math.Min(FeatureScale-1, math.Round(v*FeatureScale)))
			b = binary.BigEndian.AppendUint16(b, uint16(int16(v)))
		}
	}
	return b
}

// ParseFeatures reads n rows of dim numbers. Every content is valid; b must have at least 2·n·dim
// bytes.
func ParseFeatures(b []byte, n, dim int) *mat.Dense {
	x := mat.NewDense(n, dim, nil)
	data := x.RawMatrix().Data
	for at := range data {
		data[at] = float64(int16(binary.BigEndian.Uint16(b[2*at:]))) / FeatureScale
	}
	return x
}
