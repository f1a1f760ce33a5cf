package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// PartyID names a party; it is the certificate's name.
type PartyID string

// ErrPlan is wrapped by every refusal of a plan.
var ErrPlan = errors.New("plan refused")

// Refusal says which field of a study file makes a plan be refused, and why.
type Refusal struct{ Field, Why string }

func (r *Refusal) Error() string { return fmt.Sprintf("%v: %s: %s", ErrPlan, r.Field, r.Why) }

// Unwrap is ErrPlan.
func (r *Refusal) Unwrap() error { return ErrPlan }

// PlanError is a Refusal.
func PlanError(field, format string, args ...any) error {
	return &Refusal{field, fmt.Sprintf(format, args...)}
}

// Plan is what all parties of a study agree on. It is immutable once the study
// is open: its bytes are hashed and the hash is in every contribution.
type Plan struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Purpose string `json:"purpose,omitempty"`
	Contact string `json:"contact,omitempty"`
	// Data names the data source an agent should use; the agent's own
	// configuration decides what that is.
	Data string `json:"data,omitempty"`
	// Schema says what columns mean, never how a file is written: with a comment
	// character or a delimiter of the plan's choosing, how many records a site's
	// file holds, or whether it can be read at all, would tell what is in it.
	Schema dataset.Schema `json:"schema"`
	// Where says which records the study is about, by a condition on one record's
	// features and label (dataset.ParseCondition); "" is all. A record that it does not
	// hold for is an empty one: sizes do not change.
	Where string      `json:"where,omitempty"`
	Map   dataset.Map `json:"map"`
	// Pool is the digest of the public pool.
	Pool auxdata.Digest `json:"pool"`
	// Roster lists who may contribute.
	Roster []PartyID `json:"roster"`
	// Records is how many records each site is publicly known to hold at least.
	// At unit record and label it says how large δ may be; a forecast uses it.
	Records int `json:"records,omitempty"`

	Unit      privacy.Unit `json:"unit"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Mechanism string       `json:"mechanism"`
	// Noise is where noise is added: "site", "coordinator" or "aggregators".
	Noise Noise `json:"noise"`
	// Lambda is the ridge of the central fit; 0 chooses it after the release
	// where the mechanism allows (auto).
	Lambda float64 `json:"lambda"`

	// KindTerms are what the kind says beyond the common, canonical JSON that the
	// kind alone reads (DecodeTerms); none where it says nothing.
	KindTerms json.RawMessage `json:"kind_terms,omitempty"`
	// Weights says where the pool's weights come from, or what it was made of.
	Weights *WeightSource `json:"weights,omitempty"`

	// Minimum is the least number of contributions that may seal the study.
	Minimum int `json:"minimum"`
	// Floor is the least that an amendment may lower the minimum to; 0 keeps it. What
	// parties ask of a minimum they ask of the floor.
	Floor int `json:"floor,omitempty"`
	// Deadline is when the study seals or fails.
	Deadline time.Time `json:"deadline,omitzero"`
	// Seal says when it seals before; nil: when all have contributed.
	Seal *SealRule `json:"seal,omitempty"`
	// Readers may fetch the release; empty means the parties and operators.
	Readers []string `json:"readers,omitempty"`
	// Seed drives public randomness (fresh public noise for the choice of λ).
	Seed uint64 `json:"seed"`
	// TermsDigest is the digest of what releases are made under, as whoever made the
	// plan computed it: see the function of that name.
	TermsDigest string `json:"terms,omitempty"`
	// Simulated marks a plan for virtual parties and a simulation ledger. Only
	// such a plan may name a mechanism without a proof; daemons refuse it.
	Simulated bool `json:"simulated,omitempty"`
}

// Budget is ε and δ together.
func (p Plan) Budget() privacy.Budget {
	return privacy.Budget{Epsilon: p.Epsilon, Delta: p.Delta}
}

// Hash names a plan: the SHA-256 of its canonical bytes.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("read plan hash: have %d characters, want %d", len(text), 2*len(h))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// HashOf names the plan with these bytes.
func HashOf(canonical []byte) Hash { return sha256.Sum256(canonical) }

// Canonical is the plan's bytes, which are signed and hashed: JSON in the
// order of the fields.
func (p Plan) Canonical() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return b, nil
}

// DecodePlan reads canonical bytes and refuses any other. Unknown fields are refused:
// an agent must not agree to terms that it does not understand. A name given twice, or
// in other letters, would read as one thing here and as another elsewhere. Nothing else
// is checked.
func DecodePlan(canonical []byte) (Plan, error) {
	var p Plan
	if err := DecodeStrictly(canonical, &p); err != nil {
		return Plan{}, fmt.Errorf("%w: not a plan this version understands: %v", ErrPlan, err)
	}
	if again, err := p.Canonical(); err != nil || !bytes.Equal(again, canonical) {
		return Plan{}, fmt.Errorf("%w: its bytes are not canonical: write them with Plan.Canonical", ErrPlan)
	}
	return p, nil
}

// Mapped applies the plan's public map to records; no records give an empty matrix.
func (p Plan) Mapped(records *dataset.Records) *mat.Dense {
	if records.Len() == 0 {
		return &mat.Dense{}
	}
	return p.Map.Apply(records.X)
}

// Units is how many units of the plan's kind are publicly known to be in the
// study: at unit party the roster, at record and label what as many sites as its
// minimum hold at least. Counted at the floor they would be fewer, and δ might be larger.
func (p Plan) Units() int {
	if p.Unit == privacy.Party {
		return max(len(p.Roster), p.Minimum)
	}
	return p.Minimum * p.Records
}

// maxUnits bounds parties and records of a plan, so that their product is an int.
const maxUnits = 1 << 30

// MostParties is how many contributions there can be, at least 1.
func (p Plan) MostParties() int64 { return int64(max(len(p.Roster), p.Minimum, 1)) }

// CheckCommon refuses a plan whose common part is incomplete or contradicts itself. What
// its kind says is the kind's to check.
func (p Plan) CheckCommon() error {
	if p.Name == "" {
		return PlanError("name", "give the study a name")
	}
	if err := checkTexts("", reflect.ValueOf(p)); err != nil {
		return err
	}
	if !reflect.DeepEqual(p.Schema, p.Schema.Meaning()) {
		return PlanError("schema", "how a file is read is the site's to say: leave out delimiter, columns and comment, which belong in the site's own schema; a plan's schema says what columns mean")
	}
	if err := p.Schema.Validate(); err != nil {
		return PlanError("schema", "%v", err)
	}
	if err := p.checkWhere(); err != nil {
		return err
	}
	if err := p.Map.Validate(); err != nil {
		return PlanError("map", "%v", err)
	}
	if p.Map.Columns() != p.Schema.Dim() {
		return PlanError("map", "it takes %d encoded features, the schema has %d", p.Map.Columns(), p.Schema.Dim())
	}
	if !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 1) {
		return PlanError("epsilon", "%v is not positive and finite: typical values are 0.1 to 3", p.Epsilon)
	}
	if !(p.Delta >= 0 && p.Delta < 1) {
		return PlanError("delta", "%v is not in [0,1): use 0 for pure ε, or far less than 1/units, such as 1e-6", p.Delta)
	}
	if err := p.Budget().Validate(); err != nil {
		return PlanError("epsilon", "%v", err)
	}
	if p.Lambda < 0 || math.IsNaN(p.Lambda) || math.IsInf(p.Lambda, 1) {
		return PlanError("lambda", "%v is negative or not finite: give a ridge above 0, or 0 for auto", p.Lambda)
	}
	if err := p.Noise.Validate(); err != nil {
		return PlanError("noise", "%v", err)
	}
	if p.Minimum < 1 || p.Minimum > maxUnits {
		return PlanError("minimum", "%d: at least one contribution is needed", p.Minimum)
	}
	if p.Floor < 0 || p.Floor > p.Minimum {
		return PlanError("floor", "%d is not between 1 and the minimum of %d: it is the least that an amendment may lower the minimum to; leave it out to keep the minimum", p.Floor, p.Minimum)
	}
	if err := p.Seal.check("seal"); err != nil {
		return err
	}
	if p.Records < 0 || p.Records > maxUnits {
		return PlanError("records", "%d: give how many records each site is publicly known to hold at least", p.Records)
	}
	if len(p.Roster) > 0 && p.Minimum > len(p.Roster) {
		return PlanError("minimum", "%d is more than the %d parties on the roster", p.Minimum, len(p.Roster))
	}
	if sorted := slices.Sorted(slices.Values(p.Roster)); len(slices.Compact(sorted)) != len(p.Roster) {
		return PlanError("roster", "a party is listed twice")
	}
	if err := p.Weights.check(); err != nil {
		return err
	}
	return p.checkDelta()
}

// CheckDelta refuses a δ that would allow giving units away: under δ a mechanism may publish
// each of n units with probability δ, so n·δ must be far below one. Which units says how many
// there are, and by whose word: the plan's own numbers are the coordinator's, so each site
// holds δ against its own as well.
func (p Plan) CheckDelta(units int, which string) error {
	if most := MostDelta(units); p.Delta > most {
		return PlanError("delta", "%g is above %.3g, one over ten times the %d units (%s) %s: it would allow giving a whole unit away; give less, such as %.3g", p.Delta, most, units, p.Unit, which, DefaultDelta(units))
	}
	return nil
}

// checkDelta holds δ against what the plan says is public. A simulation protects nobody, and
// only warns.
func (p Plan) checkDelta() error {
	if p.Simulated {
		return nil
	}
	if p.Unit != privacy.Party && p.Records < 1 {
		return PlanError("records", "%d: at unit %s say how many records each site is publicly known to hold at least; it bounds δ", p.Records, p.Unit)
	}
	return p.CheckDelta(p.Units(), "that are publicly known to be in the study")
}
