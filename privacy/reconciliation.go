package privacy

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Paid is an entry that a ledger has lost, named by its hash, and what was
// charged again for it.
type Paid struct {
	Entry Digest `json:"entry"`
	Costs []Cost `json:"costs"`
}

// reconciliation is the body of an entry of that kind: lost costs that no entry
// is known of, and lost entries.
type reconciliation struct {
	Costs []Cost `json:"costs,omitempty"`
	Paid  []Paid `json:"paid"`
}

// all are the costs in the order of a Line's.
func (r reconciliation) all() []Cost {
	all := r.Costs
	for _, p := range r.Paid {
		all = append(all[:len(all):len(all)], p.Costs...)
	}
	return all
}

// encode writes a list of costs where no entry is named, as all reconciliations
// once were.
func (r reconciliation) encode() ([]byte, error) {
	if len(r.Paid) == 0 {
		return encodeCosts(r.Costs)
	}
	return json.Marshal(r)
}

func decodeReconciliation(b []byte) (r reconciliation, err error) {
	if !bytes.HasPrefix(b, []byte("{")) {
		r.Costs, err = decodeCosts(b)
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read reconciliation: %w", err)
	}
	for _, c := range r.all() {
		if err := c.Validate(); err != nil {
			return r, fmt.Errorf("read reconciliation: %w", err)
		}
	}
	return r, nil
}
