package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study/labels/learned"
)

// publishedAccuracy is what Bi & Suppakitpaisarn 2022 report of em at ε = .5, on both sets, as
// "about 80 %".
const publishedAccuracy = 0.8

var measureOf = map[string]string{aggregation.RiskAccuracy: "accuracy", aggregation.RiskBER: "ber",
	aggregation.RiskAUC: "auc"}

func symmetricReport(_ *lab, r *results, p *page) error {
	p.paragraph("Labels are privatised, features are not. `em` is the exponential mechanism as published, exactly `rr` at half its ε; so `rr` at the same ε keeps more labels. Every method is a linear model on the same public features, its ridge chosen by cross-validation on the privatised labels; measures are on true test labels. A draw is a draw of the noise: records, map and test records are the same in all.")
	for _, set := range r.distinct("set") {
		in := r.where("set", set)
		p.section(set)
		for _, s := range slices.Concat(symmetricSets, symmetricQuick) {
			if s.Name == set {
				p.paragraph("Features: %s. %d draw(s).", s.features(), len(in.distinct("draw")))
			}
		}
		for _, risk := range r.distinct("risk") {
			for _, mechanism := range []string{"em", "rr"} {
				f := figure{Title: fmt.Sprintf("%s, risk %s, %s", set, risk, mechanism), X: "ε",
					Y: measureOf[risk], LogX: true}
				for _, loss := range r.distinct("loss") {
					c := curveOf(loss,
						in.where("risk", risk, "mechanism", mechanism, "correction", "none", "loss",
							loss), "epsilon", measureOf[risk])
					c.Dashed = !symmetricLoss(loss)
					f.Curves = append(f.Curves, c)
				}
				if risk == aggregation.RiskAccuracy && mechanism == "em" {
					f.Lines = []reference{{Name: "published, ε = .5", Y: publishedAccuracy}}
				}
				if err := p.figure(fmt.Sprintf("%s-%s-%s", set, risk, mechanism), f); err != nil {
					return err
				}
			}
		}
		for _, risk := range r.distinct("risk") {
			p.paragraph("**Risk %s: %s**, mean ± standard deviation over draws. *Lost* is what it gets worse by from ε = 5 to ε = .5.", risk, measureOf[risk])
			p.table(symmetricTable(in, risk))
		}
		p.paragraph("**rr against em**, risk accuracy: the difference of accuracy in the same draw, averaged over all %d losses and corrections, mean ± standard deviation over draws; and the best of them under each, by its mean.", methodsOf(aggregation.RiskAccuracy))
		p.table(againstTable(in))
		p.paragraph("%s", publishedLine(in))
		p.paragraph("**What is lost from ε = 5 to ε = .5**: the mean of the four symmetric losses beside logistic, without correction and with.")
		p.table(lostTable(in))
	}
	p.section("How many labels")
	p.paragraph("The probability that at least half of n labels are kept, two classes: the published guidance.")
	for _, mechanism := range []string{"em", "rr"} {
		f := figure{Title: "P[at least half are kept], " + mechanism, X: "n", Y: "probability",
			LogX: true}
		for _, epsilon := range symmetricEpsilons {
			c := curve{Name: fmt.Sprintf("ε = %g", epsilon)}
			keep, err := keepOf(mechanism, epsilon)
			if err != nil {
				return err
			}
			for n := 1; n <= 20_001; n = n*5/4 + 2 - n%2 {
				c.Points = append(c.Points,
					point{X: float64(n | 1), Y: learned.MajorityKept(n|1, keep)})
			}
			f.Curves = append(f.Curves, c)
		}
		if err := p.figure("success-"+mechanism, f); err != nil {
			return err
		}
	}
	return nil
}

func symmetricLoss(name string) bool {
	loss, err := learners.FindLoss(name)
	return err == nil && loss.Symmetric()
}

func methodsOf(risk string) int {
	n := 0
	for _, m := range symmetricMethods() {
		if m.Risk == risk {
			n++
		}
	}
	return n
}

func keepOf(mechanism string, epsilon float64) (float64, error) {
	calibrate := privacy.CalibrateResponse
	if mechanism == "em" {
		calibrate = privacy.CalibrateExponential
	}
	m, err := calibrate(2, epsilon)
	if err != nil {
		return 0, err
	}
	return m.KeepProbability(), nil
}

// noisy are the rows of privatised labels.
func noisy(in *results) *results {
	out := &results{columns: in.columns}
	for _, m := range []string{"em", "rr"} {
		out.join(in.where("mechanism", m))
	}
	return out
}

