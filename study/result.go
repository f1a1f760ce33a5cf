package study

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Result is what the analyst gets. All of it is public once released.
type Result struct {
	// Body is what the kind says, canonical JSON that the kind reads (DecodeBody).
	Body json.RawMessage `json:"body"`
	// Warnings are for people.
	Warnings []string `json:"warnings,omitempty"`
}

// NewResult is a result with a kind's body.
func NewResult(body any, warnings []string) (Result, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return Result{}, fmt.Errorf("encode result: %w", err)
	}
	return Result{Body: b, Warnings: warnings}, nil
}

// DecodeBody reads what a kind says into what body points to. It refuses what the
// kind does not know, and any writing but that of NewResult.
func (r Result) DecodeBody(body any) error {
	if err := DecodeStrictly(r.Body, body); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if !bytes.Equal(canonical, compact(r.Body)) {
		return fmt.Errorf("read result: it is not written in the canonical way: it was changed")
	}
	return nil
}

// compact leaves out the space that makes JSON readable; a release file has some.
func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
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
