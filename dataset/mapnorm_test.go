package dataset_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"caucus/dataset"
	"caucus/dataset/public"
)

// The identity clips no encoded row. For any input, rows leave a map finite and with norm at most
// 1.
func TestMapNormAtMostOne(t *testing.T) {
	table, s := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 300, Seed: 5,
		Missing: 0.5})
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	identity := dataset.Identity(s)
	if got := mat.Max(r.X); got > 1 {
		t.Fatalf("encoded maximum %v", got)
	}
	mapped := identity.Apply(r.X)
	for i := range r.Len() {
		for j, v := range r.X.RawRowView(i) {
			if want := v / identity.Scale / math.Sqrt2; math.Abs(mapped.At(i, j)-want) > 1e-11 {
				t.Fatal("the identity clipped an encoded row")
			}
		}
	}
	pca, err := dataset.FitPCA(r.X, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	white, err := dataset.FitPCA(r.X, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	famd, err := dataset.FitFAMD(s, r.X, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	value := rapid.OneOf(rapid.Float64Range(0, 1),
		rapid.SampledFrom([]float64{0, 1, -1e9, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}))
	rapid.Check(t, func(t *rapid.T) {
		x := mat.NewDense(3, s.Dim(), rapid.SliceOfN(value, 3*s.Dim(), 3*s.Dim()).Draw(t, "x"))
		for _, m := range []dataset.Map{identity, pca, white, famd} {
			z := m.Apply(x)
			for i := range 3 {
				sum := 0.0
				for _, v := range z.RawRowView(i) {
					sum += v * v
				}
				if !(sum <= 1) {
					t.Fatalf("%s: norm² %v: %v", m.Kind, sum, z.RawRowView(i))
				}
			}
		}
	})
}

func TestMapThroughJSON(t *testing.T) {
	table, s := public.Hospitals(public.HospitalConfig{Sites: 1, Records: 50, Seed: 5})
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	pca, err := dataset.FitPCA(r.X, 4, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []dataset.Map{dataset.Identity(s), pca} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back dataset.Map
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s changed: %v", m.Kind, err)
		}
		if err := back.Validate(); err != nil {
			t.Error(err)
		}
		if !mat.Equal(back.Apply(r.X), m.Apply(r.X)) {
			t.Errorf("%s maps otherwise after JSON", m.Kind)
		}
	}
}

func ExampleFitPCA() {
	pool, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 400, Seed: 7})
	records, _, err := schema.Encode(pool) // the pool is public
	if err != nil {
		fmt.Println(err)
		return
	}
	features, err := dataset.FitPCA(records.X, 10, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := features.Apply(records.X)
	rows, columns := x.Dims()
	fmt.Printf("%d encoded columns, %d model features for %d rows\n", schema.Dim(), columns, rows)
	fmt.Printf("norm of the first row at most 1: %v\n", mat.Norm(x.RowView(0), 2) <= 1)
	// Output:
	// 23 encoded columns, 11 model features for 400 rows
	// norm of the first row at most 1: true
}
