package privacy

import (
	"errors"
	"fmt"
)

// Published is a released answer with everything a reader needs to know about its noise and cost.
// Only this package builds one: a value made or changed elsewhere does not marshal.
type Published struct {
	ID         string
	Values     []int64   // the noisy vector, in [−2⁶¹, 2⁶¹]
	Reals      []float64 // only for literal vectors, which are always simulated
	Mechanism  string
	Parameters map[string]string // exact: rationals as "n/d"
	Bound      Bound             // with the public weights
	Cost       Cost
	Sequence   int64    // number of the ledger entry, from 1
	EntryHash  [32]byte // hash of the ledger entry, for audits
	Simulated  bool     // from a simulation ledger: proves nothing
	// Residues holds the noisy share if a share was released (NewSensitiveShare). One share alone
	// reveals nothing. Values and Reals are then nil.
	Residues []Residue

	sealed [32]byte // digest of all fields above, set by this package
}

// Len counts the coordinates, whichever of Values, Reals and Residues holds them.
func (p Published) Len() int { return max(len(p.Values), len(p.Reals), len(p.Residues)) }

// Variance returns the public variance of the noise on coordinate j. It panics if j is out of range
// or if no ledger built p.
func (p Published) Variance(j int) float64 {
	if j < 0 || j >= p.Len() {
		panic(fmt.Sprintf("privacy: variance of coordinate %d of %d", j, p.Len()))
	}
	m, err := MechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		panic("privacy: " + err.Error())
	}
	return m.variance(p.Bound, j, p.Len())
}

// check recomputes the claim of a decoded Published from its public fields.
func (p Published) check() error {
	m, err := MechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		return err
	}
	if p.Sequence < 1 {
		return fmt.Errorf("sequence number is %d, they start at 1", p.Sequence)
	}
	if p.Residues != nil {
		if err := p.checkShare(m); err != nil {
			return err
		}
	}
	if p.Reals == nil {
		if err := p.Bound.Validate(p.Len()); err != nil {
			return err
		}
	} else if !p.Simulated {
		return fmt.Errorf("a real vector is not simulated: %w", ErrSimulationOnly)
	}
	if m.simulationOnly() && !p.Simulated {
		return fmt.Errorf("mechanism %s is not simulated: %w", m.Name(), ErrSimulationOnly)
	}
	for _, v := range p.Values {
		if v != clamp(v, limit) {
			return fmt.Errorf("value %d is beyond 2^61", v)
		}
	}
	if err := fits(m, p.Len()); err != nil {
		return err
	}
	want, err := costUnder(m, p.Bound)
	if err != nil {
		return err
	}
	if !want.equal(p.Cost) {
		return errors.New("the cost is not what the mechanism proves under the bound")
	}
	return nil
}

func (p Published) checkShare(m Mechanism) error {
	if _, adds := m.(additive); !adds {
		return fmt.Errorf("a share is not released by %s: %w", p.Mechanism, ErrUnproven)
	}
	if p.Values != nil || p.Reals != nil {
		return errors.New("a share has no other numbers beside it")
	}
	modulus := fieldModulus()
	for _, x := range p.Residues {
		if integerOf(x).Cmp(modulus) >= 0 {
			return errors.New("a residue is not below the modulus")
		}
	}
	return nil
}
