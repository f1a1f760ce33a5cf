package privacy

import (
	"errors"
	"fmt"
	"math/big"
)

// fieldModulus is p = 2¹²⁸ − 28·2⁶⁴ + 1, the shares' field (Field128 of draft-irtf-cfrg-vdaf).
func fieldModulus() *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), 128)
	return p.Sub(p, new(big.Int).Lsh(big.NewInt(28), 64)).Add(p, big.NewInt(1))
}

// NewSensitiveShare wraps one of two additive shares of an integer vector v: residues s with v = s
// + s′ mod p. b is the bound proven for v over the integers. Release adds a mechanism's noise Y to
// s, mod p. Residues are copied, and reduced mod p.
//
// Proof note.
//   - Neighbours: those of b, for v. Public: p, and whatever the mechanism calls public.
//   - Lemma: s + Y = (v + Y) − s′ mod p. If s′ does not depend on the unit, the release is a
//     function of s′ and of v + Y, the mechanism's release of v. So it is post-processing and costs
//     what the mechanism costs under b. This holds against the holder of s′ together with all
//     readers, whatever noise that holder adds to its own share and whatever it publishes: its
//     noise counts for nothing. The same holds with the two exchanged. So if either server is
//     honest, its noise alone carries the guarantee; if both are, the variance is twice that of
//     one.
//   - s′ does not depend on the unit: either share of an honest party is uniform and independent of
//     the party's vector (aggregation/shares). Other parties choose their own shares.
//   - Once: releasing shares of v twice, for the same set of parties or for overlapping sets, would
//     release v twice. A charge's id names plan and output, and the charge holds the set's digest
//     (Sensitive.WithSource): with another set Release returns ErrConflict and draws nothing.
//   - Numeric model: integers only. The noise is added mod p exactly as drawn, however large;
//     nothing is clamped, so the identity above is exact.
//   - The caller guarantees b for v, that s and s′ add up to v, and that the holder of s′ never
//     holds s.
func NewSensitiveShare(residues []Residue, b Bound) (Sensitive, error) {
	if len(residues) == 0 {
		return Sensitive{}, errors.New("wrap share: it has no coordinates")
	}
	if err := b.Validate(len(residues)); err != nil {
		return Sensitive{}, fmt.Errorf("wrap share: %w", err)
	}
	s := &secret{residues: make([]Residue, len(residues)), modulus: fieldModulus(),
		bound: b.clone()}
	for j, x := range residues {
		s.residues[j] = reduced(integerOf(x), s.modulus)
	}
	return wrap(s), nil
}

func integerOf(x Residue) *big.Int { return natural{x[0], x[1]}.into(new(big.Int)) }

// reduced is x mod p. It overwrites x.
func reduced(x, p *big.Int) Residue {
	x.Mod(x, p)
	return Residue{new(big.Int).Rsh(x, 64).Uint64(), low64(x)}
}

func drawShare(m Mechanism, s *secret, d dice) []Residue {
	out := make([]Residue, len(s.residues))
	m.(additive).noises(s.bound, len(out), d, func(j int, y noise) {
		out[j] = addToResidue(s.residues[j], y, s.modulus)
	})
	return out
}

func addToResidue(x Residue, y noise, p *big.Int) Residue {
	size := y.size.into(new(big.Int))
	if y.negative {
		size.Neg(size)
	}
	return reduced(size.Add(size, integerOf(x)), p)
}