// symmetricTable has a row a method and mechanism, a column an ε.
func symmetricTable(in *results, risk string) (header []string, rows [][]string) {
	in = in.where("risk", risk)
	epsilons := noisy(in).numbers("epsilon")
	header = []string{"loss", "correction", "mechanism"}
	for _, e := range epsilons {
		header = append(header, fmt.Sprintf("ε = %g", e))
	}
	header = append(header, "lost", "true labels")
	for _, m := range symmetricMethods() {
		if m.Risk != risk {
			continue
		}
		of := in.where("loss", m.Loss, "correction", m.Correction)
		for _, mechanism := range []string{"em", "rr"} {
			at := of.where("mechanism", mechanism)
			row := []string{m.Loss, m.Correction, mechanism}
			for _, e := range epsilons {
				row = append(row, at.where("epsilon", e).over(measureOf[risk]).String())
			}
			row = append(row, number(lost(at, risk)),
				of.where("mechanism", "true labels").over(measureOf[risk]).String())
			rows = append(rows, row)
		}
	}
	return header, rows
}

// lost is how much worse a measure is at ε = .5 than at ε = 5; NaN where one of them was not
// measured.
func lost(at *results, risk string) float64 {
	much, little := at.where("epsilon", 5.).over(measureOf[risk]), at.where("epsilon",
		.5).over(measureOf[risk])
	if much.N == 0 || little.N == 0 {
		return math.NaN()
	}
	if risk == aggregation.RiskBER {
		return little.Mean - much.Mean
	}
	return much.Mean - little.Mean
}

// number is a cell; what was not measured is empty.
func number(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4f", x)
}

// againstTable compares the mechanisms at each ε.
func againstTable(in *results) (header []string, rows [][]string) {
	in = noisy(in).where("risk", aggregation.RiskAccuracy)
	header = []string{"ε", "rr − em", "methods of which rr is better", "best of em", "best of rr"}
	for _, e := range in.numbers("epsilon") {
		at := in.where("epsilon", e)
		rr, em := at.where("mechanism", "rr"), at.where("mechanism", "em")
		var differences []float64
		for _, draw := range at.distinct("draw") {
			a, b := rr.where("draw", draw).over("accuracy"), em.where("draw", draw).over("accuracy")
			if a.N > 0 && b.N > 0 {
				differences = append(differences, a.Mean-b.Mean)
			}
		}
		if len(differences) == 0 {
			continue
		}
		better := 0
		for _, m := range symmetricMethods() {
			if m.Risk == aggregation.RiskAccuracy &&
				rr.of(m).over("accuracy").Mean > em.of(m).over("accuracy").Mean {
				better++
			}
		}
		rows = append(rows, []string{
			fmt.Sprint(e), momentsOf(differences).String(), fmt.Sprintf("%d of %d", better, methodsOf(aggregation.RiskAccuracy)),
			bestOf(em), bestOf(rr),
		})
	}
	return header, rows
}

func momentsOf(v []float64) moments {
	m := moments{N: len(v)}
	if m.Mean, m.SD = stat.MeanStdDev(v, nil); len(v) == 1 {
		m.SD = 0
	}
	return m
}

func (r *results) of(m symmetricMethod) *results {
	return r.where("loss", m.Loss, "risk", m.Risk, "correction", m.Correction)
}

// bestOf names the method of the largest mean accuracy. Of so many the best is
// a little lucky; it is named to show how far it is.
func bestOf(at *results) string {
	best, name := moments{}, ""
	for _, m := range symmetricMethods() {
		if got := at.of(m).over("accuracy"); m.Risk == aggregation.RiskAccuracy && got.N > 0 &&
			got.Mean > best.Mean {
			best, name = got, m.Loss+", "+m.Correction
		}
	}
	return fmt.Sprintf("%s (%s)", best, name)
}

// publishedLine sets em beside what was published of it.
func publishedLine(in *results) string {
	hinge := symmetricMethod{"barrier-hinge", aggregation.RiskAccuracy, aggregation.CorrectionNone}
	at := in.where("epsilon", .5)
	em, rr := at.where("mechanism", "em"), at.where("mechanism", "rr")
	return fmt.Sprintf("**Beside the published figure**, about %g of accuracy for `em` at ε = .5: barrier hinge %s here under `em`, the best method %s; under `rr`, which spends the same ε, %s and %s.",
		publishedAccuracy, em.of(hinge).over("accuracy"), bestOf(em), rr.of(hinge).over("accuracy"),
		bestOf(rr))
}

// lostTable sets what symmetric losses lose beside what logistic does.
func lostTable(in *results) (header []string, rows [][]string) {
	header = []string{"risk", "mechanism", "symmetric losses", "logistic", "logistic, backward",
		"logistic, forward"}
	for _, risk := range in.distinct("risk") {
		for _, mechanism := range []string{"em", "rr"} {
			at := in.where("risk", risk, "mechanism", mechanism)
			sum, n := 0.0, 0.0
			for _, loss := range learners.LossNames() {
				if symmetricLoss(loss) {
					sum += lost(at.where("loss", loss, "correction", aggregation.CorrectionNone),
						risk)
					n++
				}
			}
			row := []string{risk, mechanism, number(sum / n)}
			for _, correction := range aggregation.Corrections() {
				row = append(row,
					number(lost(at.where("loss", "logistic", "correction", correction), risk)))
			}
			rows = append(rows, row)
		}
	}
	return header, rows
}
