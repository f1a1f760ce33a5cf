package main

import (
	"fmt"
	"io"
	"strings"

	"caucus/aggregation"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds"
	"caucus/study/labels"
)

// describeRelease writes a release for people. The whole of it is its JSON.
func describeRelease(w io.Writer, r study.Release) error {
	p, err := kinds.PlanOf(r)
	if err != nil {
		return err
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("study", "%s (%s)", p.Name, r.PlanHash)
	line("kind", "%s by %s, noise: %s", p.Kind, p.Mechanism, p.Noise)
	line("guarantee", "%s", guaranteeOf(p))
	line("parties", "%d contributed: %s", r.Parties, partyList(r.Contributed))
	if len(r.Missing) > 0 {
		line("missing", "%s", partyList(r.Missing))
	}
	if r.Simulated {
		line("simulated", "its noise protected nobody")
	}
	if c, ok := classifier.Of(r.Result); ok {
		line("classifier", "%d classes, %d features, λ = %.3g", len(c.Classes), len(c.Weights), c.Lambda)
	}
	if r.Kind != "labels" {
		return nil
	}
	l, err := labels.ResultOf(r.Result)
	if err != nil {
		return err
	}
	return describeLabels(w, line, l)
}

// guaranteeOf says in words what a plan hides, and what it does not.
func guaranteeOf(p study.Plan) string {
	s := fmt.Sprintf("unit %s, ε = %g", p.Unit, p.Epsilon)
	if p.Delta > 0 {
		s += fmt.Sprintf(", δ = %g", p.Delta)
	}
	if p.Unit == privacy.Label {
		s += ": each label is hidden, the features beside it are not"
	}
	return s
}

// listedParties is how many names a line holds.
const listedParties = 12

func partyList(all []study.PartyID) string {
	names := make([]string, 0, listedParties)
	for _, p := range all[:min(len(all), listedParties)] {
		names = append(names, string(p))
	}
	if more := len(all) - listedParties; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// describeLabels writes what a labels study adds: how it was trained, what the
// privatised labels say of the classifier, and the classes' shares.
func describeLabels(w io.Writer, line func(string, string, ...any), l labels.Result) error {
	line("", "loss %s, risk %s, correction %s", l.Loss, l.Risk, l.Correction)
	line("records", "%d, each label as it was with probability %.4f, else one of the other classes", l.Records, l.Keep)
	if held, ok := l.Held(); ok {
		switch l.Risk {
		case aggregation.RiskBER:
			line("estimated", "balanced error %.3f, by cross-validation on the privatised labels, corrected for their noise", held)
		case aggregation.RiskAUC:
			line("estimated", "area under the curve %.3f against the privatised labels, whose noise takes it towards 0.5", 1-held)
		default:
			line("estimated", "accuracy %.3f ± %.3f, by cross-validation on the privatised labels, corrected for their noise", 1-held, l.HeldError())
		}
	}
	fmt.Fprintln(w, "\nclass shares of the records, corrected for the noise; ± is its standard error")
	t := newTable(w, "class", "share", "±")
	for k, name := range l.Classifier.Classes {
		t.add(name, fmt.Sprintf("%.4f", l.Shares.Projected[k]), fmt.Sprintf("%.4f", l.Shares.Error[k]))
	}
	return t.render()
}
