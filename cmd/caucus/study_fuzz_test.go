package main

import (
	"testing"

	"caucus/analyst/terms"
	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// FuzzStudyFile: any study file is refused, or becomes a plan that passes its checks.
func FuzzStudyFile(f *testing.F) {
	f.Add([]byte("name: a\nschema: s.yaml\npool: p.csv\nunit: record\nepsilon: 1\nroster: [x, y, z]\n"))
	f.Add([]byte("name: a\nkind: labels\nlabels: {loss: logistic}\nroster: [x, y]\ndelta: 0\ncloses_in: 5h\n"))
	f.Add([]byte("name: a\nkind: ratio\nratio: {features: noisy-embedding, fourier: 4}\nroster: [x, y]\n"))
	f.Add([]byte("name: a\nkind: reweigh\nreweigh: {bins: 4}\nroster: [x, y]\n"))
	schema := dataset.Schema{
		Label:    dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{{Column: "n", Kind: dataset.Numeric, Max: 1}, {Column: "t", Kind: dataset.Categorical, Levels: []string{"u", "v"}}},
	}
	pool, err := dataset.NewTable([]string{"n", "t"},
		[][]string{{"0", "u"}, {"1", "v"}, {"0.5", "u"}, {"0.2", "w"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := yamlfile.Parse("", text)
		if err != nil {
			return
		}
		s, err := terms.Read(file, "", "")
		if err != nil || s.Map.Project > 3 || len(s.Roster) > 64 {
			return
		}
		if p, err := planning.Complete(s.Proposal, schema); err != nil ||
			kinds.Explain(p).Shards > 64 {
			return
		}
		if p, err := planning.ProposePlan(s.Proposal, schema, pool); err == nil &&
			kinds.Check(p.Plan) != nil {
			t.Fatalf("a plan is proposed that does not check: %v", kinds.Check(p.Plan))
		}
	})
}
