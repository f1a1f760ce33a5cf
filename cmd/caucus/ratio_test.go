package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/ratio/estimated"
)

// clinics writes files for ratio studies: north.csv and south.csv, the records of two regions, each
// with four clinics of 500 patients with different shares of readmitted patients; clinics.yaml, the
// schema, with the clinic as party column; clinic-pool.csv; ward.csv, unlabelled, 40 % of whose
// patients were readmitted; odd.csv, unlabelled, with one age and impossible glucose; nobody.csv,
// without records.
func clinics(dir string) error {
	c := public.DefaultHospitalConfig()
	c.Sites, c.Records, c.Seed = 1, 10_000, 7
	table, schema := public.Hospitals(c)
	var of [2][]int
	for i := range table.Rows() {
		text, _ := table.Cell(i, schema.Label.Column)
		k := slices.Index(schema.Label.Classes, text)
		of[k] = append(of[k], i)
	}
	take := func(n, yes int) []int {
		rows := slices.Concat(of[0][:n-yes], of[1][:yes])
		of[0], of[1] = of[0][n-yes:], of[1][yes:]
		return rows
	}
	features := schema.FeatureColumns()
	write := func(name string, labelled bool, clinics map[string][]int,
		change func([]string)) error {
		columns := slices.Clone(features)
		if labelled {
			columns = append(columns, schema.Label.Column)
		}
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer file.Close()
		out := csv.NewWriter(file)
		out.Write(append(slices.Clone(columns), "clinic"))
		for _, clinic := range slices.Sorted(maps.Keys(clinics)) {
			for _, i := range clinics[clinic] {
				var row []string
				for _, column := range columns {
					text, _ := table.Cell(i, column)
					row = append(row, text)
				}
				if change != nil {
					change(row)
				}
				out.Write(append(row, clinic))
			}
		}
		out.Flush()
		return out.Error()
	}
	for _, region := range []string{"north", "south"} {
		of := map[string][]int{}
		for k := range 4 {
			of[fmt.Sprintf("%s-%d", region, k+1)] = take(500, 50+100*k)
		}
		first := true
		err := write(region+".csv", true, of, func(row []string) {
			if first {
				row[0], first = planted, false
			}
		})
		if err != nil {
			return err
		}
	}
	odd := func(row []string) { row[0], row[slices.Index(features, "glucose")] = "18", "400" }
	err := errors.Join(
		write("ward.csv", false, map[string][]int{"": take(500, 200)}, nil),
		write("odd.csv", false, map[string][]int{"": take(500, 200)}, odd),
		write("clinic-pool.csv", false, map[string][]int{"": take(800, 260)}, nil),
		write("nobody.csv", false, nil, nil),
	)
	if err != nil {
		return err
	}
	schema.Party, schema.Patient = "clinic", ""
	text, err := schema.YAML()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "clinics.yaml"), text, 0o600)
}

// TestRatioByDaemons: an agent refuses exact features until its policy grants the columns. Then
// three agents publish sets with private counts, and caucus release predict estimates a file's
// class ratios from the checked release.
func TestRatioByDaemons(t *testing.T) {
	n := newNetwork(t, nil)
	schema, err := source.ReadSchema(filepath.Join(n.dir, "schema.yaml"))
	n.check(err)
	s := terms.Study{Schema: filepath.Join(n.dir, "schema.yaml"),
		Pool: filepath.Join(n.dir, "pool.csv")}
	parties := []study.PartyID{"hospital-a", "hospital-b", "hospital-c"}
	s.Proposal = study.Proposal{
		Name: "ratios", Kind: "ratio", Roster: parties, Minimum: 3, Deadline: time.Now().Add(time.Hour),
		Epsilon: 1, KindTerms: []byte(`{"fourier": 100}`), Records: 70,
	}
	made, err := propose(quiet(), s)
	n.check(err)
	var configs []site.Config
	for _, p := range parties {
		c := n.enrol(string(p))
		limit := map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 3, Delta: 1e-5}}
		c.Policy = policy.Policy{
			Kinds: []string{"ratio"}, Mechanisms: []string{"auto", "gaussian-zcdp"}, Noise: []study.Noise{study.NoiseSite},
			StudyLimit: limit, TotalLimit: limit, MinimumParties: 2, Approval: policy.ApproveByPolicy,
		}
		if got := c.Policy.Objections(made.Plan); !slices.ContainsFunc(got, func(o string) bool {
			return strings.Contains(o, "leave in clear")
		}) {
			t.Errorf("without a grant the policy says %v", got)
		}
		c.Policy.ClearColumns = schema.FeatureColumns()
		if got := c.Policy.Objections(made.Plan); len(got) > 0 {
			t.Errorf("with a grant the policy says %v", got)
		}
		configs = append(configs, c)
	}
	n.start(made)
	for _, c := range configs {
		n.run(c)
	}
	r := n.wait(made.Hash)
	result, err := estimated.ResultOf(r)
	if err != nil || r.Parties != 3 || len(result.Sets) != 3 || len(r.Costs) != 1 ||
		r.Costs[0].Mechanism != "zero-sum-laplace" {
		t.Fatalf("release %+v", r)
	}
	release, plot := filepath.Join(n.dir, "release.json"), filepath.Join(n.dir, "plot.svg")
	n.check(writeRelease(&console.Console{}, release, &r))
	var out, errs bytes.Buffer
	code := Main(context.Background(),
		[]string{"release", "predict", release, "--data", filepath.Join(n.dir, "hospital-a.csv"),
			"--plot", plot, "--json"}, &out, &errs)
	if result.Model == nil { // the hospitals' shares happen to be equal
		if code != 1 || !strings.Contains(errs.String(), "support no estimate") {
			t.Errorf("exit %d, %s", code, &errs)
		}
		return
	}
	var doc ratioEstimate
	if code != 0 || json.Unmarshal(out.Bytes(), &doc) != nil ||
		len(doc.Classes) != len(schema.Classes()) || doc.Assumption == "" {
		t.Fatalf("exit %d: %s\n%s", code, &out, &errs)
	}
	sum := 0.
	for _, c := range doc.Classes {
		sum += c.Share
		if c.Low > c.Share || c.Share > c.High {
			t.Errorf("class %+v", c)
		}
	}
	if sum < .999999 || sum > 1.000001 {
		t.Errorf("shares sum to %g", sum)
	}
	if svg, err := os.ReadFile(plot); err != nil || !bytes.HasPrefix(svg, []byte("<svg")) {
		t.Errorf("plot: %v %.40s", err, svg)
	}
	out.Reset()
	if code := Main(context.Background(),
		[]string{"release", "predict", release, "--data",
			filepath.Join(n.dir, "hospital-a.csv")}, &out, &errs); code != 0 ||
		!strings.Contains(out.String(), "assumes") {
		t.Errorf("exit %d: %s", code, &out)
	}
	if strings.Contains(n.log.String(), planted) {
		t.Error("a record was logged")
	}
}
