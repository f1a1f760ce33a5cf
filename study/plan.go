package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// PartyID is a party's name, as in its certificate.
type PartyID string

// ErrPlan is wrapped by every refusal of a plan.
var ErrPlan = errors.New("plan refused")

// Refusal says which field of a study file is refused, and why.
type Refusal struct{ Field, Reason string }

// Error begins with ErrPlan's text, then the field, then what to write instead.
func (r *Refusal) Error() string { return fmt.Sprintf("%v: %s: %s", ErrPlan, r.Field, r.Reason) }

// Unwrap returns ErrPlan, so that errors.Is recognises every refusal of a plan.
func (r *Refusal) Unwrap() error { return ErrPlan }

// PlanError makes a Refusal. The text says what to write instead.
func PlanError(field, format string, args ...any) error {
	return &Refusal{field, fmt.Sprintf(format, args...)}
}

// Plan is the agreement of all parties of a study. Every contribution carries the SHA-256 of its
// bytes.
type Plan struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Form is the version of contributions, FormCommitted for new plans. Plans of earlier versions
	// have 0 and keep the cells, steps and bytes that they were agreed with.
	Form    int    `json:"form,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	Contact string `json:"contact,omitempty"`
	// name of a data source, which each agent's configuration maps to its data
	SourceName string `json:"data,omitempty"`
	// Schema gives the meaning of columns, never the format of a file. If a plan could choose a
	// delimiter, then the number of records read, or whether the file can be read at all, would
	// reveal the file's content.
	Schema dataset.Schema `json:"schema"`
	// Where is a condition on records (dataset.ParseCondition), "" for none. A record that fails it
	// counts as empty.
	Where  string         `json:"where,omitempty"`
	Map    dataset.Map    `json:"map"`
	Pool   auxdata.Digest `json:"pool"`
	Roster []PartyID      `json:"roster"`
	// least number of records at each site, publicly known; bounds δ
	Records int `json:"records,omitempty"`
	// PerPatient is the most records of one patient that count at each site, at unit record. Then k
	// times the guarantee holds for a patient. 0: no such number.
	PerPatient int64 `json:"per_patient,omitempty"`

	Unit privacy.Unit `json:"unit"`
	// Choose says which record of a patient counts at unit patient.
	Choose    Choice  `json:"choose,omitempty"`
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Mechanism string  `json:"mechanism"`
	Noise     Noise   `json:"noise"`
	// ChargeByL2 says that pure noise costs a ρ that follows from the L2 bound
	// (privacy.ChargeByL2). Without ChargeByL2, as in plans of earlier versions, pure noise costs ρ
	// = ε²/2.
	ChargeByL2 bool    `json:"rho_by_l2,omitempty"`
	Lambda     float64 `json:"lambda"` // ridge of the central fit; 0: chosen after the release

	// canonical JSON, read by the kind (DecodeTerms)
	KindTerms json.RawMessage `json:"kind_terms,omitempty"`
	// where the pool's weights, or its rows, come from
	Weights *WeightSource `json:"weights,omitempty"`

	Minimum int `json:"minimum"`
	// lowest minimum that an amendment can set; 0: Minimum
	Floor    int       `json:"floor,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	Seal     *SealRule `json:"seal,omitempty"` // see Ending
	// who may fetch the release; empty: parties and operators
	Readers []string `json:"readers,omitempty"`
	Seed    uint64   `json:"seed"` // drives public randomness (the choice of λ)
	// computed by the plan's author (see the function TermsDigest)
	TermsDigest string `json:"terms,omitempty"`
	// Simulated plans use a simulation ledger and may name mechanisms without proof. Daemons refuse
	// them.
	Simulated bool `json:"simulated,omitempty"`
}

// FormCommitted is the form of new plans:
//
//   - A body in clear that is added up begins with a commitment (bodies.Task).
//   - describe and evaluate count missing cells apart, whether or not the schema expects them.
//   - Numbers within a bin are summed in steps that are fine enough for ten million records.
const FormCommitted = 3

// Budget is what one release of the plan may cost at the plan's unit, not what a party has left.
func (p Plan) Budget() privacy.Budget { return privacy.Budget{Epsilon: p.Epsilon, Delta: p.Delta} }

