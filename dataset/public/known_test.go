package public

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"caucus/dataset"
	"caucus/internal/testlevel"
)

// realData returns the folder of public data sets, or skips the test.
func realData(t testing.TB) fs.FS {
	t.Helper()
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of public data sets this test reads")
	}
	return os.DirFS(dir)
}

// published holds the publishers' figures for each set: rows and rows per class.
var published = map[string]struct {
	train, test int
	dim         int
	classes     []int // of the train part
}{
	"adult":         {32561, 16281, 95, []int{24720, 7841}},
	"adult-narrow":  {32561, 16281, 65, []int{24720, 7841}},
	"mnist":         {60000, 10000, 784, []int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}},
	"kddcup99":      {494021, 311029, 124, []int{97278, 396743}},
	"kddcup99-5":    {494021, 311029, 124, []int{97278, 391458, 4107, 1126, 52}},
	"wisdm_har":     {5418, 0, 46, []int{2081, 1625, 632, 528, 306, 246}},
	"heart_disease": {920, 0, 35, []int{411, 509}},
	"phishing":      {11430, 0, 87, []int{5715, 5715}},
	"higgs_sample":  {10984, 0, 28, []int{5163, 5821}},
	"mnist-parity":  {60000, 10000, 784, []int{29492, 30508}},
}

func TestKnownSetsEncode(t *testing.T) {
	for _, name := range KnownDatasetNames() {
		t.Run(name, func(t *testing.T) {
			want, ok := published[name]
			if !ok {
				t.Fatal("no published figures to compare with; add them to the table")
			}
			k, err := LoadKnownDataset(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := k.Schema.Dim(); got != want.dim {
				t.Errorf("Dim = %d, want %d", got, want.dim)
			}
			if k.HasTest() != (want.test > 0) {
				t.Errorf("HasTest = %v with %d test rows", k.HasTest(), want.test)
			}
			if k.About == "" || k.Source == "" || k.Schema.Name != name {
				t.Errorf("about, source or schema name missing: %+v", k)
			}
			if (name == "kddcup99" || name == "mnist-parity") && !testlevel.Long() {
				return // other classes of kddcup99-5's and mnist's records
			}
			dir := realData(t)
			table, err := k.Load(dir, "train")
			if err != nil {
				t.Fatal(err)
			}
			if table.Rows() != want.train {
				t.Errorf("train has %d rows, want %d", table.Rows(), want.train)
			}
			// The labels of all rows, with one column; X of a part, to keep the test small.
			labels := k.Schema
			first := labels.Features[0]
			first.Columns = first.Columns[:min(1, len(first.Columns))]
			labels.Features = []dataset.Feature{first}
			all, _, err := labels.Encode(table)
			if err != nil {
				t.Fatal(err)
			}
			counts := make([]int, len(k.Schema.Classes()))
			for _, c := range all.Y {
				counts[c]++ // a row without a label would be -1
			}
			if !slices.Equal(counts, want.classes) {
				t.Errorf("rows per class = %v, want %v", counts, want.classes)
			}
			r := checkEncoding(t, k.Schema, table)
			if k.Schema.Party != "" && r.Party == nil {
				t.Error("no parties")
			}
			if k.HasTest() {
				table, err := k.Load(dir, "test")
				if err != nil {
					t.Fatal(err)
				}
				if table.Rows() != want.test {
					t.Errorf("test has %d rows, want %d", table.Rows(), want.test)
				}
				checkEncoding(t, k.Schema, table)
			}
		})
	}
}

// checkEncoding encodes every 20th row. Features must be in [0,1], and hardly ever clamped or
// unknown if the bounds are right.
func checkEncoding(t *testing.T, s dataset.Schema, table *dataset.Table) *dataset.Records {
	t.Helper()
	var rows []int
	for i := 0; i < table.Rows(); i += 20 {
		rows = append(rows, i)
	}
	r, remarks, err := s.EncodeLabelled(table.Select(rows))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Len() {
		for j, v := range r.X.RawRowView(i) {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("X[%d][%d] = %v", i, j, v)
			}
		}
	}
	for _, remark := range remarks {
		if remark.Problem != dataset.ProblemMissing {
			t.Log(remark)
			// A quarter: one hospital of four writes cholesterol 0 for "not measured".
			if float64(remark.Count) > 0.25*float64(len(rows)) {
				t.Errorf("%v, of %d: are the bounds wrong?", remark, len(rows))
			}
		}
	}
	return r
}

func TestKnownParties(t *testing.T) {
	dir := realData(t)
	for name, want := range map[string]int{"wisdm_har": 36, "heart_disease": 4} {
		k, err := LoadKnownDataset(name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := k.Load(dir, "train")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(table.Distinct(k.Schema.Party)); got != want {
			t.Errorf("%s has %d parties, want %d", name, got, want)
		}
	}
}

func TestLoadKnownErrors(t *testing.T) {
	if _, err := LoadKnownDataset("iris"); err == nil ||
		!strings.Contains(err.Error(), "adult, adult-narrow, heart_disease") {
		t.Errorf("unknown set: %v", err)
	}
	k, err := LoadKnownDataset("phishing")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Load(fstest.MapFS{}, "train"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "mendeley") {
		t.Errorf("absent file: %v", err)
	}
	if _, err := k.Load(fstest.MapFS{}, "test"); err == nil ||
		!strings.Contains(err.Error(), "split the train part") {
		t.Errorf("absent part: %v", err)
	}
	if _, err := k.Load(fstest.MapFS{}, "validation"); err == nil {
		t.Error("unknown part: no error")
	}
}

// A set with one file per party gets its party column from the files. An unpacked file is found
// under its packed name.
func TestLoadKnownPartyFiles(t *testing.T) {
	k, err := LoadKnownDataset("heart_disease")
	if err != nil {
		t.Fatal(err)
	}
	row := "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,2\n"
	dir := fstest.MapFS{}
	for _, f := range k.Train {
		dir[f.File] = &fstest.MapFile{Data: []byte(row)}
	}
	table, err := k.Load(dir, "train")
	if err != nil {
		t.Fatal(err)
	}
	r, remarks, err := k.Schema.EncodeLabelled(table)
	if err != nil || len(remarks) > 0 {
		t.Fatal(err, remarks)
	}
	if want := []string{"cleveland", "hungarian", "switzerland", "va"}; !slices.Equal(r.Party,
		want) {
		t.Errorf("parties %v, want %v", r.Party, want)
	}
	if want := []int{1, 1, 1, 1}; !slices.Equal(r.Y, want) {
		t.Errorf("labels %v, want %v", r.Y, want)
	}

	k, err = LoadKnownDataset("higgs_sample")
	if err != nil {
		t.Fatal(err)
	}
	plain := fstest.MapFS{"higgs_sample/higgs.csv": &fstest.MapFile{Data: []byte("a,b\n1,2\n")}}
	if _, err := k.Load(plain, "train"); err != nil {
		t.Error(err)
	}
}
