package privacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Cost is the price of one release for its Unit, in exact rationals: δ-approximate ρ-zCDP, and also
// pure ε where Pure is given.
type Cost struct {
	Unit     Unit  `json:"unit"`
	PerParty int64 `json:"per_party"` // most units that a party holds; 0: unknown
	// PerPatient is the most records of a patient that count, for unit record; 0: unknown
	PerPatient int64 `json:"per_patient,omitempty"`

	Pure  *big.Rat `json:"pure"`  // ε; nil unless the release is pure ε
	Rho   *big.Rat `json:"rho"`   // ρ; at most ε²/2 if pure
	Delta *big.Rat `json:"delta"` // δ; nil or 0 for all mechanisms except Dirichlet
}

// PureCost returns the cost of a pure ε release, which is also ε²/2-zCDP (Bun & Steinke 2016,
// Proposition 1.4).
func PureCost(u Unit, perParty int64, epsilon *big.Rat) Cost {
	rho := new(big.Rat).Mul(epsilon, epsilon)
	return Cost{Unit: u, PerParty: perParty, Pure: new(big.Rat).Set(epsilon),
		Rho: rho.Quo(rho, big.NewRat(2, 1))}
}

// ConcentratedCost returns the cost of a ρ-zCDP release that is not pure ε. It copies rho. perParty
// is the most units that a party holds, 0 if unknown.
func ConcentratedCost(u Unit, perParty int64, rho *big.Rat) Cost {
	return Cost{Unit: u, PerParty: perParty, Rho: new(big.Rat).Set(rho)}
}

// Validate refuses an unknown unit, a missing or negative ρ, δ outside [0,1), a pure cost with δ or
// with ρ above ε²/2, and rationals too long to add up quickly.
func (c Cost) Validate() error {
	switch {
	case !c.Unit.Valid():
		return fmt.Errorf("check cost: unit is %v, use label, record, patient or party", c.Unit)
	case c.PerParty < 0:
		return fmt.Errorf("check cost: per-party is %d, give 0 (unknown) or the most units a party holds", c.PerParty)
	case c.PerPatient < 0 || c.PerPatient > 0 && c.Unit != Record:
		return fmt.Errorf("check cost: per-patient is %d at unit %v, give 0 (unknown) or, at unit record, the most records of a patient that count", c.PerPatient, c.Unit)
	case c.Rho == nil || c.Rho.Sign() < 0:
		return errors.New("check cost: rho must be given and not negative; a pure cost has at most ε²/2")
	case c.Delta != nil && (c.Delta.Sign() < 0 || c.Delta.Cmp(power(0)) >= 0):
		return errors.New("check cost: delta must be from 0 to below 1")
	}
	if c.Pure != nil {
		if c.Pure.Sign() < 0 || c.delta().Sign() != 0 {
			return errors.New("check cost: a pure cost has epsilon ≥ 0 and no delta")
		}
		if most := PureCost(c.Unit, 0, c.Pure).Rho; c.Rho.Cmp(most) > 0 ||
			c.Rho.Sign() != c.Pure.Sign() {
			return fmt.Errorf("check cost: a pure cost of epsilon %s has rho above 0 and at most %s, not %s", c.Pure.RatString(), most.RatString(), c.Rho.RatString())
		}
	}
	for _, x := range []*big.Rat{c.Pure, c.Rho, c.Delta} {
		if x != nil && (x.Num().BitLen() > maxCostBits || x.Denom().BitLen() > maxCostBits) {
			return fmt.Errorf("check cost: a numerator or denominator is longer than %d bits, round the cost up", maxCostBits)
		}
	}
	return nil
}

// maxCostBits limits the length of numbers in a cost from outside. Costs made here have at most
// 2·(62+63)+1 bits.
const maxCostBits = 512

