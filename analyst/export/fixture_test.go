package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify/trained"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds/planning"

	"gonum.org/v1/gonum/mat"
)

// oddSchema has names and levels that careless code would execute, levels that are numbers, a level
// called other, logarithms, missing cells marked by extra columns, and a missing marker that may
// itself be a number.
func oddSchema(classes int, marker string) dataset.Schema {
	return dataset.Schema{
		Label: dataset.Label{Column: "outcome", Classes: []string{`no`, `yes"; DROP TABLE x; /*`, `it's, größer`, `<b>&amp;`}[:classes]},
		Features: []dataset.Feature{
			{Column: "age", Kind: dataset.Numeric, Min: 18, Max: 95},
			{Column: `sex`, Kind: dataset.Categorical, Levels: []string{"Female", "Male"}},
			{Column: `income "gross"`, Kind: dataset.Numeric, Min: 0, Max: 1e6, Log: true, FlagMissing: true},
			{Column: `it's; DROP TABLE records; /*`, Kind: dataset.Categorical, Levels: []string{`a'b`, `c"d`, `e\`, `"""`, `f<g>&h`, "größer", `${x}`, `%s{{.}}`, "日本", "other"}},
			{Columns: []string{"lab1..lab3"}, Kind: dataset.Numeric, Min: -5, Max: 2.5, FlagMissing: true},
			{Column: "stage", Kind: dataset.Categorical, Levels: []string{"1", "2", "3.0", "none"}},
			{Column: "caucus_x1", Kind: dataset.Numeric, Min: -1, Max: 1},
		},
		Missing: marker,
	}
}

func oddRecords(t testing.TB, s dataset.Schema, rows int) *dataset.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 7))
	names := s.FeatureColumns()
	odd := []string{"", s.Missing, "abc", "1e300", "-1e300", "1e2", "0", "-0.0", " 7 "}
	var all [][]string
	for i := range rows {
		var row []string
		for _, f := range s.Features {
			columns, err := dataset.ExpandNames(append(f.Columns, f.Column))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range columns {
				if c == "" {
					continue
				}
				switch {
				case f.Kind == dataset.Categorical && rng.IntN(6) == 0:
					row = append(row,
						[]string{"", s.Missing, "unknown", "3", "2.0", "OTHER", "NaN"}[rng.IntN(7)])
				case f.Kind == dataset.Categorical:
					row = append(row, f.Levels[rng.IntN(len(f.Levels))])
				case i > 0 && rng.IntN(6) == 0:
					row = append(row, odd[rng.IntN(len(odd))])
				default:
					row = append(row,
						fmt.Sprint(f.Min-0.1*(f.Max-f.Min)+1.2*rng.Float64()*(f.Max-f.Min)))
				}
			}
		}
		all = append(all, append(row, fmt.Sprint("p", i)))
	}
	table, err := dataset.NewTable(append(names, "patient"), all)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fixture is a release with invented weights, on a map fitted to a pool.
type fixture struct {
	name    string
	release study.Release
	schema  dataset.Schema
	records *dataset.Table
}

var outputs = map[string]classifier.Output{
	"identity": classifier.Score, "pca": classifier.Score, "famd": classifier.Probability, "cut": classifier.Probability,
}

// fixtures lists releases of two and three classes, on every family of maps.
func fixtures(t testing.TB) (all []fixture) {
	t.Helper()
	for classes, marker := range map[int]string{2: "?", 3: "-9"} {
		s := oddSchema(classes, marker)
		records := oddRecords(t, s, 240)
		encoded, _, err := s.Encode(records)
		if err != nil {
			t.Fatal(err)
		}
		for name, fit := range map[string]func() (dataset.Map, error){
			"identity": func() (dataset.Map, error) { return dataset.Identity(s), nil },
			"pca":      func() (dataset.Map, error) { return dataset.FitPCA(encoded.X, 6, 0) },
			"famd":     func() (dataset.Map, error) { return dataset.FitFAMD(s, encoded.X, 7, 0.5) },
			"cut": func() (dataset.Map, error) { // standard, with the largest parameters
				m, err := dataset.FitFAMD(s, encoded.X, 3, 0)
				if err != nil {
					return m, err
				}
				cut := *m.Inner
				cut.Standard.Clip, cut.Scale = 0.7, 2
				return cut, nil
			},
		} {
			m, err := fit()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fixture{fmt.Sprintf("%s-%d", name, classes),
				madeUp(t, s, records, m, outputs[name]), s, records})
		}
		all = append(all, fixture{fmt.Sprintf("labels-%d", classes), privatised(t, s), s, records})
	}
	return all
}

func madeUp(t testing.TB, s dataset.Schema, pool *dataset.Table, m dataset.Map,
	gives classifier.Output) study.Release {
	t.Helper()
	p, err := planning.Complete(study.Proposal{Name: "odd -- names\\", Kind: "classify", Epsilon: 1,
		Minimum: 2, Seed: 1}, s)
	if err != nil {
		t.Fatal(err)
	}
	p.Simulated, p.Map = true, m
	of, _, err := auxdata.New(s, m, pool)
	if err != nil {
		t.Fatal(err)
	}
	if err := planning.SetPool(&p, of); err != nil {
		t.Fatal(err)
	}
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, uint64(m.Dim())))
	classes := p.Schema.Classes()
	c := classifier.Classifier{Classes: classes, Lambda: 0.1, Output: gives}
	if gives == classifier.Probability {
		c.Calibration = &classifier.Calibration{Intercept: make([]float64,
			learners.WeightColumns(len(classes))), Slope: 1}
	}
	for range m.Dim() {
		row := make([]float64, 1)
		if len(classes) > 2 {
			row = make([]float64, len(classes))
		}
		for k := range row {
			row[k] = 4 * rng.NormFloat64()
		}
		c.Weights = append(c.Weights, row)
	}
	result, err := study.NewResult(trained.Result{Classifier: c}, []string{"a warning\nwith a line */ --> end", `"""`})
	if err != nil {
		t.Fatal(err)
	}
	return study.Release{
		Manifest: study.Manifest{Form: study.ManifestForm, Kind: p.Kind, Unit: p.Unit, PlanHash: study.HashOf(canonical), Simulated: true, Parties: 2},
		Plan:     canonical, Result: result,
	}
}

// parties makes three parties with this number of records each, whose classes follow the scores of
// rule.
func parties(t testing.TB, s dataset.Schema, records int,
	rule func(*dataset.Records) *mat.Dense) (all []study.Inputs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 9))
	of, _, err := s.Encode(oddRecords(t, s, 3*records))
	if err != nil {
		t.Fatal(err)
	}
	scores := rule(of)
	for i := range of.Y {
		row, best := scores.RawRowView(i), math.Inf(-1)
		for k, v := range row {
			// the largest after Gumbel noise: softmax
			if v -= math.Log(rng.ExpFloat64()); v > best {
				of.Y[i], best = k, v
			}
		}
	}
	for i := range 3 {
		rows := make([]int, records)
		for j := range rows {
			rows[j] = i*records + j
		}
		all = append(all, study.NewInputs(of.Select(rows), []byte{byte(i)}))
	}
	return all
}

func rehearsed(t testing.TB, p study.Proposal, s dataset.Schema,
	with []study.Inputs) study.Release {
	t.Helper()
	p.Epsilon, p.Minimum, p.Roster, p.Records = 20, 3, []study.PartyID{"a", "b",
		"c"}, with[0].Records.Len()
	proposed, err := planning.ProposePlan(p, s, oddRecords(t, s, 240))
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.RunPlan(t.Context(), proposed.Plan, proposed.Pool, with)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// privatised is the release of a labels study whose outputs are probabilities.
func privatised(t testing.TB, s dataset.Schema) study.Release {
	t.Helper()
	with := parties(t, s, 500, func(r *dataset.Records) *mat.Dense {
		n, d := r.X.Dims()
		of := mat.NewDense(n, len(s.Classes()), nil)
		for i := range n {
			for k := range len(s.Classes()) {
				of.Set(i, k, 3*r.X.At(i, (5*k+1)%d)-2*r.X.At(i, k))
			}
		}
		return of
	})
	r := rehearsed(t, study.Proposal{Name: "private labels", Kind: "labels", Lambda: 1e-3,
		Map: dataset.Components{Project: 8}}, s, with)
	if c, ok := classifier.Of(r.Result); !ok || c.Output != classifier.Probability {
		t.Fatalf("%s, %q: the world tells too little", c.Output, r.Result.Warnings)
	}
	return r
}

func evaluated(t testing.TB, f fixture) study.Release {
	t.Helper()
	m, err := judged.ModelOf(f.release, f.schema)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := study.EncodeTerms(evaluate.Terms{Model: m, Classes: f.schema.Classes()[1:]})
	if err != nil {
		t.Fatal(err)
	}
	with := parties(t, f.schema, 3000, func(r *dataset.Records) *mat.Dense {
		c, _ := classifier.Of(f.release.Result)
		linear, err := c.Linear()
		if err != nil {
			t.Fatal(err)
		}
		both := mat.NewDense(r.Len(), 2, nil)
		for i, s := range mat.Col(nil, 0, linear.Scores(m.Map.Apply(r.X))) {
			both.Set(i, 1, .3*s)
		}
		return both
	})
	by := rehearsed(t, study.Proposal{Name: "judged", Kind: "evaluate", KindTerms: terms}, f.schema,
		with)
	if _, err := judged.RecalibrateRelease(f.release, by); err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	return by
}

// want returns the classes and probabilities of caucus release predict.
func (f fixture) want(t testing.TB) (classes []int, shares [][]float64) {
	t.Helper()
	encoded, _, err := f.schema.Encode(f.records)
	if err != nil {
		t.Fatal(err)
	}
	classes, p, err := classifier.Predict(f.release, encoded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range classes {
		shares = append(shares, p.RawRowView(i))
	}
	return classes, shares
}

// TestPeersFixture writes releases and records for .ci/peers, where other programs read their
// exports. A release of two classes comes once more with an evaluation, whose calibration its
// exports include.
func TestPeersFixture(t *testing.T) {
	dir := os.Getenv("CAUCUS_PEERS")
	if dir == "" {
		t.Skip("CAUCUS_PEERS names no folder: .ci/peers sets it")
	}
	signed := func(r study.Release) []byte {
		document, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(protocol.SignedRelease{Document: document})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write := func(folder string, files map[string][]byte) {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range files {
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range fixtures(t) {
		var records bytes.Buffer
		if err := f.records.WriteCSV(&records); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"release.json": signed(f.release),
			"records.csv": []byte(strings.ReplaceAll(records.String(), " 7 ", "7"))}
		write(filepath.Join(dir, f.name), files)
		if len(f.schema.Classes()) == 2 {
			files["evaluation.json"] = signed(evaluated(t, f))
			write(filepath.Join(dir, f.name+"-judged"), files)
		}
	}
}
