package study

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/auxdata"
	"caucus/privacy"
)

// Manifest holds a release's claims. Most follow from plan and pool, and verify.CheckClaims
// recomputes them. Parties, weight, ledger lines and software do not follow. Its canonical bytes,
// JSON in the order of the fields, are signed with the release.
type Manifest struct {
	Form      int    `json:"form"` // see ManifestForm
	PlanHash  Hash   `json:"plan_hash"`
	Kind      string `json:"kind"`
	Mechanism string `json:"mechanism"`
	// condition on records, "" for all; records that fail it count as empty
	Where       string       `json:"where,omitempty"`
	Unit        privacy.Unit `json:"unit"`
	Neighbours  string       `json:"neighbours"` // datasets that a reader cannot tell apart
	Epsilon     float64      `json:"epsilon"`
	Delta       float64      `json:"delta"`
	Noise       Noise        `json:"noise"`
	Parties     int          `json:"parties"` // M, the number of contributions
	Contributed []PartyID    `json:"contributed"`
	Missing     []PartyID    `json:"missing"`
	// what sealed the study early (SealedBy…), if not the last contribution
	Sealed string `json:"sealed,omitempty"`
	// ballots or records in the sum, as declared; 0: no sum
	Weight      int64          `json:"weight,omitempty"`
	Pool        auxdata.Digest `json:"pool"` // digest of the pool with its weights
	WeightsPlan *Hash          `json:"weights_plan,omitempty"`
	Inputs      BoundInputs    `json:"bound_inputs"` // public numbers from which the bounds follow
	Costs       []ReleaseCost  `json:"costs"`
	// Totals are the privacy costs, for each unit, of everything in the release. They are empty if
	// the source of the pool's weights is unknown.
	Totals       []UnitTotal `json:"totals"`
	NotProtected []string    `json:"not_protected"`
	// the aggregator's ledger lines, in the order of Costs; none if the parties added the noise
	Ledger    []privacy.Line `json:"ledger,omitempty"`
	Simulated bool           `json:"simulated,omitempty"` // virtual parties: nobody is protected
	Software  string         `json:"software,omitempty"`
}

// ManifestForm is the only form that this version reads and writes. Raise the number with every
// change of the manifest, its words, the noise for a plan and pool, or a kind's result. Never use a
// number twice.
const ManifestForm = 14

// ErrForm says that another version made the release, in another form.
var ErrForm = errors.New("made by another version")

// CheckForm refuses a release of another form with ErrForm.
func (m Manifest) CheckForm() error {
	if m.Form != ManifestForm {
		return fmt.Errorf("%w: it has form %d, and this program reads form %d alone: use the version that made it, %s", ErrForm, m.Form, ManifestForm, cmp.Or(m.Software, "which it does not name"))
	}
	return nil
}

// BoundInputs are public numbers of plan and pool.
type BoundInputs struct {
	PoolRows int `json:"pool_rows"`
	Features int `json:"features"` // number of features after the plan's map
	Classes  int `json:"classes"`
	Shards   int `json:"shards,omitempty"` // ballots per party
}

// ReleaseCost is the noise of one publication, the bound to which it was calibrated, and its cost.
type ReleaseCost struct {
	Output     string            `json:"output"`
	Mechanism  string            `json:"mechanism"`
	Parameters map[string]string `json:"parameters"` // exact rationals
	// Bound says how far one unit moves the integers before noise is added. It omits the bound's
	// weights, which follow from the pool. Weights is the SHA-256 of them, as eight big-endian
	// bytes each.
	Bound   privacy.Bound   `json:"bound"`
	Weights *privacy.Digest `json:"bound_weights,omitempty"`
	Cost    privacy.Cost    `json:"cost"` // exact
	Epsilon float64         `json:"epsilon"`
	Delta   float64         `json:"delta"`
	Rho     float64         `json:"rho,omitempty"`
}

