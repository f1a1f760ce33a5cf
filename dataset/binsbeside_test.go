package dataset_test

import (
	"encoding/json"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"caucus/dataset"
	"caucus/dataset/public"
)

func binnedHospitals(t *testing.T) (dataset.Schema, *mat.Dense, dataset.Map, dataset.Map) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = 1500
	table, s := public.Hospitals(c)
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	components := dataset.Components{Project: 12, Whiten: .5}
	plain, err := components.Fit(s, r.X)
	if err != nil {
		t.Fatal(err)
	}
	components.Bins = true
	with, err := components.Fit(s, r.X)
	if err != nil {
		t.Fatal(err)
	}
	return s, r.X, plain, with
}

// The components stay as they are, up to one scale; the others do not correlate with them, have the
// declared part of the mean square, and are the same for all numbers within a bin that differ in
// nothing else.
func TestBinsBesideComponents(t *testing.T) {
	s, x, plain, with := binnedHospitals(t)
	if with.LeadingComponents != plain.Outputs || with.Outputs <= with.LeadingComponents ||
		with.Columns() != s.Dim() ||
		with.Validate() != nil {
		t.Fatalf("%d nested of %d outputs, %d columns: %v", with.LeadingComponents, with.Outputs,
			with.Columns(), with.Validate())
	}
	a, b := plain.Features(x), with.Features(x)
	n, _ := b.Dims()
	squares := make([]float64, 2)
	for i := range n {
		for j, v := range a.RawRowView(i) {
			if got, want := b.At(i, j)*with.Scale, v*plain.Scale; math.Abs(got-want) > 1e-4 {
				t.Fatalf("row %d, component %d: %v, was %v", i, j, got, want)
			}
		}
		for j, v := range b.RawRowView(i) {
			squares[min(1, j/with.LeadingComponents)] += v * v
		}
	}
	if got := squares[1] / squares[0]; math.Abs(got-dataset.BinSquare) > 1e-3 {
		t.Errorf("the bins have %v of the components' mean square, want %v", got, dataset.BinSquare)
	}
	z := dataset.Centred(b)
	for j := range with.LeadingComponents {
		for k := with.LeadingComponents; k < with.Outputs; k++ {
			u, v := z.ColView(j), z.ColView(k)
			if r := mat.Dot(u, v) / mat.Norm(u, 2) / mat.Norm(v, 2); math.Abs(r) > 1e-4 {
				t.Fatalf("outputs %d and %d correlate by %v", j, k, r)
			}
		}
	}
	// A step is flat on both sides of its edge: the standard map before the projection takes two
	// values.
	steps := with.Inner.Features(x)
	_, width := steps.Dims()
	for j := s.Dim(); j < width; j++ {
		for i := range n {
			if v := math.Abs(steps.At(i, j)); math.Abs(v-dataset.FAMDCut) > 1e-9 {
				t.Fatalf("step %d is %v on the pool", j, v)
			}
		}
	}
}

func TestBinsThroughJSON(t *testing.T) {
	_, x, _, with := binnedHospitals(t)
	text, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	var back dataset.Map
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if err := back.Validate(); err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(with.Apply(x), back.Apply(x)) {
		t.Error("a map that went through JSON maps differently")
	}
	back.LeadingComponents = back.Outputs + 1
	if back.Validate() == nil {
		t.Error("more nested outputs than outputs were accepted")
	}
}

// For any input, mapped rows have norm at most 1: the bound of a release does not depend on the
// map.
func TestBinsKeepTheNorm(t *testing.T) {
	s, _, _, with := binnedHospitals(t)
	rapid.Check(t, func(t *rapid.T) {
		x := mat.NewDense(1, s.Dim(), nil)
		for j := range s.Dim() {
			x.Set(0, j, rapid.Float64().Draw(t, "cell"))
		}
		if norm := mat.Norm(with.Apply(x), 2); !(norm <= 1) {
			t.Fatalf("norm %v", norm)
		}
	})
}

func TestBinsAreRefused(t *testing.T) {
	s, x, _, _ := binnedHospitals(t)
	columns := dataset.Components{Project: 3, Analysis: dataset.PCA, Bins: true}
	if _, err := columns.Fit(s, x); err == nil {
		t.Error("bins beside components of plain columns were accepted")
	}
	var texts dataset.Schema
	for _, f := range s.Features {
		if f.Kind == dataset.Categorical {
			texts.Features = append(texts.Features, f)
		}
	}
	of := mat.NewDense(40, texts.Dim(), nil)
	for i := range 40 {
		of.Set(i, i%3, 1)
	}
	if _, err := (dataset.Components{Project: 2, Bins: true}).Fit(texts, of); err == nil {
		t.Error("bins without a numeric column were accepted")
	}
}
