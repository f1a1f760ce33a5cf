package privacy

import (
	"context"
	"fmt"
	"testing"
)

// TestTrialScores: answers about one vector are drawn anew each time. Two of all
// are the same in every number with probability below 1e-30: there are hundreds of
// numbers.
func TestTrialScores(t *testing.T) {
	trials := must(RealTrials())
	for _, trial := range trials[:2] {
		all := must(trial.Scores(context.Background(), 3))
		if len(all) != 3 {
			t.Fatalf("%s: %d answers", trial.Pair, len(all))
		}
		seen := map[string]bool{}
		for _, s := range all {
			if len(s.Numbers) < 100 || len(s.Score) != len(s.Numbers) {
				t.Errorf("%s: %d numbers, %d scores", trial.Pair, len(s.Numbers), len(s.Score))
			}
			seen[fmt.Sprint(s.Numbers)] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s: %d different answers of 3", trial.Pair, len(seen))
		}
	}
}
