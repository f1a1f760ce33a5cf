package study

import (
	"cmp"
	"fmt"
	"math"

	"caucus/privacy"
)

// The names of noise that a plan may choose among, where its kind releases counts and
// says so. Auto stands in a proposal alone: a plan names what was chosen, because two
// processors might round the comparison of two that are alike in another way.
const (
	MechanismAuto     = "auto"
	MechanismLaplace  = "laplace"  // pure ε, whatever δ the plan allows
	MechanismGaussian = "gaussian" // (ε,δ), by zCDP
)

// NoiseMechanisms are the names that a plan of such a kind takes.
func NoiseMechanisms() []string { return []string{MechanismGaussian, MechanismLaplace} }

// CheckNoise refuses a plan that names no such noise, or one that its δ does not allow.
func CheckNoise(p Plan) error {
	switch {
	case p.Mechanism == MechanismAuto:
		return PlanError("mechanism", "auto is resolved when a plan is made, by a valid ε, δ and bound: check those, or name laplace or gaussian")
	case p.Mechanism != MechanismLaplace && p.Mechanism != MechanismGaussian:
		return PlanError("mechanism", "%q is not one of %s's: %v", p.Mechanism, p.Kind, NoiseMechanisms())
	case p.Mechanism == MechanismGaussian && p.Delta == 0:
		return PlanError("delta", "0: mechanism \"gaussian\" gives (ε,δ) with δ > 0: give a δ far below 1/units, or use laplace for pure ε")
	}
	return nil
}

// Calibrate is the noise that a bound on so many cells takes under a plan's budget:
// for pure ε where δ is 0 or the plan asks for it by name, else Gaussian.
//
// Proof note. Pure ε is (ε,δ) for every δ, so a plan that allows δ > 0 and releases at
// pure ε claims no more than is true. A ledger charges what the mechanism's own proof
// gives (privacy.CostOf): the pure ε, which counts ε²/2 in a concentrated ledger, and
// never the plan's δ. The name is part of the plan, so which noise it is hangs on no
// record.
func (p Plan) Calibrate(b privacy.Bound, cells int) (privacy.Mechanism, error) {
	if p.Delta == 0 || p.Mechanism == MechanismLaplace {
		return privacy.CalibratePure(b, cells, p.Epsilon)
	}
	return privacy.CalibrateGaussian(b, p.Budget())
}

// NoiseCost is what one choice of noise does to a number, and what it costs.
type NoiseCost struct {
	Mechanism string `json:"mechanism"`
	// SD is the standard deviation of one draw, in units of the released number.
	SD float64 `json:"sd"`
	// Epsilon is charged, Delta allowed for it; Rho is what it counts as where charges
	// are concentrated (zCDP).
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Rho     float64 `json:"rho"`
	// InYear is how many such releases a limit of YearlyLimit takes.
	InYear int `json:"in_year"`
}

// yearOfStudies is how many times a plan's ε the limit is by which the costs of a year
// are told: a party that allows three studies like it.
const yearOfStudies = 3

// YearlyLimit is the limit that NoiseCosts are held against, for comparison only:
// three times the plan's ε, at its δ or the usual one.
func (p Plan) YearlyLimit() privacy.Budget {
	return privacy.Budget{Epsilon: yearOfStudies * p.Epsilon, Delta: p.comparedDelta()}
}

// comparedDelta is the δ at which Gaussian noise is compared: the plan's, or that
// which it would have by default.
func (p Plan) comparedDelta() float64 { return cmp.Or(p.Delta, DefaultDelta(p.Units())) }

// NoiseCosts compares the noises that a plan could choose for a bound on so many
// cells, the quietest first.
func (p Plan) NoiseCosts(b privacy.Bound, cells int) ([]NoiseCost, error) {
	p.Delta = p.comparedDelta()
	var all []NoiseCost
	for _, name := range []string{MechanismLaplace, MechanismGaussian} {
		p.Mechanism = name
		m, err := p.Calibrate(b, cells)
		if err != nil {
			return nil, fmt.Errorf("compare noise: %w", err)
		}
		cost, err := privacy.CostOf(m, b)
		if err != nil {
			return nil, fmt.Errorf("compare noise: %w", err)
		}
		c := NoiseCost{Mechanism: name, SD: math.Sqrt(privacy.VarianceOf(m, b, 0, cells)), Epsilon: p.Epsilon, InYear: privacy.Fitting(p.YearlyLimit(), AtEpsilon(p, cost))}
		c.Rho, _ = cost.Rho.Float64()
		if cost.Pure == nil {
			c.Delta = p.Delta
		}
		all = append(all, c)
	}
	if all[1].SD < all[0].SD {
		all[0], all[1] = all[1], all[0]
	}
	return all, nil
}

// CompleteNoise fills in mechanism and δ where a proposal leaves them open (auto is
// open too): the quieter noise for a bound on so many cells, and the δ that it takes,
// which is 0 for laplace. A proposal with δ = 0 has laplace. Where nothing can be
// calibrated it leaves auto, which CheckNoise refuses.
func (p *Plan) CompleteNoise(s Proposal, b privacy.Bound, cells int) {
	p.Delta = s.DefaultDelta(*p)
	if s.Delta != nil {
		p.Delta = *s.Delta
	}
	if p.Mechanism == "" || p.Mechanism == MechanismAuto {
		p.Mechanism = MechanismAuto
		if p.Delta == 0 {
			p.Mechanism = MechanismLaplace
		} else if all, err := p.NoiseCosts(b, cells); err == nil {
			p.Mechanism = all[0].Mechanism
		}
	}
	if p.Mechanism == MechanismLaplace && s.Delta == nil {
		p.Delta = 0
	}
}

// NoiseWords compare for people what noises cost, the plan's own first.
func (p Plan) NoiseWords(all []NoiseCost) string {
	var own, other string
	for _, c := range all {
		words := fmt.Sprintf("%s: ± %.3g a site and number, ρ = %.3g, %d such studies in a year limited to ε = %.3g, δ = %.3g", c.Mechanism, c.SD, c.Rho, c.InYear, p.YearlyLimit().Epsilon, p.YearlyLimit().Delta)
		if c.Mechanism == p.Mechanism {
			own = words
		} else {
			other = "; " + words
		}
	}
	return own + other
}
