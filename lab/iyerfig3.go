package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/ratio"
	"caucus/privacy"
)

// iyerFig3Experiment estimates class ratios from sets with private counts, by
// every count mechanism against none (Iyer, Nath & Sarawagi 2016, figure 3).
func iyerFig3Experiment() experiment {
	return experiment{
		Name:   "iyer-fig3",
		About:  "class ratios from sets with private counts: every mechanism against none, over ε",
		Tasks:  iyerFig3Tasks,
		Report: iyerFig3Report,
	}
}

// iyerFig3Set is a data set, how many sets are drawn, and the kernel's width in
// units of one over the median squared distance.
type iyerFig3Set struct {
	Name  string
	Sets  int
	Width float64
}

var (
	iyerFig3Sets     = []iyerFig3Set{{"mnist-pca", 20, 4}, {"tweets", 6, 2}, {"activities-3", 6, 2}}
	iyerFig3Epsilons = []float64{.05, .1, .2, .5, 1}
)

const (
	iyerFig3Draws    = 5
	iyerFig3Delta    = 1e-5
	iyerFig3Features = 2000
	iyerFig3Minor    = .05 // share of every class but a set's main one
)

func iyerFig3Tasks(l *lab) ([]task, error) {
	sets, draws := iyerFig3Sets, l.draws(iyerFig3Draws)
	if l.Quick {
		sets, draws = []iyerFig3Set{{"hospitals", 6, 2}}, l.draws(1)
	}
	var tasks []task
	for _, s := range sets {
		data := sync.OnceValues(func() (*ratioData, error) { return l.ratioSet(s.Name) })
		for draw := range draws {
			key := fmt.Sprintf("%s-draw%d", s.Name, draw)
			tasks = append(tasks,
				task{Key: key, Run: func(ctx context.Context, out *results) error {
					d, err := data()
					if err != nil {
						return err
					}
					return iyerFig3Draw(ctx, l, s, d, key, draw, out)
				}})
		}
	}
	return tasks, nil
}

// iyerFig3Shares are those of so many sets, each with one class that is frequent, in turn.
func iyerFig3Shares(sets, classes int) [][]float64 {
	shares := make([][]float64, sets)
	for i := range shares {
		shares[i] = slices.Repeat([]float64{iyerFig3Minor}, classes)
		shares[i][i%classes] = 1 - iyerFig3Minor*float64(classes-1)
	}
	return shares
}

func iyerFig3Draw(ctx context.Context, l *lab, of iyerFig3Set, d *ratioData, key string, draw int,
	out *results) error {
	rng := l.rng(key)
	rows, err := d.drawSets(iyerFig3Shares(of.Sets, d.Classes), rng)
	if err != nil {
		return err
	}
	sets, labels := d.gather(rows)
	scale, err := embedding.MedianSquaredDistance(sets[0].Rows, rng)
	if err != nil {
		return err
	}
	_, dim := sets[0].Rows.Dims()
	f := embedding.Fourier{Dim: dim, Features: iyerFig3Features, Gamma: of.Width / scale,
		Seed: rng.Uint64()}
	embedder, err := embedding.NewEmbedder(f)
	if err != nil {
		return err
	}
	rank := ratio.EffectiveRank(ratio.RBF(f.Gamma), sets[0].Rows)
	for i, s := range sets {
		n, _ := s.Rows.Dims()
		sets[i] = ratio.Set{Embedding: embedder.Mean(s.Rows), EmbeddedRows: n, Shares: s.Shares}
	}
	samples, err := d.targets("upp", 20, rng)
	if err != nil {
		return err
	}
	targets := make([]ratio.Set, len(samples))
	for i, s := range samples {
		targets[i] = ratio.Set{Rows: rowsOf(d.TestX, s.Rows)} // rows make intervals tight
	}
	try := func(mechanism string, epsilon float64) error {
		given := sets
		if mechanism != "none" {
			var err error
			if given, err = privateSets(ctx, sets, labels, d.Classes, mechanism,
				privacy.Budget{Epsilon: epsilon,
					Delta: iyerFig3Delta}, hashOf(fmt.Sprint(l.Seed, key, mechanism,
					epsilon))); err != nil {
				return err
			}
		}
		m, err := ratio.Fit(given, ratio.Options{Fourier: &f, EffectiveRank: rank})
		var answer func(ratio.Set) (ratio.Estimate, error)
		if err == nil {
			answer = m.Estimate
		} else { // noise has left no difference between the sets: the uniform answer
			answer = func(ratio.Set) (ratio.Estimate, error) {
				return ratio.Estimate{Shares: slices.Repeat([]float64{1 / float64(d.Classes)},
					d.Classes)}, nil
			}
		}
		for i, s := range samples {
			e, err := answer(targets[i])
			if err != nil {
				return err
			}
			off := ratio.Measure(s.Shares, e.Shares, len(s.Rows))
			out.add("set", d.Name, "draw", draw, "mechanism", mechanism, "epsilon", epsilon,
				"sample", i,
				"l1", off.L1, "ae", off.AE, "rae", off.RAE, "nkld", off.NKLD, "refused", m == nil)
		}
		return ctx.Err()
	}
	for _, epsilon := range iyerFig3Epsilons {
		for _, mechanism := range append(iyerMechanisms(), "none") {
			if err := try(mechanism, epsilon); err != nil {
				return fmt.Errorf("%s at ε = %g: %w", mechanism, epsilon, err)
			}
		}
	}
	training := mat.NewVecDense(d.Classes, nil)
	for _, s := range sets {
		training.AddScaledVec(training, 1/float64(len(sets)), mat.NewVecDense(d.Classes, s.Shares))
	}
	for i, s := range samples {
		off := ratio.Measure(s.Shares, training.RawVector().Data, len(s.Rows))
		out.add("set", d.Name, "draw", draw, "mechanism", "training ratio", "epsilon", 0, "sample",
			i, "l1", off.L1, "ae", off.AE, "rae", off.RAE, "nkld", off.NKLD)
	}
	return nil
}

func iyerFig3Report(_ *lab, r *results, p *page) error {
	p.paragraph("Each set has one main class; every other class has a share of %g. Counts hide each label at (ε, %g). Sets and test sets are compared by %d random Fourier features. Test shares are uniform on the simplex (UPP, 20 test sets a draw); L1 distances. NAME-paper is simulation only.", iyerFig3Minor, iyerFig3Delta, iyerFig3Features)
	for _, set := range r.distinct("set") {
		some := r.where("set", set)
		f := figure{Title: set + ": error by ε", X: "ε", Y: "mean L1 distance", LogX: true}
		f.Lines = []reference{{Name: "training ratio",
			Y: some.where("mechanism", "training ratio").over("l1").Mean}}
		header, rows := []string{"mechanism"}, [][]string{}
		for _, e := range iyerFig3Epsilons {
			header = append(header, fmt.Sprintf("ε = %g", e))
		}
		for _, m := range some.distinct("mechanism") {
			if m == "training ratio" {
				continue
			}
			f.Curves = append(f.Curves, curveOf(m, some.where("mechanism", m), "epsilon", "l1"))
			row := []string{m}
			for _, e := range iyerFig3Epsilons {
				row = append(row, some.where("mechanism", m, "epsilon", e).over("l1").String())
			}
			rows = append(rows, row)
		}
		p.section(set)
		p.table(header, rows)
		p.paragraph("Training ratio: %s.", some.where("mechanism", "training ratio").over("l1"))
		if err := p.figure(set, f); err != nil {
			return err
		}
	}
	return nil
}