// CostOf describes a publication with the plan's ε and δ.
func CostOf(output, mechanism string, parameters map[string]string, b privacy.Bound,
	cost privacy.Cost, plan Plan) ReleaseCost {
	c := ReleaseCost{
		Output: output, Mechanism: mechanism, Parameters: parameters, Bound: b, Cost: cost,
		Epsilon: plan.Epsilon, Delta: plan.Delta,
	}
	if b.Weight != nil {
		h := sha256.New()
		for _, w := range b.Weight {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(w)))
		}
		c.Weights = (*privacy.Digest)(h.Sum(nil))
		c.Bound.Weight = nil
	}
	if cost.Rho != nil {
		c.Rho, _ = cost.Rho.Float64()
	}
	if cost.Pure != nil {
		c.Delta = 0
	}
	return c
}

// Claim returns the part of a manifest that follows from plan and pool.
func Claim(t Task) Manifest {
	p, pool, w := t.Plan(), t.Pool(), t.Words()
	m := Manifest{
		Form: ManifestForm, PlanHash: t.Hash(), Kind: p.Kind, Mechanism: p.Mechanism, Where: p.Where, Unit: p.Unit, Neighbours: w.Neighbours,
		Epsilon: p.Epsilon, Delta: p.Delta, Noise: p.Noise, Pool: p.Pool, Totals: Totals(p, w), NotProtected: NotProtected(p, w),
		Inputs:    BoundInputs{PoolRows: pool.Rows(), Features: pool.Dim(), Classes: len(p.Schema.Classes()), Shards: w.Shards},
		Simulated: p.Simulated,
	}
	if p.Weights == nil && pool.Weight != nil {
		m.Totals = nil
	}
	if p.Weights != nil {
		m.WeightsPlan = &p.Weights.Plan
	}
	return m
}

// Release is a study's final document: claims, plan, result and the evidence that a reader checks.
type Release struct {
	Manifest   `json:"manifest"`
	Plan       json.RawMessage `json:"plan"` // the canonical bytes, with hash PlanHash
	Amendments []Signed        `json:"amendments,omitempty"`
	Result     Result          `json:"result"`
	// Published are the aggregator's publications from its ledger (privacy.ParsePublished). If each
	// party released its part, Sum holds the sum of the parts or, for a Keeper, their bodies
	// (Bodies.MarshalBinary) if every reader may see them. The result follows from Published or
	// Sum. A simulated release has neither.
	Published [][]byte `json:"published,omitempty"`
	Sum       []byte   `json:"sum,omitempty"`
	// signatures of two servers, if each released its share of the sum
	Aggregated *TwoServerProof `json:"aggregated,omitempty"`
	// who sent each body in Sum, if public (Words.ShownByName); only the coordinator's word stands
	// for this
	Senders []PartyID `json:"senders,omitempty"`
}

// DecodedPlan returns a release's plan if its hash and its common part are valid. The kind checks
// the rest.
func (r Release) DecodedPlan() (Plan, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Plan); err != nil {
		return Plan{}, fmt.Errorf("read release: its plan is not JSON: %w", err)
	}
	if got := HashOf(compact.Bytes()); got != r.PlanHash {
		return Plan{}, fmt.Errorf("read release: its plan has hash %s, it names %s: it was changed", got, r.PlanHash)
	}
	p, err := DecodePlan(compact.Bytes())
	if err != nil {
		return Plan{}, err
	}
	return p, p.CheckCommon()
}

// CostsOf returns the costs of a task's publications. weight is the public total of ballots or
// records.
func CostsOf(t Task, weight int64) ([]ReleaseCost, error) {
	charges, err := t.Charges(weight)
	if err != nil {
		return nil, err
	}
	var out []ReleaseCost
	for _, c := range charges {
		out = append(out, CostOf(c.Output, c.Mechanism, c.Parameters, c.Bound, c.CalibratedCost,
			t.Plan()))
	}
	return out, nil
}

// ConcludingWarnings warns about missing parties, and about pool weights of unknown source.
func ConcludingWarnings(p Plan, pool *auxdata.Pool, missing []PartyID) (all []string) {
	if p.Weights == nil && pool.Weight != nil {
		all = append(all, "the pool has weights and the plan does not say where they come from: if they were made of private records, what they cost is not counted here")
	}
	if len(missing) > 0 {
		all = append(all, fmt.Sprintf("%d of %d parties did not contribute: the result stands for those that did", len(missing), len(p.Roster)))
	}
	return all
}
