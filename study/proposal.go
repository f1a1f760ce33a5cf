package study

import (
	"cmp"
	"encoding/json"
	"time"

	"caucus/dataset"
	"caucus/privacy"
)

// Proposal is a researcher's request for a study. planning.ProposePlan makes a plan from it, and
// analyst/simulate runs it among virtual parties. Fields that are zero get the defaults named here.
type Proposal struct {
	Name       string             `yaml:"name" help:"the study's name, as in file names: lower-case letters, digits and dashes"`
	Kind       string             `yaml:"kind" default:"classify" help:"what is studied: classify, describe, evaluate, labels, ratio or reweigh"`
	Purpose    string             `yaml:"purpose" help:"what it is for, in words: for the persons who approve"`
	Contact    string             `yaml:"contact" help:"whom to ask: for the persons who approve"`
	SourceName string             `yaml:"data" help:"the data source that agents should use"`
	Where      string             `yaml:"where" help:"which records the study is about: a condition on features and label, such as 'age >= 65 and sex == Female'; default: all"`
	Map        dataset.Components `yaml:"map"`
	Roster     []PartyID          `yaml:"roster" help:"parties that may contribute; default: all that are enrolled. {tags: {region: north}} names those who have these tags when the study is created; nothing changes that later"`

	Unit      privacy.Unit    `yaml:"unit" default:"record; label for ratio and labels" help:"what one guarantee hides: party, patient, record or label"`
	Choose    Choice          `yaml:"choose" help:"which record of a patient counts at unit patient: first or last, by the day in the schema's patient_date; default: one that each site's secret key chooses"`
	Epsilon   float64         `yaml:"epsilon" default:"1" help:"privacy budget ε of one unit"`
	Delta     *float64        `yaml:"delta" help:"privacy budget δ, far below one over the number of units; 0: pure ε. Default: min(1e-6, 1/(10·units)), or 0 where the noise is pure"`
	Mechanism string          `yaml:"mechanism" help:"how noise is added; the names and the default depend on the kind"`
	Noise     Noise           `yaml:"noise" help:"who adds noise: site, coordinator or aggregators (coordinator and helper, on secret shares). Default: coordinator for unit party, else site"`
	Lambda    float64         `yaml:"lambda" help:"ridge of the central fit; 0: chosen after the release"`
	KindTerms json.RawMessage `yaml:"-"` // JSON; missing terms get the kind's defaults
	Weights   *WeightSource   `yaml:"weights"`

	Minimum    int       `yaml:"minimum" help:"least number of contributions; default: three quarters of the roster, at least 2"`
	Floor      int       `yaml:"floor" help:"lowest minimum that caucus study extend may set; default: the minimum stays"`
	Deadline   time.Time `yaml:"deadline" help:"when the study seals or fails"`
	Seal       *SealRule `yaml:"seal"`
	Readers    []string  `yaml:"readers" help:"who may fetch the release; default: parties and operators"`
	Records    int       `yaml:"records" help:"create: least number of records that each party is publicly known to hold, which limits δ (default 200); forecast: made-up records of each party (default 200); simulate: records dealt to each party (default: all, for ratio 500)"`
	PerPatient int64     `yaml:"per_patient" help:"most records of one patient that count, at unit record: of more, a part chosen by keys. Then k·ε (k²·ρ) is guaranteed for a patient. Default: any number, and then nothing is guaranteed for a patient"`
	Largest    int       `yaml:"largest" help:"number of records that the largest party declared, if it exceeds the least total of all contributors: the default of δ is for this number"`
	AUC        float64   `yaml:"auc" help:"how far features are publicly known to separate the classes, as an area under the curve: for the forecast. Default: a band from .65 to .85"`
	Seed       uint64    `yaml:"seed" help:"starts public random choices, never noise; forecast: no effect (its draws have fixed seeds); simulate: starts splits, training and simulated noise"`
}

// RecordsPerParty is the default number of records of a party. A small hospital has about as many
// patients with one disease.
const RecordsPerParty = 200

// Size is what a forecast takes as the study's size. It is public or assumed, and enters no proof.
type Size struct {
	Parties int
	Records int // records of all parties together
}

// Size returns the size that a forecast assumes for a number of parties.
func (p Plan) Size(parties int) Size {
	return Size{Parties: parties, Records: parties * cmp.Or(p.Records, RecordsPerParty)}
}

// DecodeTerms reads the kind's terms, if the proposal has any, and refuses unknown fields.
func (s Proposal) DecodeTerms(terms any) error {
	if s.KindTerms == nil {
		return nil
	}
	if err := DecodeStrictJSON(s.KindTerms, terms); err != nil {
		return PlanError(s.Kind, "%v", err)
	}
	return nil
}

// MaxDelta is the largest meaningful δ. A mechanism may publish each unit with probability δ; at
// MaxDelta it publishes about one unit in every ten studies.
func MaxDelta(units int) float64 { return 1 / (10 * float64(max(units, 1))) }

// DefaultDelta is the default δ for this number of units: at most 10⁻⁶ and at most MaxDelta.
func DefaultDelta(units int) float64 { return min(1e-6, MaxDelta(units)) }

// DefaultDelta is the δ of a plan whose proposal gives no δ.
func (s Proposal) DefaultDelta(p Plan) float64 {
	if p.Unit == privacy.Party {
		return DefaultDelta(p.MinUnits())
	}
	return DefaultDelta(max(p.MinUnits(), s.Largest))
}

// ByRecord reports whether a bound that is proven for a record holds at u: at unit record, and at
// unit patient, where a study gets one record of each patient.
func ByRecord(u privacy.Unit) bool { return u == privacy.Record || u == privacy.Patient }

// Counted names what a site declares how many it has: at unit patient a patient, else a record.
func Counted(u privacy.Unit) string {
	if u == privacy.Patient {
		return "patient"
	}
	return "record"
}

// DefaultNoise is coordinator at unit party, because a noise that hides a whole party, drawn by
// each of M parties, would leave little; and site at the finer units.
func DefaultNoise(u privacy.Unit) Noise {
	if u == privacy.Party {
		return NoiseCoordinator
	}
	return NoiseSite
}
