package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/life"
)

// TestKeptOrSummed: contributions of a kind are either added up or kept, and a release from the
// other form is refused.
func TestKeptOrSummed(t *testing.T) {
	c, plans := fuzzPlans(t)
	kept := 0
	for _, p := range plans {
		task := conformance.TaskOf(t, p, c.pool)
		_, keeps := task.(study.BodyKeeper)
		sum, err := task.NewSum()
		if keeps != errors.Is(err, study.ErrNoSum) || keeps == (sum != nil) {
			t.Errorf("%s %s: keeps %v, sum %v, %v", p.Kind, p.Mechanism, keeps, sum, err)
		}
		of := study.Contributions{Bodies: study.BodiesOf(nil)}
		if keeps {
			kept++
			of = study.Contributions{}
		}
		s := life.Restore(p, conformance.HashOf(t, p), life.Snapshot{State: study.Summed})
		if _, err := life.Conclude(t.Context(), s, task, of, nil); err == nil ||
			!strings.Contains(err.Error(), "keeps bodies") {
			t.Errorf("%s %s: concluded of the wrong one: %v", p.Kind, p.Mechanism, err)
		}
	}
	if kept < 4 || kept == len(plans) {
		t.Errorf("%d of %d keep bodies", kept, len(plans))
	}
}
