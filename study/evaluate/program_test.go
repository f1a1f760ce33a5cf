package evaluate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// programmed is the statistic of a plan that judges programs' scores, with at most two records per
// party.
func programmed(t testing.TB, s dataset.Schema) *Histograms {
	return made(t, s, Terms{Program: true, Bins: 3, PerParty: 2, By: []Grouping{{Column: "ward"}}},
		func(p *study.Plan) {
			p.Unit, p.Noise = privacy.Party, study.NoiseCoordinator
		})
}

// answering makes the inputs of a party whose program is scores.
func answering(r *dataset.Records,
	scores func(ctx context.Context, x *mat.Dense) ([]float64, error)) study.Inputs {
	in := study.NewInputs(r, []byte{1})
	in.TimeLimit = func() (context.Context, func(bool)) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		return ctx, func(bool) { cancel() }
	}
	in.Scorer = func(ctx context.Context, _ dataset.Schema, x *mat.Dense) ([]float64, error) {
		return scores(ctx, x)
	}
	return in
}

// TestProgramBound: of all parties with up to three records, whose program gives any scores, NaN
// included, no pair moves the counts by more than the bound of two records, and some pair reaches
// it.
func TestProgramBound(t *testing.T) {
	s := small(t)
	h := programmed(t, s)
	terms, err := h.Terms(1)
	if err != nil || terms.Bound.L1 != 4 || terms.Bound.L2sq != 8 {
		t.Fatalf("bound %+v of 2 records a party: %v", terms.Bound, err)
	}
	rows := []string{"30,1,0,east,no", "90,1,1,west,yes", "90,1,,x,?"}
	answers := []float64{0, .4, 1, math.NaN(), math.Inf(1), -1, 2}
	var each [][]int64
	count := func(r *dataset.Records, scores []float64) {
		v, weight := h.Local(answering(r, func(context.Context, *mat.Dense) ([]float64, error) {
			return scores, nil
		}))
		if weight != 1 {
			t.Fatalf("a party weighs %d", weight)
		}
		sum := int64(0)
		for _, n := range v {
			sum += n
		}
		if want := min(int64(r.Len()), 2); sum != want {
			t.Fatalf("%d records count %d, want %d", r.Len(), sum, want)
		}
		body, _ := h.AppendClear(v, weight)
		if _, _, err := h.ParseClear(body); err != nil {
			t.Fatal(err)
		}
		each = append(each, v)
	}
	for _, a := range rows {
		for _, x := range answers {
			count(encode(t, s, a), []float64{x})
			for _, b := range rows {
				for _, y := range answers {
					count(encode(t, s, a, b), []float64{x, y})
					count(encode(t, s, a, b, a), []float64{x, y})
				}
			}
		}
	}
	var most [2]int64
	for _, a := range each {
		for _, b := range each {
			l1, l2, _ := moved(a, b)
			most = [2]int64{max(most[0], l1), max(most[1], l2)}
		}
	}
	if most != [2]int64{4, 8} {
		t.Errorf("a replaced party moves L1 and L2² by %v, the bound says 4 and 8", most)
	}
}

// TestProgramAnswers: labelled records lie in the cells of the program's scores; after any invalid
// answer all records lack a score. The program sees no label.
func TestProgramAnswers(t *testing.T) {
	s := small(t)
	h := made(t, s, Terms{Program: true, PerParty: 9, Thresholds: []float64{.25}},
		func(p *study.Plan) {
			p.Unit = privacy.Party
		})
	r := encode(t, s, "30,1,.9,east,no", "90,1,.1,west,yes", "50,1,.5,east,?")
	_, wide := r.X.Dims()
	bins := h.edges[0].Bins()
	at := func(p float64) int { return h.edges[0].Bin(h.Scorer.Cut(p)) }
	right := func(_ context.Context, x *mat.Dense) ([]float64, error) {
		if n, d := x.Dims(); n != 2 || d != wide {
			t.Errorf("it is given %d×%d, want the two labelled records' features", n, d)
		}
		return []float64{.25, .75}, nil
	}
	want := make([]int64, h.Cells())
	want[bins+1+at(.25)]++
	want[at(.75)]++
	want[2*(bins+1)]++
	if got, _ := h.Local(answering(r, right)); !slices.Equal(got, want) || at(.25) == at(.2499) {
		t.Errorf("counts %v, want %v", got, want)
	}
	clear(want)
	want[bins], want[2*bins+1], want[2*(bins+1)] = 1, 1, 1
	for what, scores := range map[string]func(context.Context, *mat.Dense) ([]float64, error){
		"an error":    func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1, .2}, errors.New("no") },
		"none":        func(context.Context, *mat.Dense) ([]float64, error) { return nil, nil },
		"too few":     func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1}, nil },
		"too many":    func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1, .2, .3}, nil },
		"no number":   func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1, math.NaN()}, nil },
		"an infinity": func(context.Context, *mat.Dense) ([]float64, error) { return []float64{math.Inf(1), .1}, nil },
		"above 1":     func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1, 1.0001}, nil },
		"below 0":     func(context.Context, *mat.Dense) ([]float64, error) { return []float64{.1, -1e-9}, nil },
		"a panic":     func(context.Context, *mat.Dense) ([]float64, error) { panic("no") },
		"it came late": func(ctx context.Context, _ *mat.Dense) ([]float64, error) {
			<-ctx.Done()
			return []float64{.1, .2}, nil
		},
	} {
		if got, _ := h.Local(answering(r, scores)); !slices.Equal(got, want) {
			t.Errorf("%s: counts %v, want all without a score", what, got)
		}
	}
	if got, _ := h.Local(study.NewInputs(r, []byte{1})); !slices.Equal(got, want) {
		t.Errorf("no program: counts %v, want all without a score", got)
	}
}

// TestProgramRefused: units finer than the party, and scores of several classes, are refused.
func TestProgramRefused(t *testing.T) {
	s := small(t)
	h := programmed(t, s)
	for says, change := range map[string]func(*study.Plan, *Terms){
		"unit party":         func(p *study.Plan, _ *Terms) { p.Unit, p.Noise = privacy.Record, study.NoiseSite },
		"evaluate.per_party": func(_ *study.Plan, t *Terms) { t.PerParty = 0 },
		"nor all three":      func(_ *study.Plan, t *Terms) { t.Score = "score" },
		"name that one":      func(_ *study.Plan, t *Terms) { t.Classes = []string{"no", "yes"} },
	} {
		p, terms := h.plan, h.terms
		change(&p, &terms)
		if err := p.SetTerms(terms); err != nil {
			t.Fatal(err)
		}
		if err := (Kind{}).Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}
