package study

import (
	"cmp"
	"fmt"
	"math"

	"caucus/privacy"
)

// Mechanisms of kinds that release counts. A proposal may say auto, but a plan names the mechanism
// that auto chose, because another processor could round differently and choose the other.
const (
	MechanismAuto     = "auto"
	MechanismLaplace  = "laplace"  // has pure ε, also if the plan's δ is above 0
	MechanismGaussian = "gaussian" // has (ε,δ), proved by zCDP
)

// NoiseMechanisms lists the mechanisms that a plan can name; auto is not among them.
func NoiseMechanisms() []string { return []string{MechanismGaussian, MechanismLaplace} }

// CheckNoise refuses an unknown mechanism, and gaussian with δ = 0.
func CheckNoise(p Plan) error {
	switch {
	case p.Mechanism == MechanismAuto:
		return PlanError("mechanism", "auto is resolved when a plan is made, by a valid ε, δ and bound: check those, or name laplace or gaussian")
	case p.Mechanism != MechanismLaplace && p.Mechanism != MechanismGaussian:
		return PlanError("mechanism", "%q is not one of %s's: %v", p.Mechanism, p.Kind,
			NoiseMechanisms())
	case p.Mechanism == MechanismGaussian && p.Delta == 0:
		return PlanError("delta", "0: mechanism \"gaussian\" gives (ε,δ) with δ > 0: give a δ far below 1/units, or use laplace for pure ε")
	}
	return nil
}

// Calibrate returns the noise, within the plan's budget, for a vector of this many integers. One
// unit changes the vector by at most b. The noise gives pure ε if δ is 0 or the plan names laplace;
// else it is Gaussian.
//
// Proof note. Pure ε implies (ε,δ) for every δ, so the release of a plan with δ > 0 may be pure.
// The ledger charges the cost that the mechanism's proof gives (privacy.CostOf), never the plan's
// δ. The plan names the mechanism, so no record influences the choice.
func (p Plan) Calibrate(b privacy.Bound, cells int) (privacy.Mechanism, error) {
	if p.Delta == 0 || p.Mechanism == MechanismLaplace {
		return p.CalibratePure(b, cells)
	}
	return privacy.CalibrateGaussian(b, p.Budget())
}

// CalibratePure is Calibrate for a plan with pure ε.
func (p Plan) CalibratePure(b privacy.Bound, cells int) (privacy.Mechanism, error) {
	m, err := privacy.CalibratePure(b, cells, p.Epsilon)
	if p.ChargeByL2 {
		m = privacy.ChargeByL2(m)
	}
	return m, err
}

// NoiseCost compares a mechanism's noise with its price.
type NoiseCost struct {
	Mechanism string `json:"mechanism"`
	// standard deviation of one draw, in units of the released number
	SD            float64 `json:"sd"`
	Rho           float64 `json:"rho"`
	ReleasesAYear int     `json:"in_year"` // how many releases at this price fit within YearlyLimit
}

const yearOfStudies = 3

// YearlyLimit is a budget for comparison only: three times the plan's ε, as if a party allowed
// three studies a year. Its δ is the plan's, or the default if the plan's is 0.
func (p Plan) YearlyLimit() privacy.Budget {
	return privacy.Budget{Epsilon: yearOfStudies * p.Epsilon, Delta: p.comparedDelta()}
}

func (p Plan) comparedDelta() float64 { return cmp.Or(p.Delta, DefaultDelta(p.MinUnits())) }

// NoiseCosts compares the mechanisms for a vector of this many integers, which one unit changes by
// at most b. The mechanism with the least noise comes first.
func (p Plan) NoiseCosts(b privacy.Bound, cells int) ([]NoiseCost, error) {
	p.Delta = p.comparedDelta()
	var all []NoiseCost
	for _, name := range []string{MechanismLaplace, MechanismGaussian} {
		p.Mechanism, p.ChargeByL2 = name, true
		m, err := p.Calibrate(b, cells)
		if err != nil {
			return nil, fmt.Errorf("compare noise: %w", err)
		}
		cost, err := privacy.CostOf(m, b)
		if err != nil {
			return nil, fmt.Errorf("compare noise: %w", err)
		}
		c := NoiseCost{Mechanism: name, SD: math.Sqrt(privacy.VarianceOf(m, b, 0, cells)),
			ReleasesAYear: privacy.ReleasesWithin(p.YearlyLimit(), CostAtEpsilon(p, cost))}
		c.Rho, _ = cost.Rho.Float64()
		all = append(all, c)
	}
	if all[1].SD < all[0].SD {
		all[0], all[1] = all[1], all[0]
	}
	return all, nil
}

// CompleteNoise fills in the mechanism and δ if a proposal leaves them open or says auto. It
// chooses laplace if the proposal's δ is 0, else the mechanism with less noise. With laplace, δ is
// 0 unless the proposal gives δ. If neither mechanism can be calibrated, auto stays and CheckNoise
// refuses the plan.
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

// NoiseText describes the costs in words. The plan's own mechanism comes first.
func (p Plan) NoiseText(all []NoiseCost) string {
	own, other := all[0], all[1]
	if own.Mechanism != p.Mechanism {
		own, other = other, own
	}
	whose := "each number"
	if p.Noise.AddedAtSite() {
		whose += " of a site"
	}
	return fmt.Sprintf("%s noise: standard deviation %.3g on %s; a site that allows ε = %.3g and δ = %.3g a year could run %d studies like this (with %s noise: %.3g, %d studies)",
		own.Mechanism, own.SD, whose, p.YearlyLimit().Epsilon, p.YearlyLimit().Delta,
		own.ReleasesAYear,
		other.Mechanism, other.SD, other.ReleasesAYear)
}
