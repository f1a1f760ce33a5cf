package privacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
)

// Total is the sum of all charges of a ledger at one unit.
type Total struct {
	// number of charges that guarantee something at this unit
	Charges int64 `json:"charges"`
	// number of charges that guarantee nothing at this unit
	WithoutGuarantee int64    `json:"unproven"`
	Pure             *big.Rat `json:"pure"`     // Σε of the pure charges
	Rho              *big.Rat `json:"rho"`      // Σρ of all charges, pure ones too
	ImpureRho        *big.Rat `json:"rest_rho"` // Σρ of the charges that are not pure
	Delta            *big.Rat `json:"delta"`    // Σδ
}

// Totals holds a Total for each unit. Plus never changes it in place, so a copy of the map's header
// stays valid.
type Totals map[Unit]Total

// NewTotals returns exact zeros at each unit, with no nil rational in them.
func NewTotals() Totals {
	t := Totals{}
	for _, u := range Units() {
		t[u] = Total{Pure: new(big.Rat), Rho: new(big.Rat), ImpureRho: new(big.Rat),
			Delta: new(big.Rat)}
	}
	return t
}

// Plus returns the totals after one more charge. Each number is rounded up to a multiple of 2⁻¹²⁸
// before it is added, so sums stay short and are never below the exact ones.
func (t Totals) Plus(c Cost) Totals {
	next := Totals{}
	for _, u := range Units() {
		next[u] = t[u].plus(c, u)
	}
	return next
}

func (t Total) plus(c Cost, u Unit) Total {
	if c.Rho == nil { // simulated: no claim at any unit
		t.WithoutGuarantee++
		return t
	}
	c, ok := c.At(u)
	if !ok {
		t.WithoutGuarantee++
		return t
	}
	t.Charges++
	if c.Pure != nil {
		t.Pure = addUp(t.Pure, c.Pure)
	} else {
		t.ImpureRho = addUp(t.ImpureRho, c.Rho)
	}
	t.Rho = addUp(t.Rho, c.Rho)
	t.Delta = addUp(t.Delta, c.delta())
	return t
}

// latticeBits: sums are multiples of 2⁻¹²⁸, like float64 limits of 2⁻⁷⁶ or more. So a charge equal
// to a limit fits.
const latticeBits = 128

func addUp(sum, x *big.Rat) *big.Rat {
	n := new(big.Int).Lsh(x.Num(), latticeBits)
	n.Add(n, x.Denom()).Sub(n, big.NewInt(1)).Quo(n, x.Denom())
	up := new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), latticeBits))
	return up.Add(up, sum)
}

// rule is one valid way to keep a limit (ε,δ): fixed thresholds for the sums.
type rule struct {
	pure, rho, delta *big.Rat
	pureAsRho        bool // pure charges count in ρ, not in ε
}

// rules splits a limit (ε,δ) into rules, of which a ledger must keep one.
//
//	rule          pure charges count as   Σε ≤    Σρ ≤                Σδ ≤    share of δ
//	concentrated  ρ                               ρ(ε, 63δ/64)        0       63/64
//	pure          ε                       ε       0                   0       0
//	mixed 1,2,3   ε                       iε/4    ρ((4−i)ε/4, δ/256)  0       1/256 each
//	approximate   ρ                               ρ(ε, δ/512)         δ/512   1/256
//
// Proof. Sums only grow and the thresholds are fixed before the first release, so each rule is a
// valid filter for adaptively chosen charges: with Σρ ≤ ρ* the whole is ρ*-zCDP (Whitehouse,
// Ramdas, Rogers & Wu 2023, Theorem 1, which covers δ-approximate zCDP), and pure losses add at
// most their Σε on every path. So a ledger that kept one given rule is (ε, δᵣ)-private, δᵣ its
// share. Which rule holds at the end may depend on earlier answers. Divide the transcripts by the
// first rule that holds. On its part, the ledger agrees with the ledger that enforces only that
// rule, so each part adds at most δᵣ, and the shares add up to δ. Taking the better of two filters
// at δ each, without dividing δ, would prove only 2δ; letting the threshold of Σρ move with Σε
// along a curve has no proof at all.
func rules(g Budget) []rule {
	zero := new(big.Rat)
	concentrated := func(delta float64) *big.Rat { return rational(rhoAt(g.Epsilon, delta)) }
	all := []rule{
		{pure: zero, rho: concentrated(g.Delta * mainShare), delta: zero, pureAsRho: true},
		{pure: rational(g.Epsilon), rho: zero, delta: zero},
		{pure: zero, rho: concentrated(g.Delta / 512), delta: rational(g.Delta / 512), pureAsRho: true},
	}
	for i := 1.; i <= 3; i++ {
		all = append(all, rule{
			pure: rational(g.Epsilon * i / 4), delta: zero,
			rho: rational(rhoAt(g.Epsilon*(4-i)/4, g.Delta/256)),
		})
	}
	return all
}

