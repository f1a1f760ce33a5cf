package journal_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"

	"caucus/privacy"
	"caucus/privacy/journal"
)

// A ledger file keeps its answer for a process that starts later.
func ExampleOpenSQLite() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ask := func() []int64 {
		j, err := journal.OpenSQLite(filepath.Join(dir, "ledger.db"))
		if err != nil {
			fmt.Println(err)
			return nil
		}
		defer j.Close()
		ledger, err := privacy.Open(j,
			privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1}}})
		if err != nil {
			fmt.Println(err)
			return nil
		}
		count, err := privacy.NewSensitive([]int64{37, 12},
			privacy.Bound{Unit: privacy.Record, L1: 2})
		if err != nil {
			fmt.Println(err)
			return nil
		}
		p, err := ledger.Release(context.Background(), "wards", count,
			privacy.DiscreteLaplace{Scale: big.NewRat(4, 1)})
		if err != nil {
			fmt.Println(err)
		}
		return p.Values
	}
	fmt.Println(slices.Equal(ask(), ask()))
	// Output: true
}
