package shares

import (
	"fmt"
	"math/big"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// Matrix is a public integer matrix A, Rows × Width, applied to each column of a vector of Rows ×
// Columns cells: cell (j,k) of the image, Width × Columns, is Σᵢ Aᵢⱼ·vᵢₖ.
//
// Each server computes the image of its own share. The images of both shares add up to the vector's
// image (mod p), because the map is linear. The other server's image reveals no more about the
// vector than its share.
type Matrix struct {
	Rows, Width, Columns int
	// returns Width numbers, which the caller must not change
	Row func(i int) []int64
}

// ApplyToShare returns the image of a share.
func (m Matrix) ApplyToShare(s SecretShare) (SecretShare, error) {
	if len(s.elements) != m.Rows*m.Columns || m.Width < 1 {
		return SecretShare{}, fmt.Errorf("multiply share: it has %d cells, the matrix takes %d", len(s.elements), m.Rows*m.Columns)
	}
	out := SecretShare{make(fp128.Vec, m.Width*m.Columns)}
	for i := range m.Rows {
		for j, a := range m.Row(i) {
			if a == 0 {
				continue
			}
			var size, product fp128.Fp
			if err := size.SetUint64(magnitude(a)); err != nil {
				return SecretShare{}, fmt.Errorf("multiply share: %w", err)
			}
			for k := range m.Columns {
				product.Mul(&size, &s.elements[i*m.Columns+k])
				if to := &out.elements[j*m.Columns+k]; a < 0 {
					to.SubAssign(&product)
				} else {
					to.AddAssign(&product)
				}
			}
		}
	}
	return out, nil
}

// Check refuses a matrix if the image of a sum of this form could wrap.
//
// Proof note: a cell of the image is at most Σᵢ|Aᵢⱼ|·M·2^b in magnitude; the rest as for
// Form.Check.
func (m Matrix) Check(f VectorForm, parties int64) error {
	if err := f.Check(parties); err != nil {
		return err
	}
	most := new(big.Int)
	columns := make([]big.Int, m.Width)
	for i := range m.Rows {
		for j, a := range m.Row(i) {
			c := &columns[j]
			if c.Add(c, new(big.Int).SetUint64(magnitude(a))); c.Cmp(most) > 0 {
				most.Set(c)
			}
		}
	}
	if wraps(most.Mul(most, new(big.Int).Lsh(big.NewInt(parties), uint(f.CellBits)))) {
		return fmt.Errorf("%w: %d parties of %d bits, times the matrix, make a sum wrap", ErrForm, parties, f.CellBits)
	}
	return nil
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
