package shares

import (
	"fmt"
	"math/big"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// SecretShare is one server's share of a vector, or of a sum. Alone it is uniformly random.
type SecretShare struct{ elements fp128.Vec }

// NewSum returns the sum of no contributions.
func (vf VectorForm) NewSum() SecretShare { return SecretShare{make(fp128.Vec, vf.Cells)} }

// Add adds o to s mod p, in place. Shares of another length, or of none, give an error and leave s
// unchanged.
func (s SecretShare) Add(o SecretShare) error {
	if len(s.elements) != len(o.elements) || len(s.elements) == 0 {
		return fmt.Errorf("add shares: they have %d and %d cells", len(s.elements), len(o.elements))
	}
	s.elements.AddAssign(o.elements)
	return nil
}

// Subtract takes o from s mod p, in place: it undoes Add exactly. Shares of another length, or of
// none, give an error and leave s unchanged.
func (s SecretShare) Subtract(o SecretShare) error {
	if len(s.elements) != len(o.elements) || len(s.elements) == 0 {
		return fmt.Errorf("subtract shares: they have %d and %d cells", len(s.elements),
			len(o.elements))
	}
	s.elements.SubAssign(o.elements)
	return nil
}

// UnhiddenShare returns a vector as a share whose counterpart is zero. It hides nothing, and is for
// simulations.
func UnhiddenShare(vector []int64) SecretShare {
	s := SecretShare{make(fp128.Vec, len(vector))}
	for j, v := range vector {
		var x fp128.Fp
		if x.SetUint64(uint64(max(v, -v))); v < 0 {
			s.elements[j].SubAssign(&x)
		} else {
			s.elements[j] = x
		}
	}
	return s
}

// MarshalBinary writes 16 bytes a cell, lowest first.
func (s SecretShare) MarshalBinary() ([]byte, error) { return s.elements.MarshalBinary() }

// ParseShare reads exactly the output of MarshalBinary for a share of the form.
func (vf VectorForm) ParseShare(data []byte) (SecretShare, error) {
	s := vf.NewSum()
	if len(data) != vf.ShareSize() || s.elements.UnmarshalBinary(data) != nil {
		return SecretShare{}, fmt.Errorf("%w: a sum of shares is %d bytes of %d field elements", ErrPart, vf.ShareSize(), vf.Cells)
	}
	return s, nil
}

// Residues returns the cells as integers below the modulus (high and low half). A ledger adds noise
// to them. They are as secret as the share.
func (s SecretShare) Residues() ([][2]uint64, error) {
	b, err := s.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("read share: %w", err)
	}
	out := make([][2]uint64, len(s.elements))
	for j := range out {
		for k := range 8 {
			out[j][0] |= uint64(b[16*j+8+k]) << (8 * k)
			out[j][1] |= uint64(b[16*j+k]) << (8 * k)
		}
	}
	return out, nil
}

// largest is the largest magnitude of a decoded cell. Package privacy clamps to the same value.
const largest = int64(1) << 61

// Combine adds both servers' residues, reads each cell as the integer nearest to zero and clamps it
// to ±2⁶¹ (post-processing). If VectorForm.Check passed, the result is the exact sum of vectors and
// noises.
func Combine(coordinator, helper [][2]uint64) ([]int64, error) {
	if len(coordinator) != len(helper) {
		return nil, fmt.Errorf("combine shares: %d and %d cells", len(coordinator), len(helper))
	}
	out := make([]int64, len(coordinator))
	half := new(big.Int).Rsh(modulus, 1)
	bound := big.NewInt(largest)
	for j := range out {
		sum := new(big.Int)
		for _, r := range [][2]uint64{coordinator[j], helper[j]} {
			x := integer(r)
			if x.Cmp(modulus) >= 0 {
				return nil, fmt.Errorf("combine shares: cell %d is not below the modulus", j)
			}
			sum.Add(sum, x)
		}
		if sum.Mod(sum, modulus).Cmp(half) > 0 {
			sum.Sub(sum, modulus)
		}
		switch {
		case sum.CmpAbs(bound) <= 0:
			out[j] = sum.Int64()
		case sum.Sign() < 0:
			out[j] = -largest
		default:
			out[j] = largest
		}
	}
	return out, nil
}

func integer(r [2]uint64) *big.Int {
	x := new(big.Int).SetUint64(r[0])
	return x.Add(x.Lsh(x, 64), new(big.Int).SetUint64(r[1]))
}
