package ratio_test

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func realData(t testing.TB, name string) io.Reader {
	t.Helper()
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: no real data")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

type labelled struct {
	x *mat.Dense
	y []int
}

func (l labelled) rows(index []int) *mat.Dense {
	_, d := l.x.Dims()
	out := mat.NewDense(len(index), d, nil)
	for i, r := range index {
		out.SetRow(i, l.x.RawRowView(r))
	}
	return out
}

// readHeart returns the four bags and the test set of the proportion-SVM demo.
func readHeart(t testing.TB) (bags []labelled, test labelled) {
	records, err := csv.NewReader(realData(t, "psvm_heart/heart.csv")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][][]float64{}
	labels := map[string][]int{}
	for _, r := range records[1:] {
		bag := r[0]
		if bag == "train" {
			bag = r[1]
		}
		y := 0
		if r[2] == "1" {
			y = 1
		}
		var x []float64
		for _, v := range r[3:] {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			x = append(x, f)
		}
		rows[bag] = append(rows[bag], x)
		labels[bag] = append(labels[bag], y)
	}
	var names []string
	for b := range rows {
		names = append(names, b)
	}
	slices.Sort(names)
	for _, b := range names {
		l := labelled{mat.NewDense(len(rows[b]), len(rows[b][0]), slices.Concat(rows[b]...)),
			labels[b]}
		if b == "test" {
			test = l
		} else {
			bags = append(bags, l)
		}
	}
	return bags, test
}

// adultNumeric: column → public minimum and maximum, round numbers.
var adultNumeric = map[int][2]float64{0: {17, 90}, 4: {1, 16}, 10: {0, 100000}, 11: {0, 4500},
	12: {1, 99}}

// readAdult one-hot encodes all other columns, except fnlwgt and the duplicate of education.
func readAdult(t testing.TB) (train, test labelled) {
	read := func(name string) [][]string {
		r := csv.NewReader(realData(t, name))
		r.TrimLeadingSpace = true
		r.FieldsPerRecord = -1
		var out [][]string
		for {
			rec, err := r.Read()
			if err == io.EOF {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(rec) == 15 {
				out = append(out, rec)
			}
		}
	}
	a, b := read("adult/adult.data.gz"), read("adult/adult.test.gz")
	levels := map[int]map[string]int{}
	d := 0
	start := make([]int, 14)
	for c := range 14 {
		if c == 2 || c == 3 {
			continue
		}
		start[c] = d
		if _, ok := adultNumeric[c]; ok {
			d++
			continue
		}
		var names []string
		for _, r := range a {
			names = append(names, r[c])
		}
		slices.Sort(names)
		levels[c] = map[string]int{}
		for i, n := range slices.Compact(names) {
			levels[c][n] = i
		}
		d += len(levels[c])
	}
	encode := func(rows [][]string) labelled {
		out := labelled{x: mat.NewDense(len(rows), d, nil)}
		for i, r := range rows {
			for c := range 14 {
				if c == 2 || c == 3 {
					continue
				}
				if lim, ok := adultNumeric[c]; ok {
					v, _ := strconv.ParseFloat(r[c], 64)
					out.x.Set(i, start[c], min(max((v-lim[0])/(lim[1]-lim[0]), 0), 1))
				} else if l, ok := levels[c][r[c]]; ok {
					out.x.Set(i, start[c]+l, 1)
				}
			}
			y := 0
			if strings.HasPrefix(r[14], ">50K") {
				y = 1
			}
			out.y = append(out.y, y)
		}
		return out
	}
	return encode(a), encode(b)
}

// readMNIST returns pixels in [0,1].
func readMNIST(t testing.TB, part string, limit int) labelled {
	images, err := io.ReadAll(realData(t, "mnist/"+part+"-images-idx3-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	labels, err := io.ReadAll(realData(t, "mnist/"+part+"-labels-idx1-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	n := min(len(labels)-8, limit)
	out := labelled{x: mat.NewDense(n, 784, nil)}
	for i := range n {
		row := out.x.RawRowView(i)
		for j := range row {
			row[j] = float64(images[16+i*784+j]) / 255
		}
		out.y = append(out.y, int(labels[8+i]))
	}
	return out
}

// principal returns the first directions of x's covariance.
func principal(x *mat.Dense, dims int) *mat.Dense {
	n, d := x.Dims()
	mean := make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			mean[j] += v / float64(n)
		}
	}
	var square mat.Dense
	square.Mul(x.T(), x)
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			cov.SetSym(i, j, square.At(i, j)/float64(n)-mean[i]*mean[j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		panic("no eigenvectors")
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	basis := mat.NewDense(d, dims, nil)
	for j := range dims {
		basis.SetCol(j, mat.Col(nil, d-1-j, &v))
	}
	return basis
}
