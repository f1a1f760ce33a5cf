package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/privacy"
	"caucus/privacy/audit"
)

// auditReport is the JSON document of privacy audit.
type auditReport struct {
	Samples int `json:"samples"`
	Repeats int `json:"repeats"`
	// FalseAlarm is the probability that one audit refutes an honest mechanism.
	FalseAlarm float64      `json:"false_alarm"`
	Audits     []auditEntry `json:"audits"`
	// Dependence tests the noise of each mechanism for dependence.
	Dependence []dependenceEntry `json:"dependence"`
	// Holds: no audit refutes its claim, and all noise is independent.
	Holds   bool    `json:"holds"`
	Seconds float64 `json:"seconds"`
}

// auditEntry is one mechanism on one pair of neighbours.
type auditEntry struct {
	Mechanism  string            `json:"mechanism"`
	Parameters map[string]string `json:"parameters"`
	Neighbours string            `json:"neighbours"`
	Claim      privacy.Budget    `json:"claim"`
	// Shown is the finding of the repeat that shows most.
	Shown audit.LowerBound `json:"shown"`
	Holds bool             `json:"holds"`
}

// dependenceEntry is one mechanism at its real calibration.
type dependenceEntry struct {
	Mechanism  string                  `json:"mechanism"`
	Parameters map[string]string       `json:"parameters"`
	About      string                  `json:"about"`
	Shown      audit.DependenceFinding `json:"shown"`
	Holds      bool                    `json:"holds"`
}

func newPrivacyAudit(c *console) *cobra.Command {
	var mechanism string
	repeats := 1
	a := audit.Default()
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Try to refute what the mechanisms claim, by what they draw",
		Long: `Draw from every mechanism that may be released on two neighbouring vectors, learn
from half of the draws an event that tells the two apart, and bound ε from below
by how often it happens in the other half. A bound above the claim refutes the
mechanism, and the command fails. An honest mechanism is refuted with probability
--false-alarm at most. A low bound proves nothing: proofs stand beside the code.

Then draw through a ledger, on 240 numbers at the calibration of a study with
ε = 1, and look at all pairs of numbers and of answers for noise that repeats or
leans the same way, with the same false-alarm rate; one answer for 200 samples.`,
		Example: `  caucus privacy audit
  caucus privacy audit --mechanism dirichlet --samples 400000 --repeats 5 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			if err := a.Validate(); err != nil {
				return usageError{err}
			}
			if repeats < 1 {
				return usagef("--repeats %d: give at least 1", repeats)
			}
			trials, err := privacy.Trials()
			if err != nil {
				return err
			}
			var known []string
			for _, t := range trials {
				known = append(known, t.Mechanism.Name())
			}
			if known = slices.Compact(known); mechanism != "" && !slices.Contains(known, mechanism) {
				return usagef("--mechanism %q: use one of %s", mechanism, strings.Join(known, ", "))
			}
			doc := auditReport{Samples: a.Samples, Repeats: repeats, FalseAlarm: a.FalseAlarm, Holds: true}
			for _, t := range trials {
				if mechanism != "" && mechanism != t.Mechanism.Name() {
					continue
				}
				e, err := auditTrial(cmd, a, t, repeats)
				if err != nil {
					return err
				}
				doc.Audits = append(doc.Audits, e)
				doc.Holds = doc.Holds && e.Holds
				c.note("%s, %s: claims ε = %.3f, shows %.3f", e.Mechanism, e.Neighbours, e.Claim.Epsilon, e.Shown.Epsilon)
			}
			trials, err = privacy.RealTrials()
			if err != nil {
				return err
			}
			for _, t := range trials {
				if mechanism != "" && mechanism != t.Mechanism.Name() {
					continue
				}
				e, err := auditDependence(cmd, a, t)
				if err != nil {
					return err
				}
				doc.Dependence = append(doc.Dependence, e)
				doc.Holds = doc.Holds && e.Holds
				c.note("%s, %s: dependence %.2f of what would show it", e.Mechanism, e.About, e.Shown.Share)
			}
			doc.Seconds = time.Since(start).Seconds()
			if err := c.print(doc, doc.write); err != nil {
				return err
			}
			if !doc.Holds {
				return fmt.Errorf("a mechanism gives away more than it claims, or its noise hangs together: do not release with this build, and report it")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&mechanism, "mechanism", "", "only this sampler, such as discrete-laplace")
	f.IntVar(&a.Samples, "samples", a.Samples, "draws from each of two neighbours")
	f.IntVar(&repeats, "repeats", repeats, "how often to audit each")
	f.Float64Var(&a.FalseAlarm, "false-alarm", a.FalseAlarm, "probability that one audit refutes an honest mechanism")
	return cmd
}

// auditTrial repeats the audit of a trial and keeps the most telling finding.
func auditTrial(cmd *cobra.Command, a audit.Audit, t privacy.Trial, repeats int) (auditEntry, error) {
	a.Delta = t.Claim.Delta
	e := auditEntry{
		Mechanism: t.Mechanism.Name(), Parameters: privacy.ParametersOf(t.Mechanism), Neighbours: t.Pair, Claim: t.Claim,
	}
	var err error
	if e.Shown, err = a.Most(cmd.Context(), repeats, audit.Integers(t.Draws(rand.Reader))); err != nil {
		return e, err
	}
	e.Holds = !e.Shown.Exceeds(e.Claim.Epsilon)
	return e, nil
}

// auditDependence draws one vector's answers through a ledger, as a party does.
func auditDependence(cmd *cobra.Command, a audit.Audit, t privacy.Trial) (dependenceEntry, error) {
	e := dependenceEntry{Mechanism: t.Mechanism.Name(), Parameters: privacy.ParametersOf(t.Mechanism), About: t.Pair}
	scores, err := t.Scores(cmd.Context(), max(10, a.Samples/200))
	if err != nil {
		return e, err
	}
	answers := make([]audit.Noise, len(scores))
	for k, n := range scores {
		answers[k] = audit.Noise(n)
	}
	e.Shown, err = audit.Dependence{FalseAlarm: a.FalseAlarm}.Run(answers)
	e.Holds = !e.Shown.Dependent
	return e, err
}

func (r auditReport) write(w io.Writer) error {
	t := newTable(w, "mechanism", "neighbours", "δ", "ε claimed", "ε shown", "by")
	for _, e := range r.Audits {
		verdict := e.Shown.Event
		if !e.Holds {
			verdict = "REFUTED: " + verdict
		}
		t.add(e.Mechanism, e.Neighbours, fmt.Sprint(e.Claim.Delta), fmt.Sprintf("%.3f", e.Claim.Epsilon), fmt.Sprintf("%.3f", e.Shown.Epsilon), verdict)
	}
	if err := t.render(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%d draws from each of two neighbours, %d times; an honest mechanism is refuted with probability %.1g an audit\n\n", r.Samples, r.Repeats, r.FalseAlarm); err != nil {
		return err
	}
	t = newTable(w, "mechanism", "vector", "answers", "numbers", "dependence", "nearest")
	for _, e := range r.Dependence {
		verdict := e.Shown.By
		if !e.Holds {
			verdict = "REFUTED: " + verdict
		}
		t.add(e.Mechanism, e.About, fmt.Sprint(e.Shown.Answers), fmt.Sprint(e.Shown.Numbers), fmt.Sprintf("%.2f", e.Shown.Share), verdict)
	}
	if err := t.render(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "dependence: the largest sum, of what independent noise reaches with probability %.1g an audit; 1 refutes\n", r.FalseAlarm)
	return err
}
