package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/ratio"
	"caucus/privacy"
)

// iyerCoverageExperiment counts how often the intervals of class ratios hold the truth.
//
// The errors of files that are asked of the same sets go together, and so do those of all
// files from the same test records: their classes look as they happen to look in those. An
// interval of 95 % holds over both, so each draw splits the records anew.
func iyerCoverageExperiment() experiment {
	return experiment{
		Name:   "iyer-coverage",
		About:  "how often the 95 % intervals of class ratios hold the truth, each draw of sets of its own",
		Tasks:  iyerCoverageTasks,
		Report: iyerCoverageReport,
	}
}

// iyerCoverageCase is a data set, and what of it is asked.
type iyerCoverageCase struct {
	Name  string
	Sets  int     // as in figure 3; 0: four sets of clear rows, as in figure 2
	Width float64 // of figure 3's kernel
	// Fixed: test files come from the set's own test records in each draw, digits of other
	// writers or one half of the tweets; Words says which.
	Fixed bool
	Words string
	// Targets are the records of a test file, 0 for the set's own number.
	Targets int
	// Chosen: what an interval does where a file fits badly was chosen on this.
	Chosen bool
}

var iyerCoverageCases = []iyerCoverageCase{
	{Name: "mnist-pca", Sets: 20, Width: 4, Fixed: true, Words: "by others", Chosen: true},
	{Name: "mnist-pca", Sets: 20, Width: 4, Fixed: true, Words: "by others", Targets: 300},
	{Name: "mnist-pca", Sets: 20, Width: 4},
	{Name: "tweets", Sets: 6, Width: 2},
	{Name: "activities-3", Sets: 6, Width: 2},
	{Name: "adult"}, {Name: "youtube"}, {Name: "phishing"}, {Name: "higgs_sample"},
	{Name: "tweets", Sets: 6, Width: 2, Fixed: true, Words: "of one split"},
}

// iyerCoverageCounts are the mechanisms of the counts, at figure 3's δ.
var iyerCoverageCounts = []struct {
	Mechanism string
	Epsilon   float64
}{{"none", 0}, {"laplace", .2}, {"gaussian", .05}}

const (
	iyerCoverageDraws = 60
	iyerCoverageFiles = 5 // of a draw: their errors go together
)

func (c iyerCoverageCase) title() string {
	words := strings.TrimSpace(c.Name + " " + c.Words)
	if c.Targets > 0 {
		words += fmt.Sprintf(", files of %d", c.Targets)
	}
	return words
}

func iyerCoverageTasks(l *lab) ([]task, error) {
	cases, draws := iyerCoverageCases, l.draws(iyerCoverageDraws)
	if l.Quick {
		cases, draws = []iyerCoverageCase{{Name: "hospitals"},
			{Name: "hospitals", Sets: 6, Width: 2}}, l.draws(2)
	}
	data := map[string]func() (*ratioData, error){}
	var tasks []task
	for at, c := range cases {
		if data[c.Name] == nil {
			data[c.Name] = sync.OnceValues(func() (*ratioData, error) { return l.ratioSet(c.Name) })
		}
		load := data[c.Name]
		for draw := range draws {
			key := fmt.Sprintf("%s-%d-draw%d", c.Name, at, draw)
			tasks = append(tasks,
				task{Key: key, Run: func(ctx context.Context, out *results) error {
					d, err := load()
					if err != nil {
						return err
					}
					return iyerCoverageDraw(ctx, l, c, *d, key, out)
				}})
		}
	}
	return tasks, nil
}

