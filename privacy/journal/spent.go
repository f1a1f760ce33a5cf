package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"caucus/internal/database"
	"caucus/privacy"
)

// Spending is a ledger's spending at one unit, in numbers that JSON can hold.
type Spending struct {
	Unit    privacy.Unit `json:"unit"`
	Charges int64        `json:"charges"`
	// Unproven counts the charges that guarantee nothing at this unit.
	Unproven int64   `json:"unproven"`
	Pure     float64 `json:"pure_epsilon"`
	Rho      float64 `json:"rho"`
	// Epsilon is null where no ε holds at this δ.
	Epsilon *float64 `json:"epsilon"`
	Delta   float64  `json:"delta"`
	// Limit is the ε that the site allows, in an agent's ledger.
	Limit *float64 `json:"limit_epsilon,omitempty"`
}

// OpenExisting opens the journal in a file, or at PostgreSQL's address. It creates none.
func OpenExisting(file string) (*Journal, error) {
	if database.IsServer(file) {
		return OpenServer(file)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no ledger at %s: nothing was spent there, or it is the wrong folder", file)
	}
	return OpenSQLite(file)
}

// SumSpending verifies the chain of the ledger in a file and sums its charges per unit. Each ε is
// at the δ of the unit's limit, or at delta if the unit has no limit.
func SumSpending(ctx context.Context, file string, limits map[privacy.Unit]privacy.Budget,
	delta float64) (all []Spending, err error) {
	j, err := OpenExisting(file)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	totals, err := privacy.Verify(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, u := range privacy.Units() {
		t := totals[u]
		row := Spending{Unit: u, Charges: t.Charges, Unproven: t.WithoutGuarantee, Delta: delta}
		row.Pure, _ = t.Pure.Float64()
		row.Rho, _ = t.Rho.Float64()
		if most, ok := limits[u]; ok {
			row.Delta, row.Limit = most.Delta, &most.Epsilon
		}
		if e := t.Epsilon(row.Delta); !math.IsInf(e, 1) {
			row.Epsilon = &e
		}
		all = append(all, row)
	}
	return all, nil
}
