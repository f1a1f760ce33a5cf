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

// Manifest is what a release claims, for whoever must believe it without having
// been there. Everything in it but the parties, the weight, the ledger's lines
// and the software follows from plan and pool; verify.Claims recomputes it.
// Its canonical bytes are JSON in the order of the fields, and signed as part
// of the release.
type Manifest struct {
	// Form counts the changes of meaning and wording of a manifest.
	Form int `json:"form"`
	// PlanHash names the plan's canonical bytes.
	PlanHash  Hash   `json:"plan_hash"`
	Kind      string `json:"kind"`
	Mechanism string `json:"mechanism"`
	// Where says which records the study is about, "" all; the others were empty ones.
	Where string       `json:"where,omitempty"`
	Unit  privacy.Unit `json:"unit"`
	// Neighbours says which data a reader cannot tell apart.
	Neighbours string  `json:"neighbours"`
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	// Noise is where noise was added: "site", "coordinator" or "aggregators".
	Noise Noise `json:"noise"`
	// Parties is M, the number of contributions.
	Parties     int       `json:"parties"`
	Contributed []PartyID `json:"contributed"`
	Missing     []PartyID `json:"missing"`
	// Sealed is what sealed the study before its deadline (SealedBy…), beside that all
	// had contributed; "" where nothing did.
	Sealed string `json:"sealed,omitempty"`
	// Weight is how many ballots or records the released sum is over, as the
	// contributions declare; 0 where nothing is added up.
	Weight int64 `json:"weight,omitempty"`
	// Pool is the digest of the public pool and of its weights, if it has any;
	// WeightsPlan is the reweigh plan that those came from.
	Pool        auxdata.Digest `json:"pool"`
	WeightsPlan *Hash          `json:"weights_plan,omitempty"`
	// Inputs are the public numbers that the bounds follow from, with the
	// pool's rows themselves.
	Inputs BoundInputs `json:"bound_inputs"`
	// Costs are what each publication was made under, and its price.
	Costs []ReleaseCost `json:"costs"`
	// Totals are what all that went into the release guarantees a record and a
	// party; none where the pool has weights and the plan does not say what made
	// them.
	Totals []UnitTotal `json:"totals"`
	// NotProtected says what the guarantee does not cover.
	NotProtected []string `json:"not_protected"`
	// Ledger holds the lines of the aggregator's ledger that made the release,
	// in the order of Costs; none where each party released its own part.
	Ledger []privacy.Line `json:"ledger,omitempty"`
	// Simulated: made with virtual parties; it protects nobody.
	Simulated bool `json:"simulated,omitempty"`
	// Software is the version of the program that made the release.
	Software string `json:"software,omitempty"`
}

// ManifestForm is the one form that this version writes and reads. Raise it with every
// change of what a release says: the manifest, its words included, the noise that a plan and
// a pool call for, and a kind's result. No number is used again; a release of
// another form wants the version that made it (CheckForm).
const ManifestForm = 14

// ErrForm: another version made a release, in a form that this one does not read.
var ErrForm = errors.New("made by another version")

// CheckForm refuses a release that another version wrote in another form, as ErrForm.
func (m Manifest) CheckForm() error {
	if m.Form != ManifestForm {
		return fmt.Errorf("%w: it has form %d, and this program reads form %d alone: use the version that made it, %s", ErrForm, m.Form, ManifestForm, cmp.Or(m.Software, "which it does not name"))
	}
	return nil
}

// BoundInputs are public numbers of plan and pool.
type BoundInputs struct {
	PoolRows int `json:"pool_rows"`
	Features int `json:"features"` // after the plan's map
	Classes  int `json:"classes"`
	Shards   int `json:"shards,omitempty"` // ballots a party
}

// ReleaseCost is one publication: the noise, what it was proved under, and its
// price.
type ReleaseCost struct {
	Output    string `json:"output"`
	Mechanism string `json:"mechanism"`
	// Parameters of the noise are exact rationals.
	Parameters map[string]string `json:"parameters"`
	// Bound is how far one unit moves the integers that noise was added to. Its
	// weights, which follow from the pool, are left out: Weights is the SHA-256
	// of them, eight bytes each, big-endian.
	Bound   privacy.Bound   `json:"bound"`
	Weights *privacy.Digest `json:"bound_weights,omitempty"`
	// Cost is exact.
	Cost privacy.Cost `json:"cost"`
	// Epsilon, Delta and Rho say the same in short, at the plan's budget.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Rho     float64 `json:"rho,omitempty"`
}

// CostOf describes a publication at the plan's budget.
func CostOf(output, mechanism string, parameters map[string]string, b privacy.Bound, cost privacy.Cost, plan Plan) ReleaseCost {
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

// Claim is the part of a manifest that follows from plan and pool alone.
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

// Release is the document a study ends in: what is claimed, what was agreed,
// the result, and what is needed to check both.
type Release struct {
	Manifest `json:"manifest"`
	// Plan is the canonical bytes that the manifest's hash names.
	Plan json.RawMessage `json:"plan"`
	// Amendments are those of the plan, oldest first, as the coordinator signed them.
	Amendments []Signed `json:"amendments,omitempty"`
	Result     Result   `json:"result"`
	// Published are the aggregator's publications, each as the ledger gave it
	// (privacy.ParsePublished); Sum is the sum of the parties' own, where each
	// released its part and any reader may see it, or the bodies where the task keeps
	// them (Bodies.MarshalBinary). The result follows from
	// either. A simulated release has neither.
	Published [][]byte `json:"published,omitempty"`
	Sum       []byte   `json:"sum,omitempty"`
	// Aggregated is what the two servers signed where each released its share of the sum:
	// Published has one of each.
	Aggregated *Aggregated `json:"aggregated,omitempty"`
	// Senders are who sent each of the bodies in Sum, in their order, by the coordinator's
	// word; none where the plan does not say that readers see that (Words.Named).
	Senders []PartyID `json:"senders,omitempty"`
}

// DecodedPlan is the plan a release was made under. It refuses a release whose
// plan is not the one it names, or whose common part is refused; what the kind says is
// the kind's to check.
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

// CostsOf are the costs of a task's publications over a public weight, from
// plan and pool alone.
func CostsOf(t Task, weight int64) ([]ReleaseCost, error) {
	charges, err := t.Charges(weight)
	if err != nil {
		return nil, err
	}
	var out []ReleaseCost
	for _, c := range charges {
		out = append(out, CostOf(c.Output, c.Mechanism, c.Parameters, c.Bound, c.Exact, t.Plan()))
	}
	return out, nil
}

// ConcludingWarnings are about who is missing and where the pool's weights come
// from.
func ConcludingWarnings(p Plan, pool *auxdata.Pool, missing []PartyID) (all []string) {
	if p.Weights == nil && pool.Weight != nil {
		all = append(all, "the pool has weights and the plan does not say where they come from: if they were made of private records, what they cost is not counted here")
	}
	if len(missing) > 0 {
		all = append(all, fmt.Sprintf("%d of %d parties did not contribute: the result stands for those that did", len(missing), len(p.Roster)))
	}
	return all
}
