package study

import (
	"cmp"
	"encoding/json"
	"time"

	"caucus/dataset"
	"caucus/privacy"
)

// Proposal is what a researcher says about a study; kinds.Propose makes the plan of
// it, and study/simulate runs it among virtual parties.
// Zero fields take the defaults named here.
type Proposal struct {
	Name    string `yaml:"name"`
	Kind    string `yaml:"kind"` // classify
	Purpose string `yaml:"purpose"`
	Contact string `yaml:"contact"`
	// Data names the data source that agents should use.
	Data string `yaml:"data"`
	// Map is how the pool's features are mapped.
	Map dataset.Components `yaml:"map"`
	// Roster lists the parties that may contribute.
	Roster []PartyID `yaml:"roster"`

	Unit      privacy.Unit `yaml:"unit"`      // record
	Epsilon   float64      `yaml:"epsilon"`   // 1
	Delta     *float64     `yaml:"delta"`     // min(1e-6, 1/(10·units))
	Mechanism string       `yaml:"mechanism"` // DefaultMechanism
	Noise     string       `yaml:"noise"`     // DefaultNoise
	Bound     string       `yaml:"bound"`
	Shards    int          `yaml:"shards"` // classify: 1
	Lambda    float64      `yaml:"lambda"` // 0: auto
	Learner   string       `yaml:"learner"`
	Tilt      bool         `yaml:"tilt"`
	// KindTerms are terms of the kind, as JSON; what they leave out takes the kind's
	// defaults. A study file gives them under the kind's name.
	KindTerms json.RawMessage `yaml:"-"`
	// Weights says where the pool's weights come from, or what it was made of.
	Weights *WeightSource `yaml:"weights"`

	// Minimum defaults to three quarters of the roster, rounded up, and at
	// least 2: a study should not wait for ever for the last site, nor stand for
	// half of them.
	Minimum  int       `yaml:"minimum"`
	Deadline time.Time `yaml:"deadline"`
	Readers  []string  `yaml:"readers"`
	// Records is how many records each party is publicly known to hold at least.
	Records int    `yaml:"records"` // RecordsPerParty
	Seed    uint64 `yaml:"seed"`
}

// RecordsPerParty is what is assumed of a party whose size is not said: a small
// hospital's share of one disease.
const RecordsPerParty = 200

// Size is what a forecast of the plan assumes of so many parties.
func (p Plan) Size(parties int) Size {
	return Size{Parties: parties, Records: parties * cmp.Or(p.Records, RecordsPerParty)}
}

// DecodeTerms reads the terms that a proposal gives its kind into what terms points
// to, and refuses those that the kind does not know; without any it leaves it.
func (s Proposal) DecodeTerms(terms any) error {
	if s.KindTerms == nil {
		return nil
	}
	if err := DecodeStrictly(s.KindTerms, terms); err != nil {
		return PlanError(s.Kind, "%v", err)
	}
	return nil
}

// MostDelta is the largest δ that says anything about so many units: at it a
// mechanism that publishes units outright would publish one in ten studies.
func MostDelta(units int) float64 { return 1 / (10 * float64(max(units, 1))) }

// DefaultDelta is far below one over the number of units.
func DefaultDelta(units int) float64 { return min(1e-6, MostDelta(units)) }

// DefaultNoise is who adds the noise at a unit where a plan does not say.
func DefaultNoise(u privacy.Unit) string {
	if u == privacy.Party {
		return NoiseCoordinator
	}
	return NoiseSite
}