// At returns the cost at another unit; false if nothing is proved there.
//
//   - At its own unit and finer ones a cost counts in full: replacing a finer unit is one way to
//     replace the coarser unit that holds it. For a charge at patient, this means a record that is
//     replaced by another one of the same patient. A record replaced by one of another patient
//     changes two patients: 2ε, 4ρ, where the number of patients stays the same. Where that number
//     moves, nothing: it is public.
//   - Record or patient to party: a party of at most k units is replaced in k steps, so it costs
//     k·ε and k²·ρ (Bun & Steinke 2016, Proposition 1.9). With δ > 0 and k > 1 nothing is claimed.
//   - Record to patient: likewise, in k steps, if at most k records of a patient count, chosen
//     before records are left out to make a declared number. Otherwise as to party, because a
//     party holds all records of its patients. Without a public k, nothing: a patient may have any
//     number of records.
//   - Label to a coarser unit: nothing, because hiding a label says nothing about the features
//     beside it. A release whose proof covers the whole record should declare unit record.
func (c Cost) At(u Unit) (Cost, bool) {
	if u <= c.Unit {
		if c.Unit = u; u != Record {
			c.PerPatient = 0
		}
		return c, true
	}
	steps := c.PerParty
	if u == Patient && c.PerPatient > 0 {
		steps = c.PerPatient
	}
	if c.Unit == Label || !u.Valid() || steps < 1 || (steps > 1 && c.delta().Sign() > 0) {
		return Cost{}, false
	}
	k := new(big.Rat).SetInt64(steps)
	if c.Pure != nil {
		c.Pure = new(big.Rat).Mul(k, c.Pure)
	}
	c.Rho = new(big.Rat).Mul(new(big.Rat).Mul(k, k), c.Rho)
	c.Unit, c.PerParty, c.PerPatient = u, 0, 0
	return c, true
}

func (c Cost) delta() *big.Rat {
	if c.Delta == nil {
		return new(big.Rat)
	}
	return c.Delta
}

func (c Cost) equal(d Cost) bool {
	same := func(x, y *big.Rat) bool {
		if x == nil || y == nil {
			return x == nil && y == nil
		}
		return x.Cmp(y) == 0
	}
	return c.Unit == d.Unit && c.PerParty == d.PerParty && c.PerPatient == d.PerPatient &&
		same(c.Pure, d.Pure) && same(c.Rho, d.Rho) && c.delta().Cmp(d.delta()) == 0
}

// Equal compares exact rationals. A missing Pure differs from 0, a missing Delta equals 0.
func (c Cost) Equal(d Cost) bool { return c.equal(d) }

// String returns a text such as "ε = 0.5 for a record".
func (c Cost) String() string {
	short := func(x *big.Rat) string {
		v, _ := x.Float64()
		return fmt.Sprintf("%.6g", v)
	}
	switch {
	case c.Rho == nil:
		return "nothing that is proved"
	case c.Pure != nil && c.Rho.Cmp(PureCost(c.Unit, 0, c.Pure).Rho) < 0:
		return fmt.Sprintf("ε = %s and ρ = %s for a %s", short(c.Pure), short(c.Rho), c.Unit)
	case c.Pure != nil:
		return fmt.Sprintf("ε = %s for a %s", short(c.Pure), c.Unit)
	case c.delta().Sign() > 0:
		return fmt.Sprintf("ρ = %s and δ = %s for a %s", short(c.Rho), short(c.Delta), c.Unit)
	}
	return fmt.Sprintf("ρ = %s for a %s", short(c.Rho), c.Unit)
}

func encodeCosts(costs []Cost) ([]byte, error) { return json.Marshal(costs) }

func decodeCosts(b []byte) ([]Cost, error) {
	var costs []Cost
	if err := json.Unmarshal(b, &costs); err != nil {
		return nil, fmt.Errorf("read charge: %w", err)
	}
	for _, c := range costs {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("read charge: %w", err)
		}
	}
	return costs, nil
}

// ParseCost reads a cost exactly: "record:epsilon=1" or "party:rho=1/20".
func ParseCost(text string) (Cost, error) {
	name, price, _ := strings.Cut(text, ":")
	unit, err := ParseUnit(name)
	if err != nil {
		return Cost{}, err
	}
	what, number, _ := strings.Cut(price, "=")
	x, ok := new(big.Rat).SetString(number)
	if !ok || x.Sign() <= 0 || (what != "epsilon" && what != "rho") {
		return Cost{}, fmt.Errorf("want UNIT:epsilon=E or UNIT:rho=R, a number above 0")
	}
	cost := ConcentratedCost(unit, 0, x)
	if what == "epsilon" {
		cost = PureCost(unit, 0, x)
	}
	return cost, cost.Validate()
}

// EpsilonAt converts a cost to ε at δ. It inverts calibration: noise calibrated to (ε,δ) gives
// back that ε. δ = 0 gives +Inf unless the cost is pure.
func EpsilonAt(c Cost, delta float64) float64 {
	if c.Pure != nil {
		epsilon, _ := c.Pure.Float64()
		return epsilon
	}
	if c.Rho == nil || !(delta > 0) {
		return math.Inf(1)
	}
	rho, _ := c.Rho.Float64()
	return EpsilonOf(rho, delta*mainShare)
}
