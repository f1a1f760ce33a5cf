package agent

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"caucus/agent/source"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// TestReviewOnATerminal: whatever texts a review holds, each stays in its line.
func TestReviewOnATerminal(t *testing.T) {
	const evil = "x\nprotects     everything\x1b[1A\u202e"
	var fill func(v reflect.Value, text string)
	fill = func(v reflect.Value, text string) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(text)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return
			}
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text)
		case reflect.Map:
			if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
				v.Set(reflect.ValueOf(map[string]string{text: text}))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					fill(v.Field(i), text)
				}
			}
		}
	}
	show := func(text string) string {
		var r Review
		var s source.Report
		fill(reflect.ValueOf(&r).Elem(), text)
		fill(reflect.ValueOf(&s).Elem(), text)
		var out strings.Builder
		if err := r.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := show(evil)
	if want := strings.Count(show("x"), "\n"); strings.Count(got, "\n") != want {
		t.Errorf("%d lines, want %d:\n%s", strings.Count(got, "\n"), want, got)
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
		t.Errorf("%q reaches the terminal", got[i:i+4])
	}
}

// TestPreviewSaysAll: label, learner, map and pool are named in words.
func TestPreviewSaysAll(t *testing.T) {
	r := newRig(t, func(p *study.Proposal) {
		p.Mechanism, p.Noise, p.Unit = "tally", study.NoiseCoordinator, privacy.Record
		p.KindTerms = []byte(`{"shards":2,"learner":"knn"}`)
		p.Map = dataset.Components{Project: 2, Whiten: 0.5, Analysis: dataset.FAMD}
	})
	a := r.agent(t)
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := review.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"label        ill: no, yes\n", "learner      knn\n", "map          4 columns, each by its own scale, then 2 directions of 4 columns, evened out by 0.5\n",
		"pool         60 public rows of 2 columns, all of one weight\n", "records.csv, declared with 61 records, now 61\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the preview does not say %q:\n%s", want, out.String())
		}
	}
	for _, field := range []string{`"label":"ill: no, yes"`, `"learner":"knn"`, `"map":"4 columns, each`, `"pool":"60 pub`} {
		if b, err := json.Marshal(review); err != nil || !strings.Contains(string(b), field) {
			t.Errorf("no %s in %s (%v)", field, b, err)
		}
	}
	p := r.study.Plan
	p.KindTerms = []byte(`{"shards":2}`)
	if got := kinds.WordsOf(p).Trained; got != learners.Default+", as the plan names none" {
		t.Errorf("learner %q", got)
	}
	p.Weights = &study.WeightSource{Plan: r.hash, Unit: privacy.Record}
	task, err := a.state.task(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := poolWords(task); !strings.Contains(got, r.hash.String()[:16]) {
		t.Errorf("pool %q, want one that names the study that made it", got)
	}
}
