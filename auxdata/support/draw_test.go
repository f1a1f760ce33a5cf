package support

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
)

func testSchema() dataset.Schema {
	return dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"one", "two"}},
			{Column: "age", Kind: dataset.Numeric, Min: 20, Max: 80},
			{Column: "dose", Kind: dataset.Numeric, Min: 0, Max: 1000, Log: true, FlagMissing: true},
		},
	}
}

// TestDraw compares margins of 20,000 rows with the requested ones. A share of 20,000 has a
// standard error of at most .0036; 6.5 standard errors are .023.
func TestDraw(t *testing.T) {
	s := testSchema()
	margins := []Margin{{Shares: []float64{.2, .7, .1}}, {Mean: .8},
		{Mean: .3, Bins: []float64{1, 0, 1}}, {Mean: .25}}
	table, err := Draw(s, 20_000, margins, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, remarks, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range remarks {
		if !strings.Contains(r.String(), "missing") && !strings.Contains(r.String(), "ward") {
			t.Errorf("a made pool is odd: %s", r)
		}
	}
	want := map[int]float64{0: .2, 1: .7, 2: .1, 3: .8, 5: .25}
	for j, w := range want {
		if got := mat.Sum(p.Encoded.ColView(j)) / 20_000; math.Abs(got-w) > .023 {
			t.Errorf("%s: mean %.4f, want %.4f", s.FeatureNames()[j], got, w)
		}
	}
	middle := 0
	for i := range 20_000 {
		if v := p.Encoded.At(i, 4); v > .34 && v < .66 && p.Encoded.At(i, 5) == 0 {
			middle++
		}
	}
	if middle > 0 {
		t.Errorf("%d doses are in an empty bin", middle)
	}
	for _, bad := range [][]Margin{nil, margins[1:],
		{{Shares: []float64{0, 0, 0}}, margins[1], margins[2], margins[3]},
		{margins[0], {Mean: 2}, margins[2], margins[3]},
		{{Shares: []float64{1}}, margins[1], margins[2], margins[3]}} {
		if _, err := Draw(s, 5, bad, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("margins %v were accepted", bad)
		}
	}
	if _, err := Draw(s, 0, margins, nil); err == nil {
		t.Error("a pool of no rows was made")
	}
}

// TestUniforms: rows drawn from the schema alone are within it, and none is missing.
func TestUniforms(t *testing.T) {
	s := testSchema()
	table, err := Draw(s, 1000, UniformMargins(s), rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		t.Fatal(err)
	}
	p, remarks, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil || len(remarks) > 0 {
		t.Fatalf("remarks %v, %v", remarks, err)
	}
	if got := Check(s, p); len(got.Gaps) > 0 || len(got.Warnings) > 0 || got.Rows != 1000 {
		t.Errorf("a uniform pool has gaps: %+v", got)
	}
}

// TestTilt: the density has the requested mean.
func TestTilt(t *testing.T) {
	for _, mean := range []float64{.002, .01, .2, .49999, .5, .7, .999} {
		theta := tiltOf(mean)
		// The mean of a density is the integral of its quantile function.
		sum := 0.0
		const n = 20_000
		for k := range n {
			u := (float64(k) + .5) / n
			switch {
			case math.Abs(theta) < 1e-4:
				sum += u / n
			case theta > 0:
				sum += (1 - drawFrom(theta, u)) / n
			default:
				sum += drawFrom(-theta, u) / n
			}
		}
		if math.Abs(sum-math.Max(.002, math.Min(mean, .998))) > 3e-4 {
			t.Errorf("mean %v became %v", mean, sum)
		}
	}
}

func TestCheckGaps(t *testing.T) {
	s := testSchema()
	var rows [][]string
	for i := range 40 {
		rows = append(rows, []string{"one", fmt.Sprint(20 + i%5), "3"})
	}
	table, err := dataset.NewTable([]string{"ward", "age", "dose"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	got := Check(s, p)
	all := strings.Join(append(got.Gaps, got.Warnings...), "\n")
	for _, want := range []string{"no row has ward=two", "age between 7 % and 100 %",
		"dose between", "5 of 40 rows are distinct"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q in\n%s", want, all)
		}
	}
}

// TestWeightedFile: a weighted pool's file reads back as the same pool. Invalid weights are
// refused.
func TestWeightedFile(t *testing.T) {
	s := testSchema()
	table, err := Draw(s, 50, UniformMargins(s), rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	weight := make([]float64, 50)
	for i := range weight {
		weight[i] = math.Exp(float64(i)/7 - 3)
	}
	w, err := p.WithWeights(weight)
	if err != nil {
		t.Fatal(err)
	}
	if w.Digest == p.Digest || p.Weight != nil {
		t.Error("weights changed the pool, or not its digest")
	}
	var file bytes.Buffer
	if err := auxdata.WriteWeighted(&file, table, weight); err != nil {
		t.Fatal(err)
	}
	read, err := auxdata.ReadCSV(file.Bytes(), w.Digest)
	if err != nil {
		t.Fatalf("the file of a weighted pool does not have its digest: %v", err)
	}
	again, _, err := auxdata.New(s, dataset.Identity(s), read)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest != w.Digest {
		t.Errorf("read back it is pool %s, want %s", again.Digest, w.Digest)
	}
	for i, v := range again.Weight {
		if v != weight[i] {
			t.Errorf("weight %d is %v, want %v", i, v, weight[i])
		}
	}
	if plain, err := again.WithWeights(weight); err != nil || plain.Digest != w.Digest {
		t.Errorf("weighing again gives %v, %v", plain.Digest, err)
	}
	for _, cell := range []string{"0", "-1", "", "NaN", "+Inf", "many"} {
		bad, _ := dataset.NewTable([]string{"ward", "age", "dose", auxdata.WeightColumn},
			[][]string{{"one", "30", "2", cell}})
		if _, _, err := auxdata.New(s, dataset.Identity(s), bad); err == nil {
			t.Errorf("weight %q was accepted", cell)
		}
	}
	for _, bad := range [][]float64{nil, weight[1:], append([]float64{0}, weight[1:]...),
		append([]float64{math.NaN()}, weight[1:]...)} {
		if _, err := p.WithWeights(bad); err == nil {
			t.Error("bad weights were attached")
		}
	}
}
