package agent

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/agent/desk"
	"caucus/agent/health"
	"caucus/agent/source"
	"caucus/study/kinds"
)

// TestTurnedToGarbage: a file that turns to garbage after its declaration gives constants, the same
// for any garbage of any length. Messages, charges and logs are those of a good file; the site is
// told when the study has been prepared. A study that counts missing cells tells an unknown text
// from a missing one, so its garbage has no text.
func TestTurnedToGarbage(t *testing.T) {
	garbageOf := func(text string) map[string]string {
		return map[string]string{
			"as many": strings.Repeat("x9,"+text+",#,,c0\n", 60),
			"fewer":   strings.Repeat("x9,"+text+",#,,c0\n", 20),
			"shifted": strings.Repeat("f,"+text+",30,c0\n", 60),
		}
	}
	for name, change := range plans() {
		// its sets are a column, or made: their names are public
		if strings.Contains(name, "ratio") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			good := look(t, change, visitsHeader+strings.Join(visits(), "\n")+"\n")
			var first []desk.Output
			text := "??"
			if kinds.Explain(visitsRig(t, change).study.Plan).CountsMissing {
				text = ""
			}
			for what, rows := range garbageOf(text) {
				r := visitsRig(t, change)
				if got := lookAt(t, r, visitsHeader+rows); got.said != good.said ||
					got.charged != good.charged || got.log != good.log {
					t.Errorf("%s can be told from a good file:\n%+v\nand\n%+v", what, got, good)
				}
				a := r.agent(t)
				values, err := a.Values(context.Background(), r.hash)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = values
				}
				r.WriteFile(t, visitsHeader+strings.Join(visits(), "\n")+"\n")
				// For these visits a whole party's classifier names one class everywhere.
				if of, err := a.Values(context.Background(), r.hash); err != nil ||
					reflect.DeepEqual(of, values) && !strings.Contains(name, "unit party") {
					t.Errorf("%s: the values are those of a good file (%v): this test sees nothing", what, err)
				}
				if !reflect.DeepEqual(values, first) {
					t.Errorf("%s: %v, of other garbage %v", what, values, first)
				}
				review, _, err := a.Preview(context.Background(), "illness")
				if problems := strings.Join(review.Problems, "\n"); err != nil ||
					!strings.Contains(problems, "when its file was read: ") {
					t.Errorf("%s: the site is not told (%v): %q", what, err, problems)
				}
			}
		})
	}
}

// TestRedeclareDaily: a source that is written anew stays as declared; what was taken is noted once
// a day, for the site only.
func TestRedeclareDaily(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	r := newRig(t, nil)
	r.Config.Clock.Now = func() time.Time { return now }
	ward := r.Config.Data["ward"]
	ward.Redeclare = ""
	r.Config.Data["ward"] = ward
	a := r.agent(t)
	if got := a.Sources()[0]; got.Declared != nil ||
		!strings.Contains(got.WaitReason, "redeclare is not what was declared") {
		t.Errorf("a source whose redeclare changed: %+v", got)
	}
	ward.Redeclare = source.RedeclareDaily
	r.Config.Data["ward"] = ward
	if err := r.Declare(); err != nil {
		t.Fatal(err)
	}
	declared := a.Sources()[0].Declared
	for _, step := range []struct {
		hours   time.Duration
		rows    int
		records int // noted
	}{{0, 70, 70}, {5, 80, 70}, {24, 90, 90}} {
		now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(step.hours * time.Hour)
		r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", step.rows))
		if n := a.site.Records(r.hash, r.study.Plan, declared.Records,
			false).Records.Len(); n != declared.Records {
			t.Errorf("after %d hours: %d records, want the %d that were declared", step.hours, n, declared.Records)
		}
		got := a.Sources()[0]
		if got.LatestSnapshot == nil || got.LatestSnapshot.Records != step.records ||
			got.LatestSnapshot.Day != fmt.Sprintf("2026-03-%02d", 1+step.hours/24) ||
			len(got.LatestSnapshot.Problems) != 0 {
			t.Errorf("after %d hours: taken %+v, want %d records", step.hours, got.LatestSnapshot,
				step.records)
		}
		if !reflect.DeepEqual(got.Declared, declared) {
			t.Errorf("the declaration changed: %+v", got.Declared)
		}
	}
	if f := health.CheckSources(a.site.Sources, true)[0]; f.Status != health.OK ||
		!strings.Contains(f.Text, "written anew since: 90 records") {
		t.Errorf("%+v", f)
	}
	now = now.Add(24 * time.Hour)
	r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("x,y,z\n", 90))
	a.site.Records(r.hash, r.study.Plan, declared.Records, false)
	if got := a.Sources()[0].LatestSnapshot; got == nil || len(got.Problems) != 2 {
		t.Errorf("of garbage: %+v", got)
	}
	if strings.Contains(r.Log.String(), "cells") {
		t.Errorf("the log tells of the file:\n%s", r.Log)
	}
	if entries, err := os.ReadDir(a.site.Sources.Dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}
