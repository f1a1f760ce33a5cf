package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"caucus/privacy"
	"caucus/study"
)

// Who has the last word on a study that the policy allows.
const (
	// ApproveByPerson: someone runs "caucus agent approve" for each study.
	ApproveByPerson = "person"
	// ApproveByPolicy: what the policy allows is joined at once.
	ApproveByPolicy = "policy"
)

// Policy is what a site allows. Lists name what is allowed; what they do not
// name is refused, so the zero Policy refuses everything.
type Policy struct {
	// Kinds, Mechanisms and Noise hold the allowed names: classify; cross,
	// tally, …; site, coordinator. With noise: coordinator the site's exact
	// votes or sums reach the coordinator.
	Kinds      []string `koanf:"kinds"`
	Mechanisms []string `koanf:"mechanisms"`
	Noise      []string `koanf:"noise"`
	// Study is the most that one study may cost, for each allowed unit.
	Study map[privacy.Unit]privacy.Budget `koanf:"study"`
	// Total is the most that all studies may cost together: the limits of the
	// site's ledger. A limited unit refuses what proves nothing there, so limit
	// the finest unit that Study allows; coarser costs count there too. Its δ
	// should be several times a study's: some of it is the price of counting
	// different kinds of cost in one ledger.
	Total map[privacy.Unit]privacy.Budget `koanf:"total"`
	// MinimumParties is the least number of contributions, as a plan's minimum,
	// that a study must promise; at least 2.
	MinimumParties int `koanf:"minimum_parties"`
	// ClearColumns may leave in clear, by name.
	ClearColumns []string `koanf:"clear_columns"`
	// Approval is "person" or "policy".
	Approval string `koanf:"approval"`
}

// DefaultPolicy allows nothing; a person approves.
func DefaultPolicy() Policy { return Policy{MinimumParties: 2, Approval: ApproveByPerson} }

// Validate says which field is wrong and what to do.
func (p Policy) Validate() error {
	for _, limits := range []struct {
		field string
		of    map[privacy.Unit]privacy.Budget
	}{{"study", p.Study}, {"total", p.Total}} {
		for _, u := range privacy.Units() {
			if g, ok := limits.of[u]; ok {
				if err := g.Validate(); err != nil {
					return fmt.Errorf("%s: %s: %w", limits.field, u, err)
				}
			}
		}
	}
	for u := range p.Study {
		// A cost counts in full at every finer unit, so a limit there bounds it.
		if !slices.ContainsFunc(privacy.Units(), func(at privacy.Unit) bool { _, ok := p.Total[at]; return ok && at <= u }) {
			return fmt.Errorf("total: unit %s is allowed under study but has no limit at that unit or a finer one: give the most that all studies may cost together", u)
		}
		for limited := range p.Total {
			if u < limited {
				return fmt.Errorf("total: unit %s is limited, but studies at unit %s, which the policy allows, guarantee nothing there: drop one of the two", limited, u)
			}
		}
	}
	for _, n := range p.Noise {
		if n != study.NoiseSite && n != study.NoiseCoordinator {
			return fmt.Errorf("noise: %q: want %s or %s", n, study.NoiseSite, study.NoiseCoordinator)
		}
	}
	for _, m := range p.Mechanisms {
		if !slices.Contains(study.AllMechanisms(), m) {
			return fmt.Errorf("mechanisms: %q is none of %s", m, strings.Join(study.AllMechanisms(), ", "))
		}
	}
	if p.MinimumParties < 2 {
		return fmt.Errorf("minimum_parties: %d: give at least 2; a study of one party releases that party", p.MinimumParties)
	}
	if p.Approval != ApproveByPerson && p.Approval != ApproveByPolicy {
		return fmt.Errorf("approval: %q: want %s or %s", p.Approval, ApproveByPerson, ApproveByPolicy)
	}
	return nil
}

// Objections says why the policy does not allow a plan, one reason a line;
// none means that it does. They depend on plan and policy alone.
func (p Policy) Objections(plan study.Plan) []string {
	var out []string
	object := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	allowed := func(field, value string, list []string) {
		if !slices.Contains(list, value) {
			object("%s %q is not allowed: the policy allows %s", field, value, oneOf(list))
		}
	}
	allowed("kind", plan.Kind, p.Kinds)
	allowed("mechanism", plan.Mechanism, p.Mechanisms)
	allowed("noise", plan.Noise, p.Noise)
	if most, ok := p.Study[plan.Unit]; !ok {
		object("unit %s is not allowed: the policy allows %s", plan.Unit, oneOf(unitNames(p.Study)))
	} else {
		if plan.Epsilon > most.Epsilon {
			object("ε = %g is more than the %g that one study may cost at unit %s", plan.Epsilon, most.Epsilon, plan.Unit)
		}
		if plan.Delta > most.Delta {
			object("δ = %g is more than the %g that one study may cost at unit %s", plan.Delta, most.Delta, plan.Unit)
		}
	}
	if plan.Minimum < p.MinimumParties {
		object("the study may close with %d parties, the policy asks for at least %d", plan.Minimum, p.MinimumParties)
	}
	if plan.Simulated {
		object("the plan is simulated: it protects nobody")
	}
	if d := 1 / float64(max(plan.Units(), 1)); plan.Delta >= d {
		object("δ = %g is not below one over the number of units (%.3g): it would allow giving a whole unit away", plan.Delta, d)
	}
	for _, c := range ClearColumns(plan) {
		if !slices.Contains(p.ClearColumns, c) {
			object("column %q would leave in clear and the policy does not grant it", c)
		}
	}
	return out
}

// ClearColumns are the columns of a site's records that a plan takes in clear.
// A kind this room does not know takes them all.
func ClearColumns(plan study.Plan) []string {
	if plan.Kind == "classify" {
		return nil
	}
	if plan.Kind == "ratio" && plan.Ratio != nil {
		if plan.Ratio.Features == study.FeaturesNoisyEmbedding {
			return nil
		}
		if plan.Ratio.Sets == study.SetsColumn { // who is in which set shows too
			return append(plan.Schema.FeatureColumns(), plan.Schema.Party)
		}
	}
	return plan.Schema.FeatureColumns()
}

// fits says which limits of the ledger a charge would pass, one a line. It is
// a forecast: the ledger decides when it is charged.
func (p Policy) fits(spent privacy.Totals, costs []privacy.Cost) []string {
	after := spent
	for _, c := range costs {
		after = after.Plus(c)
	}
	var out []string
	for _, u := range privacy.Units() {
		if most, ok := p.Total[u]; ok && !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			out = append(out, fmt.Sprintf("the ledger has ε = %.3g of %g left at unit %s (δ = %g), too little for this study",
				max(0, most.Epsilon-spent[u].Epsilon(most.Delta)), most.Epsilon, u, most.Delta))
		}
	}
	return out
}

func oneOf(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func unitNames(m map[privacy.Unit]privacy.Budget) []string {
	var names []string
	for _, u := range slices.Sorted(maps.Keys(m)) {
		names = append(names, u.String())
	}
	return names
}
