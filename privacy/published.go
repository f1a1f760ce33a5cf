package privacy

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// Published is a released answer with all a reader needs to know its noise
// and its cost. Only this room builds one: a value made or changed elsewhere
// does not marshal.
type Published struct {
	ID         string
	Values     []int64           // the noisy vector, in [−2⁶¹, 2⁶¹]
	Reals      []float64         // literal vectors only, hence simulated only
	Mechanism  string            // its Name
	Parameters map[string]string // exact: rationals as "n/d"
	Bound      Bound             // with the public weights
	Cost       Cost
	Sequence   int64    // number of the ledger entry, from 1
	Entry      [32]byte // hash of the ledger entry, for audits
	Simulated  bool     // from a simulation ledger: proves nothing

	sealed [32]byte // digest of all above, set by this room
}

// Len is the number of coordinates.
func (p Published) Len() int { return max(len(p.Values), len(p.Reals)) }

// Variance is the variance of the noise on coordinate j; it is public. It
// panics if j is out of range or if p was not built by a ledger.
func (p Published) Variance(j int) float64 {
	if j < 0 || j >= p.Len() {
		panic(fmt.Sprintf("privacy: variance of coordinate %d of %d", j, p.Len()))
	}
	m, err := mechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		panic("privacy: " + err.Error())
	}
	return m.variance(p.Bound, j, p.Len())
}

// Genuine reports whether a ledger or ParsePublished built p and nothing was
// changed since.
func (p Published) Genuine() bool {
	return p.sealed != [32]byte{} && p.sealed == p.digest()
}

func (p Published) digest() [32]byte {
	b := encodePublished(p)
	b = append(b, p.Entry[:]...)
	return sha256.Sum256(b)
}

// MarshalBinary writes a version byte, the entry's hash and the canonical
// bytes of p, about two bytes a value. It refuses simulated answers, and any
// that was not built by this room or was changed since.
func (p Published) MarshalBinary() ([]byte, error) {
	if p.Simulated {
		return nil, fmt.Errorf("marshal published %q: it is simulated: %w", p.ID, ErrSimulationOnly)
	}
	if !p.Genuine() {
		return nil, fmt.Errorf("marshal published %q: it is not what a ledger released; copy the values to change them", p.ID)
	}
	b := append([]byte{publishedVersion}, p.Entry[:]...)
	return append(b, encodePublished(p)...), nil
}

const publishedVersion = 1

// ParsePublished reads what MarshalBinary wrote. It refuses simulated answers,
// other versions, trailing bytes, bounds that do not validate, and any answer
// whose cost is not what its mechanism proves under its bound. It does not
// tell who wrote the bytes: that is for a signature.
func ParsePublished(data []byte) (Published, error) {
	if len(data) < 33 || data[0] != publishedVersion {
		return Published{}, errors.New("parse published: not a release of version 1")
	}
	p, err := decodePublished(data[33:])
	if err != nil {
		return Published{}, fmt.Errorf("parse published: %w", err)
	}
	if p.Simulated {
		return Published{}, fmt.Errorf("parse published %q: it is simulated: %w", p.ID, ErrSimulationOnly)
	}
	p.Entry = [32]byte(data[1:33])
	p.sealed = p.digest()
	return p, nil
}

// check recomputes the claim of a decoded Published from its public fields.
func (p Published) check() error {
	m, err := mechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		return err
	}
	if p.Sequence < 1 {
		return fmt.Errorf("sequence number is %d, they start at 1", p.Sequence)
	}
	if p.Reals == nil {
		if err := p.Bound.Validate(len(p.Values)); err != nil {
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
	want, err := m.cost(p.Bound)
	if err != nil {
		return err
	}
	if !want.equal(p.Cost) {
		return errors.New("the cost is not what the mechanism proves under the bound")
	}
	return nil
}
