package evidence_test

import (
	"context"
	"fmt"
	"math/big"

	"caucus/privacy"
	"caucus/study/verify/evidence"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A ledger is checked by its hashes, and against heads that were remembered elsewhere.
func ExampleCompareMemory() {
	ctx := context.Background()
	journal := privacy.NewMemoryJournal()
	ledger := must(privacy.Open(journal, privacy.Config{}))
	if err := ledger.Spend(ctx, "a study",
		privacy.PureCost(privacy.Record, 0, big.NewRat(1, 2))); err != nil {
		panic(err)
	}
	chain := must(privacy.VerifyEach(ctx, journal, func(privacy.Line) error { return nil }))
	empty := privacy.NewLedgerChain() // the folder was restored to its state before the study
	for _, chain := range []*privacy.LedgerChain{chain, empty} {
		for _, f := range evidence.CompareMemory(chain,
			evidence.LedgerMemory{Heads: []evidence.RememberedHead{{Head: privacy.Head{Sequence: 1},
				Who: "a note"}}}) {
			fmt.Println(f.Verdict, f.Text)
		}
	}
	// Output:
	// holds a note names entry 1, which is in the ledger
	// trust that no newer entry was deleted: nothing here can show it
	// fails a note: it ends at entry 0, but was at 1 once: its end was cut off, or it was put back to an older state
	// trust that no newer entry was deleted: nothing here can show it
}
