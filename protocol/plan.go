package protocol

import (
	"fmt"

	"caucus/study"
	"caucus/study/kinds"
)

// MaxPlanBytes bounds a plan's bytes, which are mostly map and roster: 30 bytes for each of 100,000
// parties, and a projection from 784 columns to 50.
const MaxPlanBytes = 3 << 20

// ParsePlan reads the canonical bytes of a plan that daemons may run, and returns its hash. It
// checks the plan like kinds.ParsePlan. It also refuses simulated plans, and plans without roster,
// deadline or terms. Errors wrap study.ErrPlan.
func ParsePlan(canonical []byte) (study.Plan, study.Hash, error) {
	refuse := func(format string, args ...any) (study.Plan, study.Hash, error) {
		return study.Plan{}, study.Hash{}, fmt.Errorf("%w: %s", study.ErrPlan,
			fmt.Sprintf(format, args...))
	}
	if len(canonical) > MaxPlanBytes {
		return refuse("it has %d bytes, at most %d are taken: use a smaller map or roster", len(canonical), MaxPlanBytes)
	}
	p, err := kinds.ParsePlan(canonical)
	if err != nil {
		return study.Plan{}, study.Hash{}, err
	}
	if p.Simulated {
		return refuse("it is simulated, so it protects nobody: only caucus simulate runs it")
	}
	if len(p.Roster) == 0 {
		return refuse("roster: name the parties that may contribute")
	}
	for _, party := range p.Roster {
		if err := CheckName(string(party)); err != nil {
			return refuse("roster: %v", err)
		}
	}
	if p.TermsDigest == "" {
		return refuse("terms: say what releases are made under, as study.TermsDigest computes it: whoever takes part then knows it before anything is charged")
	}
	if p.Deadline.IsZero() {
		return refuse("deadline: say when the study seals with whoever has contributed")
	}
	return p, study.HashOf(canonical), nil
}

// IsFinal reports whether a study is over: released, or failed. An amendment may still reopen a
// failed one if no noise was drawn.
func IsFinal(s study.State) bool { return s == study.Released || s == study.Failed }
