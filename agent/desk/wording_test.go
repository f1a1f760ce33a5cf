package desk_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// TestPreviewSaysAll: the review names label, learner, map and pool in words.
func TestPreviewSaysAll(t *testing.T) {
	r := newSite(t, func(p *study.Proposal) {
		p.Mechanism, p.Noise, p.Unit = "tally", study.NoiseCoordinator, privacy.Record
		p.KindTerms = []byte(`{"shards":2,"learner":"knn"}`)
		p.Map = dataset.Components{Project: 2, Whiten: 0.5, Analysis: dataset.FAMD}
	})
	a := ask(t, r)
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := review.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"label        ill: no, yes\n", "learner      knn\n", "map          the columns as 4 numbers, each rescaled, then a projection of 4 numbers on 2 directions, whose variances are equalised to degree 0.5 (0 keeps them, 1 makes them equal)\n",
		"pool         60 public rows of 2 columns, all of one weight\n", "records.csv, declared with 61 records, now 61\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the preview does not say %q:\n%s", want, out.String())
		}
	}
	for _, field := range []string{`"label":"ill: no, yes"`, `"learner":"knn"`, `"map":"the columns as 4 numbers`, `"pool":"60 pub`} {
		if b, err := json.Marshal(review); err != nil || !strings.Contains(string(b), field) {
			t.Errorf("no %s in %s (%v)", field, b, err)
		}
	}
	p := r.StudyPlan.Plan
	p.KindTerms = []byte(`{"shards":2}`)
	if got := kinds.Explain(p).Trained; got != learners.DefaultLearner+", as the plan names none" {
		t.Errorf("learner %q", got)
	}
}
