package main

import (
	"fmt"
	"io"

	"caucus/aggregation/ratio"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/internal/textpage"
	"caucus/study"
	"caucus/study/ratio/estimated"
)

// ratioEstimate is the JSON document of "caucus release predict" for a ratio release.
type ratioEstimate struct {
	Release string              `json:"release"`
	Data    string              `json:"data"`
	Rows    int                 `json:"rows"`
	Classes []ratioClass        `json:"classes"`
	Fit     ratio.GoodnessOfFit `json:"fit"`
	// Drift reports that no mixture of the study's classes explains the file.
	Drift bool `json:"drift"`
	// Condition is the factor by which errors grow in the paper's bound (Iyer, Nath & Sarawagi
	// 2016): the largest singular value of the sets' class shares, divided by the smallest singular
	// value of the sets' Gram matrix. (The warning "ill-conditioned" depends on the shares alone.)
	Condition  float64 `json:"condition"`
	Assumption string  `json:"assumption"`
	// Together says that the errors of several files are related, and how.
	Together   string          `json:"together"`
	Warnings   []ratio.Warning `json:"warnings"`
	NoInterval string          `json:"no_interval,omitempty"`
	// Error compares the estimate with the file's labels; nil if there are none.
	Error *ratio.Error `json:"error,omitempty"`
}

// ratioClass is one class's share with its 95 % interval. Without one, low is 0, high 1, and no
// standard error.
type ratioClass struct {
	Class    string  `json:"class"`
	Share    float64 `json:"share"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	SD       float64 `json:"sd,omitempty"`
	Training float64 `json:"training"` // the class's share in the study's sets
}

// together is the note for all files that are estimated from one release.
const together = "Other files asked of this release are off together with this one: its noise and its sets are the same for all, so an average over files does not cancel them, and 95 % of the intervals hold over releases, not over the files of one."

func (q *predicting) shares(release string, r study.Release, p study.Plan, result estimated.Result,
	records *dataset.Records) error {
	if p.Where != "" {
		q.Note("note: the study is about records for which %s: its estimate holds only for a file of such records", textpage.Printable(p.Where))
	}
	e, err := estimated.Estimate(r, records)
	if err != nil {
		return err
	}
	doc := ratioEstimate{
		Release: release, Data: q.data, Rows: records.Len(), Fit: e.GoodnessOfFit, Condition: e.Condition,
		Drift:    e.GoodnessOfFit.Tested && e.GoodnessOfFit.Statistic > e.GoodnessOfFit.Threshold,
		Together: together, Assumption: estimated.Assumption, Warnings: append([]ratio.Warning{}, e.Warnings...),
		NoInterval: e.NoInterval,
	}
	for k, name := range p.Schema.Classes() {
		of := ratioClass{name, e.Shares[k], e.Low[k], e.High[k], e.Sd[k], result.TrainingShares[k]}
		if e.NoInterval != "" {
			of.SD = 0
		}
		doc.Classes = append(doc.Classes, of)
	}
	labelled := 0
	for _, y := range records.Y {
		if y >= 0 {
			labelled++
		}
	}
	if labelled == records.Len() {
		truth := ratio.SharesOfLabels(records.Y, nil, len(doc.Classes))
		off := ratio.Measure(truth, e.Shares, records.Len())
		doc.Error = &off
	}
	if q.plot != "" {
		if err := q.WriteText(q.plot, []byte(ratioPlot(doc))); err != nil {
			return err
		}
		q.Note("wrote %s", q.plot)
	}
	return q.Print(doc, func(w io.Writer) { printRatioEstimate(w, doc, r.Simulated) })
}

func printRatioEstimate(w io.Writer, d ratioEstimate, simulated bool) {
	t := console.NewTable(w, "class", "share", "low", "high", "in the sets")
	for _, k := range d.Classes {
		low, high := fmt.Sprintf("%.3f", k.Low), fmt.Sprintf("%.3f", k.High)
		if d.NoInterval != "" {
			low, high = "-", "-"
		}
		t.Add(k.Class, fmt.Sprintf("%.3f", k.Share), low, high, fmt.Sprintf("%.3f", k.Training))
	}
	t.Render()
	intervals := "Low to high are 95 % intervals, privacy noise included"
	if d.NoInterval != "" {
		intervals = "No interval: " + d.NoInterval
	}
	fmt.Fprintf(w, "\n%s. %s; the last column is the class's share in the study's sets.\n%s\n%s\n", console.Counted(d.Rows, "records"), intervals, d.Assumption, d.Together)
	if d.Fit.Tested && !d.Drift {
		fmt.Fprintf(w, "The file fits this assumption: statistic %.2f; above %.2f the estimate would be doubtful.\n", d.Fit.Statistic, d.Fit.Threshold)
	}
	for _, m := range d.Warnings {
		fmt.Fprintf(w, "warning: %s (%.4g, limit %.4g): %s\n", m.Reason, m.Value, m.Limit,
			m.Advice)
	}
	if d.Error != nil {
		fmt.Fprintf(w, "The file's labels were not used; from their shares, the estimates differ by %.3f in all (L1 distance).\n", d.Error.L1)
	}
	if simulated {
		fmt.Fprintln(w, "This release is simulated, so it protects nobody.")
	}
}
