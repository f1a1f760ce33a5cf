package helper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// Policy decides which studies a helper serves. It allows only what its lists name: the zero Policy
// refuses all.
type Policy struct {
	// Kinds and Mechanisms list the allowed names: classify, describe, …; tally, cross, ….
	Kinds      []string `yaml:"kinds"`
	Mechanisms []string `yaml:"mechanisms"`
	// Study bounds the cost of one study, at each allowed unit.
	Study map[privacy.Unit]privacy.Budget `yaml:"study"`
	// MinimumParties is the least number of contributions, at least 2, that a plan must promise:
	// its floor, or its minimum if it has no floor.
	MinimumParties int `yaml:"minimum_parties"`
}

// DefaultPolicy allows no kind, mechanism or unit. It sets only the least number of parties.
func DefaultPolicy() Policy { return Policy{MinimumParties: 2} }

// Validate returns an error that names the wrong field and says what to do.
func (p Policy) Validate() error {
	for _, u := range privacy.Units() {
		if g, ok := p.Study[u]; ok {
			if err := g.Validate(); err != nil {
				return fmt.Errorf("study: %s: %w", u, err)
			}
		}
	}
	for _, k := range p.Kinds {
		if !slices.Contains(kinds.Names(), k) {
			return fmt.Errorf("kinds: %q is none of %s", k, strings.Join(kinds.Names(), ", "))
		}
	}
	for _, m := range p.Mechanisms {
		if !slices.Contains(kinds.Mechanisms(), m) {
			return fmt.Errorf("mechanisms: %q is none of %s", m,
				strings.Join(kinds.Mechanisms(), ", "))
		}
	}
	if p.MinimumParties < 2 {
		return fmt.Errorf("minimum_parties: %d: give at least 2; a study of one party releases that party", p.MinimumParties)
	}
	return nil
}

// Check returns an error that tells the coordinator why a plan is refused.
func (p Policy) Check(plan study.Plan) error {
	most, allowed := p.Study[plan.Unit]
	switch {
	case !plan.Noise.Shared():
		return errors.New("its noise is not added by two aggregators")
	case !slices.Contains(p.Kinds, plan.Kind):
		return fmt.Errorf("policy: kinds: this helper serves %s, the plan is of kind %s", list(p.Kinds), plan.Kind)
	case !slices.Contains(p.Mechanisms, plan.Mechanism):
		return fmt.Errorf("policy: mechanisms: this helper serves %s, the plan says %s", list(p.Mechanisms), plan.Mechanism)
	case !allowed:
		return fmt.Errorf("policy: study: this helper serves no studies at unit %s", plan.Unit)
	case plan.Epsilon > most.Epsilon || plan.Delta > most.Delta:
		return fmt.Errorf("policy: study: a study at unit %s may cost ε = %g, δ = %g here, the plan costs ε = %g, δ = %g", plan.Unit, most.Epsilon, most.Delta, plan.Epsilon, plan.Delta)
	case plan.LeastParties() < p.MinimumParties:
		return fmt.Errorf("policy: minimum_parties: this helper asks for %d, the plan can be sealed with %d", p.MinimumParties, plan.LeastParties())
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
