package conformance_test

import (
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/conformance"
)

// TestAnotherBoundIsRefused: a release under another bound, mechanism or id than the plan's leaves
// no site and enters no sum: the manifest would claim a cost that the ledger was not charged.
func TestAnotherBoundIsRefused(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 5)
	p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
	task := conformance.TaskOf(t, p, c.pool)
	d, err := task.Contribute(c.inputs(c.records(t, alike(6, ill)), 0))
	must(t, err)
	ask := d.Requests[0]
	checker, err := study.NewChecker(task)
	must(t, err)
	variance := ask.Mechanism.(privacy.DiscreteGaussian).Variance
	more := privacy.DiscreteGaussian{Variance: new(big.Rat).Add(variance, big.NewRat(1, 1))}
	for name, change := range map[string]func(*study.ReleaseTerms){
		"the plan's":           func(*study.ReleaseTerms) {},
		"a smaller bound":      func(x *study.ReleaseTerms) { x.Bound.L2sq-- },
		"a bound on fewer":     func(x *study.ReleaseTerms) { x.Bound.Cells-- },
		"a bound with weights": func(x *study.ReleaseTerms) { x.Bound.Weight = slices.Repeat([]int64{1}, len(openAsk(t, ask))) },
		"a finer unit":         func(x *study.ReleaseTerms) { x.Bound.Unit = privacy.Label },
		"more noise":           func(x *study.ReleaseTerms) { x.Mechanism = more },
		"another output":       func(x *study.ReleaseTerms) { x.Output = "another" },
	} {
		terms := study.ReleaseTerms{Output: ask.Output, Bound: ask.Sensitive.Bound(),
			Mechanism: ask.Mechanism}
		change(&terms)
		s, err := privacy.NewSensitive(openAsk(t, ask), terms.Bound)
		must(t, err)
		ledger, err := privacy.Open(privacy.NewMemory(), privacy.Config{})
		must(t, err)
		released, err := ledger.Release(t.Context(), study.ReleaseID(task.Hash(), terms.Output), s,
			terms.Mechanism)
		must(t, err)
		if _, err := d.Body([]privacy.Published{released}); (err == nil) != (name == "the plan's") {
			t.Errorf("%s: a party sends it: %v", name, err)
		}
		writer, err := bodies.ReleasedAtParties(task.Plan(), terms)
		must(t, err)
		body, err := writer.Append(binary.BigEndian.AppendUint64(nil, 6), released)
		must(t, err)
		err = checker.Check(body)
		if (err == nil) != (name == "the plan's") || err != nil &&
			!strings.Contains(err.Error(), "other terms") {
			t.Errorf("%s: a coordinator adds it: %v", name, err)
		}
		if name != "the plan's" {
			continue
		}
		// A simulated release has another form, and a weight is at most a site's records.
		for what, change := range map[string]func([]byte){
			"simulated": func(b []byte) { b[8]++ }, "simulated by a literal sampler": func(b []byte) { b[8] += 2 },
			"too heavy": func(b []byte) { b[0]++ },
		} {
			b := slices.Clone(body)
			if change(b); checker.Check(b) == nil {
				t.Errorf("%s: a coordinator adds it", what)
			}
		}
	}
}
