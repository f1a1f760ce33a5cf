package verify

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"caucus/privacy"
	"caucus/study"
)

func costWords(c study.ReleaseCost, p study.Plan) string {
	if c.Cost.Pure != nil {
		e, _ := c.Cost.Pure.Float64()
		return fmt.Sprintf("ε = %.6g, within the plan's %g", e, p.Epsilon)
	}
	if e := privacy.EpsilonOf(c.Rho, p.Delta); e <= p.Epsilon*budgetRounding {
		return fmt.Sprintf("ρ = %.6g, which is ε = %.6g at δ = %g, within the plan's %g", c.Rho, e, p.Delta, p.Epsilon)
	}
	return fmt.Sprintf("ρ = %.6g; its own curve gives ε = %g at δ = %g", c.Rho, p.Epsilon, p.Delta)
}

func boundOf(b privacy.Bound) string {
	s := fmt.Sprintf("one %s moves them by at most", b.Unit)
	if b.L1 > 0 {
		s += fmt.Sprintf(" %d in L1", b.L1)
	}
	if b.L2sq > 0 {
		if b.L1 > 0 {
			s += " and"
		}
		s += fmt.Sprintf(" √%d in L2", b.L2sq)
	}
	if b.PerParty > 0 {
		s += fmt.Sprintf(", with at most %d records a party", b.PerParty)
	}
	if b.PerPatient > 0 {
		s += fmt.Sprintf(", with at most %d records a patient", b.PerPatient)
	}
	return s
}

func boundWords(c study.ReleaseCost, in study.BoundInputs) string {
	s := fmt.Sprintf("%s: how far one %s can move the released integers", c.Output, c.Bound.Unit)
	if c.Weights != nil {
		s += " (weighted by public weights of the pool's rows)"
	}
	return s + fmt.Sprintf(", recomputed from the plan and %d pool rows (the numbers: --json, manifest, costs)", in.PoolRows)
}

func parameterWords(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text := m[k]
		if x, ok := new(big.Rat).SetString(text); ok && len(text) > 16 {
			v, _ := x.Float64()
			text = fmt.Sprintf("%.9g", v)
		}
		out = append(out, k+" "+text)
	}
	return strings.Join(out, ", ")
}
