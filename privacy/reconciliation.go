package privacy

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Recharge names a lost entry by its hash, with the costs that were charged again for it.
type Recharge struct {
	Entry Digest `json:"entry"`
	Costs []Cost `json:"costs"`
}

// reconciliation is the body of a KindReconcile entry: costs of unnamed and of named lost entries.
type reconciliation struct {
	Costs []Cost     `json:"costs,omitempty"`
	Paid  []Recharge `json:"paid"`
}

func (r reconciliation) all() []Cost {
	all := r.Costs
	for _, p := range r.Paid {
		all = append(all[:len(all):len(all)], p.Costs...)
	}
	return all
}

// encode writes a plain list of costs if no entry is named, the older format.
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
