package desk

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"caucus/agent/source"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// TestReviewOnATerminal: every text of a review stays on its own line.
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
	if i := strings.IndexFunc(got, func(r rune) bool {
		return r != '\n' && !unicode.IsGraphic(r)
	}); i >= 0 {
		t.Errorf("%q reaches the terminal", got[i:i+4])
	}
}

// TestPoolWords: a pool that another study made is described as such.
func TestPoolWords(t *testing.T) {
	schema, err := dataset.ParseSchema(strings.NewReader("label: {column: ill, classes: [\"no\", \"yes\"]}\nfeatures: [{column: age, kind: numeric, min: 0, max: 100}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadCSV(strings.NewReader("age\n"+strings.Repeat("30\n71\n", 30)),
		dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := planning.DraftPlan(study.Proposal{
		Name: "illness", Purpose: "a test", Roster: []study.PartyID{"other", "site"}, Epsilon: 1, Deadline: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC),
		Mechanism: "tally", Noise: study.NoiseCoordinator, Minimum: 2, Records: 60,
	}, schema, rows)
	if err != nil {
		t.Fatal(err)
	}
	table, err := auxdata.ReadCSV(made.PoolBytes, made.Plan.Pool)
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(made.Plan.Schema, made.Plan.Map, table)
	if err != nil {
		t.Fatal(err)
	}
	made.Plan.Weights = &study.WeightSource{Plan: made.Hash, Unit: privacy.Record}
	task, err := kinds.NewTask(made.Plan, pool)
	if err != nil {
		t.Fatal(err)
	}
	if got := poolWords(task); !strings.Contains(got, made.Hash.String()[:16]) {
		t.Errorf("pool %q, want one that names the study that made it", got)
	}
}
