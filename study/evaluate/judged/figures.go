package judged

import (
	"fmt"
	"math"

	"caucus/study"
)

const shownGroups = 3

// drawn is a named line of a figure. It shows a subgroup or all records.
type drawn struct {
	name string
	Subgroup
}

func (c ClassResult) figures() []study.ReportFigure {
	if !c.Overall.AUC.Known() {
		return nil
	}
	all := []drawn{{allRecords, c.Overall}}
	for _, g := range c.Groupings {
		for _, l := range g.Levels {
			if l.AUC.Known() && len(all) <= shownGroups && len(l.Bins) == len(c.Overall.Bins) {
				all = append(all, drawn{g.Column + " " + l.Level, l})
			}
		}
	}
	calibration, roc := c.calibration(all), c.roc(all)
	calibration.Group, roc.Group = "The scores of class "+c.Class, "The scores of class "+c.Class
	return []study.ReportFigure{calibration, roc}
}

// calibration draws the share of the class against the score. If the scores are not probabilities,
// the axis runs from the lowest to the highest bin.
func (c ClassResult) calibration(all []drawn) study.ReportFigure {
	f := study.ReportFigure{
		Title: "Calibration of class " + c.Class, X: "probability that the score says", Y: "observed share of " + c.Class, To: 1, Diagonal: true,
		Caption: "Calibration: of the records with a score, the share that is of the class; on the dashed line both are alike. Bars are 95 % intervals of everybody; bins that noise drowns are left out.",
		Table:   study.ReportTable{Title: "score (the pool's mean in a bin) and share of the class, with 95 % intervals", Head: []string{"score"}},
	}
	if bins := c.Overall.Bins; !c.Probability {
		f.X, f.From, f.To, f.Diagonal = "score", bins[0].Mean, bins[len(bins)-1].Mean, false
		f.Caption = "The share of the class by score. Bars are 95 % intervals of everybody; bins that noise drowns are left out."
		if !(f.To > f.From) {
			f.To = f.From + 1
		}
	}
	for i, of := range all {
		line := study.ReportCurve{Name: of.name, Dots: true}
		for _, bin := range of.Bins {
			if n := bin.Observed; n.Known() {
				at := study.ReportPoint{X: inUnit((bin.Mean - f.From) / (f.To - f.From)),
					Y: inUnit(n.Value)}
				if i == 0 {
					at.Low, at.High = n.Ends()
				}
				line.Points = append(line.Points, at)
			}
		}
		f.Lines, f.Table.Head = append(f.Lines, line), append(f.Table.Head, of.name)
	}
	for k, bin := range c.Overall.Bins {
		row := []string{fmt.Sprintf("%.3f", bin.Mean)}
		for _, of := range all {
			row = append(row, of.Bins[k].Observed.Words(3))
		}
		f.Table.Rows = append(f.Table.Rows, row)
	}
	return f
}

func (c ClassResult) roc(all []drawn) study.ReportFigure {
	f := study.ReportFigure{
		Title: "ROC of class " + c.Class, X: "1 − specificity", Y: "sensitivity", To: 1, Diagonal: true,
		Caption: "ROC: of the records of the class, and of the others, the share that scores at or above each edge of a bin, kept from falling for display. The area under everybody's curve is the AUC, " + c.Overall.AUC.Words(3) + ".",
		Table:   study.ReportTable{Title: "1 − specificity, sensitivity where records at or above a score are called one of the class", Head: []string{"score"}},
	}
	for _, of := range all {
		line := study.ReportCurve{Name: of.name}
		for _, p := range of.ROC() {
			line.Points = append(line.Points, study.ReportPoint{X: p[0], Y: p[1]})
		}
		f.Lines, f.Table.Head = append(f.Lines, line), append(f.Table.Head, of.name)
	}
	for k := range len(c.Edges) + 2 {
		row := []string{c.rocScore(k)}
		for _, line := range f.Lines {
			text := "unknown"
			if k < len(line.Points) {
				text = fmt.Sprintf("%.3f, %.3f", line.Points[k].X, line.Points[k].Y)
			}
			row = append(row, text)
		}
		f.Table.Rows = append(f.Table.Rows, row)
	}
	return f
}

func (c ClassResult) rocScore(k int) string {
	switch {
	case k == 0:
		return "none"
	case k > len(c.Edges):
		return "all"
	}
	v := c.Edges[len(c.Edges)-k]
	if c.Probability { // then the edges are log-odds
		v = 1 / (1 + math.Exp(-v))
	}
	return fmt.Sprintf("%.3f", v)
}

func inUnit(v float64) float64 { return min(max(v, 0), 1) }