// Hash names a plan: the SHA-256 of its canonical bytes.
type Hash [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits. On a command line the first of them may do.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes what String returns. It never fails.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText takes exactly 64 hexadecimal digits, of either case.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("read plan hash: have %d characters, want %d", len(text), 2*len(h))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// HashOf returns the SHA-256 of a plan's bytes. Give the bytes that were signed, and never ones
// that were encoded again.
func HashOf(canonical []byte) Hash { return sha256.Sum256(canonical) }

// Canonical returns the bytes to hash and sign: JSON in the order of the fields.
func (p Plan) Canonical() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return b, nil
}

// DecodePlan reads canonical bytes and makes no other check. It refuses unknown fields, because an
// agent must understand all terms that it agrees to. It also refuses repeated names and names in
// another case, because another program could read them differently.
func DecodePlan(canonical []byte) (Plan, error) {
	var p Plan
	if err := DecodeStrictJSON(canonical, &p); err != nil {
		return Plan{}, fmt.Errorf("%w: not a plan this version understands: %v", ErrPlan, err)
	}
	if again, err := p.Canonical(); err != nil || !bytes.Equal(again, canonical) {
		return Plan{}, fmt.Errorf("%w: its bytes are not canonical: write them with Plan.Canonical", ErrPlan)
	}
	return p, nil
}

// DecodeStrictJSON reads one JSON document and refuses unknown fields.
func DecodeStrictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	// d.More would take a stray closing brace for the end
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("bytes follow the document")
	}
	return nil
}

// MapRecords applies the plan's public map. No records give an empty matrix.
func (p Plan) MapRecords(records *dataset.Records) *mat.Dense {
	if records.Len() == 0 {
		return &mat.Dense{}
	}
	return p.Map.Apply(records.X)
}

// MinUnits returns the publicly known number of units: at unit party the parties of the roster (or
// Minimum, if more), else Minimum × Records. With Floor, which is lower, in place of Minimum, there
// would be fewer units, and δ could be larger.
func (p Plan) MinUnits() int {
	if p.Unit == privacy.Party {
		return max(len(p.Roster), p.Minimum)
	}
	return p.Minimum * p.Records
}

// maxUnits bounds both parties and records, so that their product fits an int.
const maxUnits = 1 << 30

// MostParties returns the largest possible number of contributions, at least 1.
func (p Plan) MostParties() int64 { return int64(max(len(p.Roster), p.Minimum, 1)) }

// WeightSource describes the plan whose release gave the pool's weights or rows. Totals adds its
// cost.
type WeightSource struct {
	Plan     Hash         `json:"plan" yaml:"plan" help:"hash of the reweigh plan that the weights of the pool come from; pool_release fills it in"`
	Unit     privacy.Unit `json:"unit" yaml:"unit" help:"that plan's unit"`
	Epsilon  float64      `json:"epsilon" yaml:"epsilon" help:"that plan's ε"`
	Delta    float64      `json:"delta" yaml:"delta" help:"that plan's δ"`
	PerParty int64        `json:"per_party,omitempty" yaml:"per_party" help:"most records that one party added, where that plan says so"`
}

func (w *WeightSource) check() error {
	switch {
	case w == nil:
		return nil
	case !w.Unit.Valid():
		return PlanError("weights.unit", "%v: name the unit of the plan that released them", w.Unit)
	case !(w.Epsilon > 0) || math.IsInf(w.Epsilon, 1) || !(w.Delta >= 0 && w.Delta < 1):
		return PlanError("weights", "ε = %v, δ = %v: copy both from the plan that released the weights", w.Epsilon, w.Delta)
	case w.PerParty < 0:
		return PlanError("weights.per_party", "%d is negative", w.PerParty)
	}
	return nil
}

// Guarantee is what the earlier release cost, to be added to a plan's own (Plan.Totals).
func (w WeightSource) Guarantee() privacy.Guarantee {
	return privacy.Guarantee{Unit: w.Unit,
		Budget: privacy.Budget{Epsilon: w.Epsilon, Delta: w.Delta}, PerParty: w.PerParty}
}

// SealRule seals a study before its deadline.
type SealRule struct {
	Share        float64 `json:"share" yaml:"share" help:"seal the study before its deadline once this share of the roster has contributed, in (0,1], and no fewer than the minimum"`
	QuietSeconds int     `json:"quiet_seconds,omitempty" yaml:"quiet_seconds" help:"and nobody has contributed for this time, in seconds"`
}
