package learners

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/internal/testlevel"
)

// reference is a real data set in both forms of features.
type reference struct {
	encoded, mapped *mat.Dense
	y               []int
	classes         int
}

// readReference reads a gzip CSV file below CAUCUS_DATA with the class in the last column. It skips
// the test if CAUCUS_DATA is unset.
func readReference(t testing.TB, path string, header bool, drop int) reference {
	t.Helper()
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is unset: no real data to learn from")
	}
	file, err := os.Open(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if header {
		lines = lines[1:]
	}
	var r reference
	var columns [][]float64
	for j := drop; j < len(lines[0]); j++ {
		text := make([]string, len(lines))
		for i, line := range lines {
			text[i] = strings.TrimSpace(line[j])
		}
		if j == len(lines[0])-1 {
			names := slices.Compact(slices.Sorted(slices.Values(text)))
			r.classes = len(names)
			for _, name := range text {
				r.y = append(r.y, slices.Index(names, name))
			}
			continue
		}
		columns = append(columns, encodeColumn(text)...)
	}
	r.encoded = mat.NewDense(len(lines), len(columns), nil)
	for j, c := range columns {
		r.encoded.SetCol(j, c)
	}
	r.mapped = mapRows(r.encoded)
	return r
}

// encodeColumn scales numbers to [0,1], with 0 for "?". Other columns become one indicator per
// level.
func encodeColumn(text []string) [][]float64 {
	v := make([]float64, len(text))
	for i, s := range text {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil && s != "?" {
			var columns [][]float64
			for _, level := range slices.Compact(slices.Sorted(slices.Values(text))) {
				c := make([]float64, len(text))
				for i, s := range text {
					if s == level {
						c[i] = 1
					}
				}
				columns = append(columns, c)
			}
			return columns
		}
		v[i] = x
	}
	low, high := slices.Min(v), slices.Max(v)
	for i := range v {
		v[i] = (v[i] - low) / math.Max(high-low, 1e-9)
	}
	return [][]float64{v}
}

// mapRows centres the columns, divides by the largest norm and adds an intercept: rows (z,1)/√2.
func mapRows(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	z := mat.NewDense(n, d+1, nil)
	for j := range d {
		column := mat.Col(nil, j, x)
		floats.AddConst(-floats.Sum(column)/float64(n), column)
		z.SetCol(j, column)
	}
	largest := 0.0
	for i := range n {
		largest = math.Max(largest, floats.Norm(z.RawRowView(i), 2))
	}
	z.Scale(1/largest, z)
	for i := range n {
		z.Set(i, d, 1)
	}
	z.Scale(math.Sqrt2/2, z)
	return z
}

// take copies rows of one form.
func (r reference) take(f Features, at []int) (*mat.Dense, []int) {
	x := r.mapped
	if f == EncodedFeatures {
		x = r.encoded
	}
	s := sample{x: x, y: r.y, classes: r.classes}.pick(at)
	return s.x, s.y
}

func accuracy(got, want []int) float64 {
	right := 0
	for i := range got {
		if got[i] == want[i] {
			right++
		}
	}
	return float64(right) / float64(len(want))
}

// localAccuracy returns the mean accuracy on test rows of models fitted to parties of size rows,
// and the accuracy of their majority vote.
func localAccuracy(t testing.TB, r reference, l Learner, parties, size int) (mean, vote float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	order := rng.Perm(len(r.y))
	test := order[:2000]
	x, y := r.take(l.Features(), test)
	votes := mat.NewDense(len(test), r.classes, nil)
	for p := range parties {
		first := 2000 + p*size
		fx, fy := r.take(l.Features(), order[first:first+size])
		m, err := l.Fit(context.Background(), fx, fy, r.classes, rng)
		if err != nil {
			t.Fatal(err)
		}
		predicted := m.Predict(x)
		mean += accuracy(predicted, y) / float64(parties)
		for i, k := range predicted {
			votes.Set(i, k, votes.At(i, k)+1)
		}
	}
	chosen := make([]int, len(test))
	for i := range chosen {
		chosen[i] = argmax(votes.RawRowView(i))
	}
	return mean, accuracy(chosen, y)
}

// Floors are about two hundredths below the measured accuracy, so that a regression fails and a
// change of seed passes.
func TestReferenceAccuracy(t *testing.T) {
	for _, set := range []struct {
		name, path string
		header     bool
		drop       int
		floor      map[string]float64 // mean over 12 parties of 100 rows
	}{
		{"wisdm", "wisdm_har/WISDM_ar_v1.1_transformed.csv.gz", false, 2, map[string]float64{
			"softmax": 0.67, "svm": 0.67, "cart": 0.63, "forest": 0.70, "naive-bayes": 0.64,
			"knn": 0.62}},
		{"phishing", "phishing/phishing.csv.gz", true, 0, map[string]float64{
			"softmax": 0.86, "svm": 0.86, "cart": 0.83, "forest": 0.89, "naive-bayes": 0.85,
			"knn": 0.81}},
	} {
		r := readReference(t, set.path, set.header, set.drop)
		for _, l := range catalogue() {
			mean, vote := localAccuracy(t, r, l, testlevel.N(t, 6, 12), 100)
			t.Logf("%-8s %-11s mean %.3f vote %.3f", set.name, l.Name(), mean, vote)
			if floor, ok := set.floor[l.Name()]; !ok || mean < floor {
				t.Errorf("%s on %s: mean accuracy %.3f, want at least %.2f", l.Name(), set.name, mean, floor)
			}
		}
	}
}
