package privacy

import (
	"errors"
	"fmt"
	"math/big"
)

// fieldModulus is p = 2¹²⁸ − 28·2⁶⁴ + 1, that of the field of shares (Field128 of
// draft-irtf-cfrg-vdaf).
func fieldModulus() *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), 128)
	return p.Sub(p, new(big.Int).Lsh(big.NewInt(28), 64)).Add(p, big.NewInt(1))
}

// NewShare wraps one of two shares of an integer vector: residues s, with v = s + s′
// mod p, where v is the vector and b the bound proven for v over the integers. Release
// adds a mechanism's noise Y to s, mod p. Residues are copied, and reduced mod p.
//
// Proof note.
//   - Neighbours: those of b, for v. Public: p and what the mechanism says is public.
//   - Lemma: s + Y = (v + Y) − s′ mod p. So for any s′ that does not depend on the unit, the
//     release is a function of v + Y, which is the mechanism's release of v, and of s′: it is
//     post-processing, and costs what the mechanism costs under b. That holds against the
//     holder of s′, whatever noise it adds to its own share and whatever it publishes, together
//     with all readers: its noise counts for nothing. The same is true with the two exchanged,
//     so if either server is honest, its noise alone carries the guarantee; with both, the
//     variance is twice that of one.
//   - s′ does not depend on the unit: of an honest party it is uniform and independent of the
//     party's vector, whichever of the two it is (aggregation/shares), and the shares of other
//     parties are theirs to choose.
//   - Once: two releases of shares of v, of one set of parties or of two that overlap, are two
//     releases of v. The id is that of plan and output, and the digest of the set is one of
//     the terms (Sensitive.From): a second set is ErrConflict, without a draw.
//   - Numeric model: integers only. Noise is added as it was drawn, of any size, mod p; nothing
//     is cut off, so the identity above is exact.
//   - The caller guarantees b for v, that s and s′ add up to v, and that who holds s′ never
//     holds s.
func NewShare(residues []Residue, b Bound) (Sensitive, error) {
	if len(residues) == 0 {
		return Sensitive{}, errors.New("wrap share: it has no coordinates")
	}
	if err := b.Validate(len(residues)); err != nil {
		return Sensitive{}, fmt.Errorf("wrap share: %w", err)
	}
	s := &secret{residues: make([]Residue, len(residues)), modulus: fieldModulus(), bound: b.clone()}
	for j, x := range residues {
		s.residues[j] = reduced(integerOf(x), s.modulus)
	}
	return wrap(s), nil
}

// integerOf is the integer of a residue.
func integerOf(x Residue) *big.Int { return natural{x[0], x[1]}.into(new(big.Int)) }

// reduced is x mod p, and sets x to it.
func reduced(x, p *big.Int) Residue {
	x.Mod(x, p)
	return Residue{new(big.Int).Rsh(x, 64).Uint64(), low64(x)}
}

// drawShare adds a mechanism's noise to a share.
func drawShare(m Mechanism, s *secret, d dice) []Residue {
	out := make([]Residue, len(s.residues))
	m.(additive).noises(s.bound, len(out), d, func(j int, y noise) { out[j] = addToResidue(s.residues[j], y, s.modulus) })
	return out
}

// addToResidue is x + y mod p, exactly.
func addToResidue(x Residue, y noise, p *big.Int) Residue {
	size := y.size.into(new(big.Int))
	if y.negative {
		size.Neg(size)
	}
	return reduced(size.Add(size, integerOf(x)), p)
}