func iyerCoverageDraw(ctx context.Context, l *lab, of iyerCoverageCase, d ratioData, key string,
	out *results) error {
	rng := l.rng(key)
	if of.Targets > 0 {
		d.Targets = of.Targets
	}
	if !of.Fixed {
		var x mat.Dense
		x.Stack(d.X, d.TestX)
		share := float64(len(d.Y)) / float64(len(d.Y)+len(d.TestY))
		d.split(&x, slices.Concat(d.Y, d.TestY), rng, share)
	}
	shares := iyerFig2Shares
	if of.Sets > 0 {
		shares = iyerFig3Shares(of.Sets, d.Classes)
	}
	rows, err := d.drawSets(shares, rng)
	if err != nil {
		return err
	}
	sets, labels := d.gather(rows)
	scale, err := embedding.MedianSquaredDistance(sets[0].Rows, rng)
	if err != nil {
		return err
	}
	o := ratio.Options{}
	if of.Sets > 0 {
		_, dim := sets[0].Rows.Dims()
		o.Fourier = &embedding.Fourier{Dim: dim, Features: iyerFig3Features,
			Gamma: of.Width / scale, Seed: rng.Uint64()}
		o.EffectiveRank = ratio.EffectiveRank(ratio.RBF(o.Fourier.Gamma), sets[0].Rows)
		embedder, err := embedding.NewEmbedder(*o.Fourier)
		if err != nil {
			return err
		}
		for i, s := range sets {
			sets[i] = ratio.Set{Embedding: embedder.Mean(s.Rows), EmbeddedRows: len(rows[i]), Shares: s.Shares}
		}
	} else {
		gamma, _, err := ratio.SelectWidth(sets, ratio.WidthOptions{SquaredDistance: scale}, rng)
		if err != nil {
			return err
		}
		o.Kernel = ratio.RBF(gamma)
	}
	files, err := d.targets("upp", iyerCoverageFiles, rng)
	if err != nil {
		return err
	}
	for _, counts := range iyerCoverageCounts {
		given := sets
		if counts.Mechanism != "none" {
			g := privacy.Budget{Epsilon: counts.Epsilon, Delta: iyerFig3Delta}
			if given, err = privateSets(ctx, sets, labels, d.Classes, counts.Mechanism, g,
				hashOf(fmt.Sprint(l.Seed, key, counts))); err != nil {
				return err
			}
		}
		m, err := ratio.Fit(given, o)
		if err != nil {
			continue // the release has no model, and answers nothing
		}
		var covered, printed, doubted, width float64
		for _, f := range files {
			e, err := m.Estimate(ratio.Set{Rows: rowsOf(d.TestX, f.Rows)})
			if err != nil {
				return err
			}
			if e.GoodnessOfFit.Tested && e.GoodnessOfFit.Statistic > e.GoodnessOfFit.Threshold {
				doubted++
			}
			if e.NoInterval != "" {
				continue
			}
			printed++
			for k, p := range f.Shares {
				width += (e.High[k] - e.Low[k]) / float64(d.Classes)
				if e.Low[k] <= p && p <= e.High[k] {
					covered += 1 / float64(d.Classes)
				}
			}
		}
		out.add("case", of.title(), "chosen", of.Chosen, "counts", counts.Mechanism, "epsilon",
			counts.Epsilon,
			"files", len(files), "printed", printed, "doubted", doubted, "covered", covered,
			"width", width)
	}
	return ctx.Err()
}

func iyerCoverageReport(_ *lab, r *results, p *page) error {
	p.paragraph("Each draw splits the records anew, draws sets and asks for %d files at shares that are uniform on the simplex. Held: the share of the printed intervals of all classes that hold the truth, ± its standard error over draws; printed: the share of the files that have intervals.", iyerCoverageFiles)
	var rows [][]string
	for _, name := range r.distinct("case") {
		for _, counts := range iyerCoverageCounts {
			of := r.where("case", name, "counts", counts.Mechanism)
			sum := func(column string) (s float64) {
				for _, v := range of.floats(column) {
					s += v
				}
				return s
			}
			printed, files := sum("printed"), sum("files")
			held, width, off := sum("covered")/max(printed, 1), sum("width")/max(printed, 1), 0.
			covered, each := of.floats("covered"), of.floats("printed")
			for i := range covered {
				off += (covered[i] - held*each[i]) * (covered[i] - held*each[i])
			}
			title := name
			if len(of.where("chosen", true).rows) > 0 {
				title += " (chosen on)"
			}
			rows = append(rows, []string{title,
				fmt.Sprintf("%s %g", counts.Mechanism, counts.Epsilon), fmt.Sprintf("%.3f ± %.3f",
					held, math.Sqrt(off)/max(printed, 1)),
				fmt.Sprintf("%.2f", printed/max(files, 1)), fmt.Sprintf("%.3f",
					width), fmt.Sprintf("%.4f",
					sum("doubted")/max(files, 1)), fmt.Sprint(len(covered))})
		}
	}
	p.table([]string{"set", "counts", "held", "printed", "width", "doubted", "draws"}, rows)
	return nil
}
