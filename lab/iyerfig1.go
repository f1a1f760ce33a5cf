package main

import (
	"context"
	"fmt"
	"math"

	"caucus/aggregation/fitting"
	"caucus/privacy"
)

// iyerFig1Experiment measures how count mechanisms distort class shares (Iyer, Nath & Sarawagi
// 2016, figure 1).
func iyerFig1Experiment() experiment {
	return experiment{
		Name:   "iyer-fig1",
		About:  "distortion of published class shares by count mechanisms, over classes, shares and ε",
		Tasks:  iyerFig1Tasks,
		Report: iyerFig1Report,
	}
}

// iyerPoint is one set: all classes but the last have the same small share.
type iyerPoint struct {
	Sweep                 string
	At                    float64
	Classes               int
	Share, Epsilon, Delta float64
}

// Base point of the figure: m = 1000, five classes, four of share .05, ε = δ = .05.
const (
	iyerTotal   = 1000
	iyerClasses = 5
	iyerShare   = .05
	iyerEpsilon = .05
	iyerDelta   = .05
	iyerDraws   = 20
)

func iyerPoints() []iyerPoint {
	var all []iyerPoint
	for c := 2; c <= 10; c++ {
		all = append(all, iyerPoint{"classes", float64(c), c, iyerShare, iyerEpsilon, iyerDelta})
	}
	for _, s := range []float64{.025, .05, .075, .1, .125, .15, .175, .2} {
		all = append(all, iyerPoint{"share", s, iyerClasses, s, iyerEpsilon, iyerDelta})
	}
	for _, e := range []float64{.01, .02, .05, .1, .15, .2} {
		all = append(all, iyerPoint{"epsilon", e, iyerClasses, iyerShare, e, iyerDelta})
	}
	// Not in the paper: a δ that a release may have.
	for _, e := range []float64{.05, .1, .2, .5, 1, 2} {
		all = append(all, iyerPoint{"epsilon at delta 1e-6", e, iyerClasses, iyerShare, e, 1e-6})
	}
	return all
}

func (p iyerPoint) counts() []int64 {
	out := make([]int64, p.Classes)
	left := int64(iyerTotal)
	for k := range out[:p.Classes-1] {
		out[k] = int64(math.Round(p.Share * iyerTotal))
		left -= out[k]
	}
	out[p.Classes-1] = left
	return out
}

// iyerMechanisms are all that change counts.
func iyerMechanisms() []string {
	var out []string
	for _, m := range privacy.CountMechanisms() {
		if m != "none" && m != "auto" {
			out = append(out, m)
		}
	}
	return append(out, "auto")
}

func iyerFig1Tasks(l *lab) ([]task, error) {
	draws, points := l.draws(iyerDraws), iyerPoints()
	if l.Quick {
		draws, points = l.draws(5), []iyerPoint{points[0], points[3], points[18], points[25]}
	}
	var tasks []task
	for _, p := range points {
		for _, mechanism := range iyerMechanisms() {
			key := fmt.Sprintf("%s-%g-%s",
				map[string]string{"epsilon at delta 1e-6": "eps6"}[p.Sweep]+p.Sweep[:3], p.At,
				mechanism)
			tasks = append(tasks,
				task{Key: key, Run: func(ctx context.Context, out *results) error {
					return distort(ctx, l, p, mechanism, key, draws, out)
				}})
		}
	}
	return tasks, nil
}

func distort(ctx context.Context, l *lab, p iyerPoint, mechanism, key string, draws int,
	out *results) error {
	m, err := privacy.CalibrateCounts(mechanism, privacy.CountTerms{
		Unit: privacy.Label, Classes: p.Classes, Total: iyerTotal, Budget: privacy.Budget{Epsilon: p.Epsilon, Delta: p.Delta},
	})
	if err != nil {
		return err
	}
	counts := p.counts()
	s, err := privacy.NewSensitive(counts, privacy.CountBound(privacy.Label, p.Classes))
	if err != nil {
		return err
	}
	ledger := privacy.NewSimulation(l.Seed ^ hashOf(key))
	for draw := range draws {
		r, err := ledger.Release(ctx, fmt.Sprint(draw), s, m)
		if err != nil {
			return err
		}
		l1, err := movedShares(r, counts)
		if err != nil {
			return err
		}
		out.add("sweep", p.Sweep, "at", p.At, "classes", p.Classes, "share", p.Share, "epsilon",
			p.Epsilon, "delta", p.Delta,
			"mechanism", mechanism, "sampler", m.Name(), "draw", draw, "l1", l1)
	}
	return nil
}

// movedShares is the L1 distance by which a release moved the class shares of one set, after
// projection.
func movedShares(r privacy.Published, counts []int64) (float64, error) {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	e, err := privacy.EstimateCounts(r, []int64{total})
	if err != nil {
		return 0, err
	}
	l1 := 0.
	for j, v := range fitting.ProjectSimplex(e[0].Counts, float64(total)) {
		l1 += math.Abs(v-float64(counts[j])) / float64(total)
	}
	return l1, nil
}

func iyerFig1Report(_ *lab, r *results, p *page) error {
	p.paragraph("Sets of %d records; all classes but the last have a share of %g unless it is varied; base point ε = δ = %g, %d classes. L1 distance of the projected shares to the true ones. NAME-paper is a literal sampler of the paper, which no ledger releases: laplace-paper has no proof on floating point, and dirichlet-paper chooses σ by the private counts (its true δ at the base point is above .06).", iyerTotal, iyerShare, iyerEpsilon, iyerClasses)
	for _, sweep := range r.distinct("sweep") {
		some := r.where("sweep", sweep)
		f := figure{Title: "mean L1 by " + sweep, X: sweep, Y: "mean L1 distance", LogY: true,
			LogX: sweep[:3] == "eps"}
		header := []string{"mechanism"}
		for _, at := range some.numbers("at") {
			header = append(header, fmt.Sprintf("%g", at))
		}
		var rows [][]string
		for _, m := range some.distinct("mechanism") {
			f.Curves = append(f.Curves, curveOf(m, some.where("mechanism", m), "at", "l1"))
			row := []string{m}
			for _, at := range some.numbers("at") {
				row = append(row, some.where("mechanism", m, "at", at).over("l1").String())
			}
			rows = append(rows, row)
		}
		p.section("By " + sweep)
		p.table(header, rows)
		name := map[string]string{"epsilon at delta 1e-6": "epsilon-small-delta"}[sweep]
		if name == "" {
			name = sweep
		}
		if err := p.figure(name, f); err != nil {
			return err
		}
	}
	return nil
}