func (r rule) holds(t Total) bool {
	pure, rho := t.Pure, t.ImpureRho
	if r.pureAsRho {
		pure, rho = new(big.Rat), t.Rho
	}
	return pure.Cmp(r.pure) <= 0 && rho.Cmp(r.rho) <= 0 && t.Delta.Cmp(r.delta) <= 0
}

func (t Total) keep(all []rule) bool {
	if t.WithoutGuarantee > 0 {
		return false
	}
	for _, r := range all {
		if r.holds(t) {
			return true
		}
	}
	return false
}

// mostFitting bounds ReleasesWithin, because no plan has more releases.
const mostFitting = 1000

// ReleasesWithin returns how many successive releases of cost c a new ledger allows if it is
// limited to g at the cost's own unit; at most 1000.
func ReleasesWithin(g Budget, c Cost) int {
	all, t := rules(g), NewTotals()[c.Unit]
	for n := range mostFitting {
		if t = t.plus(c, c.Unit); !t.keep(all) {
			return n
		}
	}
	return mostFitting
}

// Epsilon returns the smallest ε such that a ledger limited to (ε,δ) from its start would have
// allowed all these charges: the least over the rules, each solved for ε. It is +Inf if some charge
// guarantees nothing at this unit, or if δ is too small for them or at least 1.
func (t Total) Epsilon(delta float64) float64 {
	if t.WithoutGuarantee > 0 || !(delta >= 0) || delta >= 1 {
		return math.Inf(1)
	}
	pure, all, rest := upper(t.Pure), upper(t.Rho), upper(t.ImpureRho)
	if t.Delta.Sign() > 0 {
		if t.Delta.Cmp(rational(delta/512)) > 0 {
			return math.Inf(1)
		}
		return epsilonAt(all, delta/512)
	}
	best := epsilonAt(all, delta*mainShare)
	if rest == 0 {
		best = min(best, pure)
	}
	for i := 1.; i <= 3; i++ {
		best = min(best, max(4/i*pure, 4/(4-i)*epsilonAt(rest, delta/256)))
	}
	return best
}

// epsilonAt returns the least ε at which rhoAt, which never exceeds ε, reaches rho.
func epsilonAt(rho, delta float64) float64 { return max(rho, EpsilonOf(rho, delta)) }

// String rounds ε and ρ to four digits, for people; limits are held by the exact numbers. It
// mentions charges that guarantee nothing at this unit.
func (t Total) String() string {
	pure, _ := t.Pure.Float64()
	rho, _ := t.Rho.Float64()
	s := fmt.Sprintf("%d charges, pure ε %.4g, ρ %.4g", t.Charges, pure, rho)
	if t.WithoutGuarantee > 0 {
		s += fmt.Sprintf(", and %d that guarantee nothing at this unit", t.WithoutGuarantee)
	}
	return s
}

// encodeTotals writes canonical JSON: sorted keys, rationals as strings.
func encodeTotals(t Totals) ([]byte, error) { return json.Marshal(t) }

// decodeTotals reads an entry's totals with those at patient.
func decodeTotals(b []byte) (Totals, error) {
	t, err := sealedTotals(b)
	return t.Filled(), err
}

// sealedTotals reads an entry's totals as they are written: an entry made before there was unit
// patient has none at patient.
func sealedTotals(b []byte) (Totals, error) {
	var t Totals
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("read ledger totals: the entry is damaged: %w", err)
	}
	return t, t.check()
}

// Filled returns t with totals at patient, also where an entry has none because it was made before
// there was that unit.
//
// Proof note: all charges so far are at label, record or party. Each counts at patient exactly as
// at party (Cost.At): a charge at party in full, a charge at record k times or not at all, a charge
// at label not at all. So the sums at party, rounded as they are, are the sums of a replay.
func (t Totals) Filled() Totals {
	if _, there := t[Patient]; there || t == nil {
		return t
	}
	t = maps.Clone(t)
	t[Patient] = t[Party]
	return t
}

// written removes the totals at patient if sealed, the totals of an entry, has none.
func (t Totals) written(sealed Totals) Totals {
	if _, there := sealed[Patient]; !there {
		t = maps.Clone(t)
		delete(t, Patient)
	}
	return t
}

func (t Totals) check() error {
	t = t.Filled()
	for _, u := range Units() {
		if s := t[u]; s.Pure == nil || s.Rho == nil || s.ImpureRho == nil || s.Delta == nil {
			return fmt.Errorf("read ledger totals: unit %v is incomplete, the entry is damaged", u)
		}
	}
	return nil
}

// since returns what was spent after earlier totals, exactly: both are sums of the same terms.
func (t Totals) since(before Totals) Totals {
	minus := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
	spent := Totals{}
	for _, u := range Units() {
		a, b := t[u], before[u]
		spent[u] = Total{
			Charges: a.Charges - b.Charges, WithoutGuarantee: a.WithoutGuarantee - b.WithoutGuarantee, Pure: minus(a.Pure, b.Pure),
			Rho: minus(a.Rho, b.Rho), ImpureRho: minus(a.ImpureRho, b.ImpureRho), Delta: minus(a.Delta, b.Delta),
		}
	}
	return spent
}
