package main

import (
	"encoding/json"
	"io"
	"math"

	"github.com/spf13/cobra"

	"caucus/analyst/report"
	"caucus/cmd/internal/console"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify/trained"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/survival/lifetable"
)

// shownRelease is the JSON document of "caucus release show".
type shownRelease struct {
	Release   string `json:"release"`
	Study     string `json:"study"`
	Kind      string `json:"kind"`
	Mechanism string `json:"mechanism"`
	Answer    string `json:"answer"`
	Guarantee string `json:"guarantee"`
	// ByRemoval is the ε of the same noise if neighbours differ by removing a unit instead of
	// replacing it; absent if unknown. ByRemovalIs describes it, or says why it is unknown.
	ByRemoval   *float64 `json:"epsilon_add_or_remove,omitempty"`
	ByRemovalIs string   `json:"add_or_remove"`
	Parties     int      `json:"parties"`
	// Simulated reports that the release's noise protected nobody.
	Simulated  bool                    `json:"simulated"`
	Missing    []study.PartyID         `json:"missing,omitempty"`
	Output     classifier.Output       `json:"output,omitempty"`
	Calibrated *classifier.Calibration `json:"calibration,omitempty"`
	// Coefficients are in the schema's units. Why describes them, or says why there are none.
	Coefficients *fitted.Coefficients `json:"coefficients,omitempty"`
	Why          string               `json:"coefficients_are,omitempty"`
	Warnings     []string             `json:"warnings,omitempty"`
	Costs        []study.ReleaseCost  `json:"costs"`
	Totals       []study.UnitTotal    `json:"totals"`
	NotProtected []string             `json:"not_protected"`
	// Tables are the report's tables; ROC holds the curves of an evaluation; Result is the kind's
	// own JSON.
	Tables []study.ReportTable `json:"tables,omitempty"`
	ROC    []judged.Curve      `json:"roc,omitempty"`
	// at the times that were asked for
	At     []lifetable.SurvivalAtTime `json:"survival_at,omitempty"`
	Result json.RawMessage            `json:"result"`
}

func newRelease(c *console.Console) *cobra.Command {
	return console.Group("release", "Read a release's file, check it and use it, here and offline",
		newReleaseShow(c), newReleaseReport(c), newReleaseVerify(c), newReleasePredict(c),
		newReleaseQuery(c), newReleaseExport(c), newReleaseCompare(c))
}

func newReleaseShow(c *console.Console) *cobra.Command {
	var at []float64
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what a release holds, with coefficients in the schema's units",
		Long: `Show what a release holds: the parties that took part, the guarantee, and the meaning of
the numbers. For a classifier from released sums (mechanism cross), also show odds
ratios: per 10 years of age, or for a level against a reference level. They are in the
schema's units, and corrected for the ridge by one Newton step. Intervals cover privacy
noise and sampling; a column has one only if its coverage was measured
(docs/analyst.md). Of survival curves, --at reads the share without the event at times
of your choice, at no further cost in privacy.`,
		Example: "  caucus release show release.json\n  caucus release show release.json --at 365,730",
		Args:    console.OneArgument("release show", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, time := range at {
				if !(time >= 0) || math.IsInf(time, 1) {
					return console.Usagef("--at %g is no time: give numbers of 0 or more", time)
				}
			}
			r, p, err := usableRelease(args[0])
			if err != nil {
				return err
			}
			told, err := results.Report(r)
			if err != nil {
				return unusable(args[0], err)
			}
			doc := shownRelease{
				Release: args[0], Study: p.Name, Kind: p.Kind, Mechanism: p.Mechanism, Answer: told.Answer, Guarantee: guaranteeOf(p), ByRemovalIs: report.RemovalText(p, r.Costs),
				Parties: r.Parties, Simulated: p.Simulated, Missing: r.Missing, Warnings: r.Result.Warnings,
				Costs: r.Costs, Totals: r.Totals, NotProtected: r.NotProtected, Tables: told.Tables, Result: r.Result.Body,
			}
			if of, err := judged.ResultOf(r); err == nil {
				doc.ROC = of.ROC()
			}
			if epsilon, _ := kinds.UnderRemoval(p, r.Costs); epsilon > 0 {
				doc.ByRemoval = &epsilon
			}
			if of, ok := classifier.Of(r.Result); ok {
				doc.Output, doc.Calibrated, doc.Coefficients = of.Output, of.Calibration,
					trained.CoefficientsOf(r)
			}
			if len(at) > 0 {
				t, err := lifetable.TableOf(r)
				if err != nil || p.Kind != "survival" {
					return console.Usagef("--at reads survival curves: %s is a release of kind %s, which has none", args[0], p.Kind)
				}
				for _, time := range at {
					doc.At = append(doc.At, t.At(time)...)
				}
				told.Tables = append(told.Tables, t.TableAtTimes(at))
				doc.Tables = told.Tables
			}
			for _, l := range told.Lines {
				if l.Name == "coefficients" {
					doc.Why = l.Text
				}
			}
			for _, m := range r.Result.Warnings {
				c.Note("warning: %s", m)
			}
			return c.Print(doc, func(w io.Writer) { describeRelease(w, r, p, told) })
		},
	}
	cmd.Flags().Float64SliceVar(&at, "at", nil,
		"times, such as 365,730, at which to read survival curves")
	return cmd
}
