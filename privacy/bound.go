package privacy

import (
	"fmt"
	"slices"
)

// Bound states how far neighbouring integer vectors differ: if the data differ by one replaced
// Unit, the difference Δ of the vectors satisfies every field below. This package can't check it:
// the caller must have a proof, from public inputs alone.
type Bound struct {
	Unit Unit `json:"unit"`

	// L1 bounds Σⱼ|Δⱼ|, without weights. 0: not proven, and mechanisms that need it refuse.
	L1 int64 `json:"l1"`
	// L2sq bounds Σⱼ wⱼΔⱼ², wⱼ = Weight[j] or 1. 0: not proven.
	L2sq int64 `json:"l2sq"`
	// Weight holds a positive public weight for each coordinate; nil: all are 1. Gaussian noise on
	// coordinate j has variance σ²/wⱼ.
	Weight []int64 `json:"weight,omitempty"`
	// Cells bounds how many coordinates one unit may change. 0: not proven.
	Cells int `json:"cells"`
	// KeepsSum: Σⱼ Δⱼ = 0, as for counts whose total is public.
	KeepsSum bool `json:"keeps_sum"`
	// Block is the length of a run of coordinates, such as the class counts of one set. KeepsSum
	// then holds in each run, and a unit changes only one run. 0: the vector is one run.
	Block int `json:"block,omitempty"`
	// PerParty is a public maximum of the units that one party holds. 0 means unknown: nothing is
	// guaranteed at unit party. It is ignored if Unit is party.
	PerParty int64 `json:"per_party"`
	// PerPatient is a public maximum of the records of one patient that count; neighbours at unit
	// patient have equally many records in all. Only for Unit Record. 0 means unknown.
	PerPatient int64 `json:"per_patient,omitempty"`
}

// Validate checks the bound for n coordinates, from public numbers only, and names the wrong field.
func (b Bound) Validate(n int) error {
	switch {
	case !b.Unit.Valid():
		return fmt.Errorf("check bound: unit is %v, use label, record, patient or party", b.Unit)
	case b.L1 < 0 || b.L2sq < 0:
		return fmt.Errorf("check bound: L1 is %d and L2sq is %d, neither may be negative", b.L1, b.L2sq)
	case b.L1 == 0 && b.L2sq == 0:
		return fmt.Errorf("check bound: neither L1 nor L2sq is given, prove at least one")
	case b.Cells < 0 || b.Cells > n:
		return fmt.Errorf("check bound: cells is %d, give 0 (not proven) to %d (the vector's length)", b.Cells, n)
	case b.Block < 0 || (b.Block > 0 && n%b.Block != 0):
		return fmt.Errorf("check bound: block is %d, which does not divide the vector's length %d", b.Block, n)
	case b.PerParty < 0:
		return fmt.Errorf("check bound: per-party is %d, give 0 (unknown) or the most units a party holds", b.PerParty)
	case b.PerPatient < 0 || b.PerPatient > 0 && b.Unit != Record:
		return fmt.Errorf("check bound: per-patient is %d at unit %v, give 0 (unknown) or, at unit record, the most records of a patient that count", b.PerPatient, b.Unit)
	case b.Weight != nil && len(b.Weight) != n:
		return fmt.Errorf("check bound: %d weights for %d coordinates, give one each or none", len(b.Weight), n)
	}
	for j, w := range b.Weight {
		if w <= 0 {
			return fmt.Errorf("check bound: weight %d is %d, weights are positive", j, w)
		}
	}
	return nil
}

func (b Bound) weight(j int) int64 {
	if b.Weight == nil {
		return 1
	}
	return b.Weight[j]
}

func (b Bound) block(n int) int {
	if b.Block == 0 {
		return n
	}
	return b.Block
}

func (b Bound) clone() Bound {
	b.Weight = slices.Clone(b.Weight)
	return b
}

func (b Bound) equal(c Bound) bool {
	return b.Unit == c.Unit && b.L1 == c.L1 && b.L2sq == c.L2sq && b.Cells == c.Cells &&
		b.KeepsSum == c.KeepsSum && b.Block == c.Block && b.PerParty == c.PerParty &&
		b.PerPatient == c.PerPatient &&
		slices.Equal(b.Weight, c.Weight) &&
		(b.Weight == nil) == (c.Weight == nil)
}

// Equal compares all fields. Weights must agree in each element, and nil differs from all ones,
// because the ledger refuses a repeated request whose bound differs in any way.
func (b Bound) Equal(c Bound) bool { return b.equal(c) }
