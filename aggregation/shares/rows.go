package shares

import (
	"crypto/sha3"
	"fmt"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// The check of rows, in addition to circl's proof: each row of Row cells sums to Total.
//
// Let dᵢ = Σⱼ xᵢⱼ − Total be the error of row i, in the field. Each server computes from its own
// share
//
//	c = Σᵢ rᵢ·(Σⱼ xᵢⱼ − Total, only the coordinator subtracts),
//
// so the two results add up to Σᵢ rᵢdᵢ, which must be 0. The rᵢ are independent, uniform, from the
// key.
//
// Soundness. The party does not know the key, so when its shares are fixed the rᵢ are uniform and
// independent of them. If some dᵢ ≠ 0, then for every choice of the other r exactly one rᵢ gives 0:
// the vector passes with probability 1/p < 2⁻¹²⁷. A party only learns whether it was refused, once
// per key and party. (The draft's joint randomness would not be enough: the party knows it, and
// could solve for d.) Each cell is proved to be in 0..2^Bits−1 and Row·2^Bits < p, so a row that
// sums to Total in the field does so over the integers. For one ballot the cells are bits, so
// exactly one cell of a row is 1. This implies the bound on the weight of all rows that
// Prio3MultihotCountVec proves, so that bound needs no further proof.
//
// Secrecy. For an honest party Σᵢ rᵢdᵢ = 0 for every r. So the other server's c is minus the c that
// this server computes from its own share, under this key or any other, and tells it nothing.

func (vf VectorForm) rowCheck(r Role, key Key, c ProofContext, nonce []byte,
	share fp128.Vec) (fp128.Fp,
	error) {
	// circl draws from the key with TurboSHAKE128. cSHAKE128 under a name of our own draws
	// independently of it.
	xof := sha3.NewCSHAKE128(nil, []byte("caucus row check 1"))
	// their lengths are fixed, so none needs a separator
	for _, b := range [][]byte{key[:], c[:], nonce} {
		xof.Write(b)
	}
	var check, total fp128.Fp
	if err := total.SetUint64(uint64(vf.RowTotal)); err != nil {
		return check, err
	}
	for at := 0; at < len(share); at += vf.RowCells {
		var off, random fp128.Fp
		if err := random.Random(xof); err != nil { // after ten rejections, of probability 2⁻⁵⁹ each
			return check, fmt.Errorf("draw row check: %w", err)
		}
		for j := at; j < at+vf.RowCells; j++ {
			off.AddAssign(&share[j])
		}
		if r == Coordinator {
			off.SubAssign(&total)
		}
		off.MulAssign(&random)
		check.AddAssign(&off)
	}
	return check, nil
}
