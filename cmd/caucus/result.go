package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"caucus/analyst/report"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds/results"
)

// describeRelease writes a release for people, with its plan and its report.
func describeRelease(w io.Writer, r study.Release, p study.Plan, told study.Report) {
	w = textpage.PlainWriter{Writer: w}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("study", "%s (%s)", p.Name, r.PlanHash)
	line("answer", "%s", textpage.Printable(told.Answer))
	line("kind", "%s by %s, noise added by %s", p.Kind, p.Mechanism, p.Noise.Trust().By)
	if p.Where != "" {
		line("about", "%s", textpage.Printable(p.ConditionText()))
	}
	line("guarantee", "%s", guaranteeOf(p))
	line("", "%s", report.RemovalText(p, r.Costs))
	line("parties", "%d contributed: %s", r.Parties, partyList(r.Contributed))
	if len(r.Missing) > 0 {
		line("missing", "%s", partyList(r.Missing))
	}
	if r.Simulated {
		line("simulated", "its noise protected nobody")
	}
	if c, ok := classifier.Of(r.Result); ok {
		line("classifier", "%s; %s; ridge λ = %.3g", console.Counted(len(c.Classes), "classes"),
			columnWords(p), c.Lambda)
		line("", "the classifier's numbers are %s", c.Words())
		if of := c.Calibration; of != nil {
			line("", "calibration factor of the scores: %.3f (95 %% interval %.3f to %.3f)", of.Slope, of.Low, of.High)
		}
	}
	for _, l := range told.Lines {
		line(l.Name, "%s", textpage.Printable(l.Text))
	}
	for _, of := range told.Tables {
		fmt.Fprintf(w, "\n%s\n", textpage.Printable(of.Title))
		t := console.NewTable(w, of.Head...)
		for _, row := range of.Rows {
			t.Add(row...)
		}
		t.Render()
	}
}

func columnWords(p study.Plan) string {
	words := fmt.Sprintf("%s, encoded as %d numbers",
		console.Counted(len(p.Schema.FeatureColumns()), "columns"), p.Schema.Dim())
	if n := p.Map.Dim() - 1; n != p.Schema.Dim() {
		words += fmt.Sprintf(", mapped to %d", n)
	}
	return words
}

// guaranteeOf says what a plan protects and what it does not.
func guaranteeOf(p study.Plan) string {
	s := fmt.Sprintf("unit %s, ε = %g", p.Unit, p.Epsilon)
	if p.Delta > 0 {
		s += fmt.Sprintf(", δ = %g", p.Delta)
	}
	if p.Unit == privacy.Label {
		s += ": each label is hidden, the features beside it are not"
	}
	if p.Unit == privacy.Patient {
		s += ": each patient is hidden, with all records; what counts is " + p.ChosenText()
	}
	return s
}

// costWords returns the lines that stand below a plan's guarantee: how little a large ε promises,
// report.RemovalText, and what a site's ledger counts. They are the same for any weight of the
// sums. The ledger is empty, and its δ is ten times the plan's, 1e-6 if that has none.
func costWords(p study.Plan, pool *auxdata.Pool) (string, error) {
	task, err := results.NewTask(p, pool)
	if err != nil {
		return "", err
	}
	costs, err := study.CostsOf(task, 1)
	if err != nil {
		return "", err
	}
	charges, err := task.Charges(0)
	if err != nil {
		return "", err
	}
	delta, spent := cmp.Or(10*p.Delta, 1e-6), privacy.NewTotals()
	var after []float64
	for range 10 {
		for _, c := range charges {
			spent = spent.Plus(c.Cost)
		}
		after = append(after, spent[p.Unit].Epsilon(delta))
	}
	lines := []string{privacy.EpsilonWords(p.Unit, p.Epsilon), report.RemovalText(p, costs), ""}
	if after[0] < .99*p.Epsilon {
		lines[2] = fmt.Sprintf("at a site whose limit has δ = %.3g, %s; ten such studies cost %.3g",
			delta, study.LedgerWords(after[0], p.Epsilon), after[9])
	}
	var out strings.Builder
	for _, words := range lines {
		if words != "" {
			fmt.Fprintf(&out, "           %s\n", words)
		}
	}
	return out.String(), nil
}

// listedParties is the largest number of names on a line.
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
