package main

import (
	"context"
	"testing"
)

// TestJiElkan runs the quick experiment: with budget enough, weights answer the
// query better than none where E is skewed or made up, and the report is made.
func TestJiElkan(t *testing.T) {
	l := &lab{Quick: true, Seed: 1, Workers: 1}
	tasks, err := jiElkanTasks(l)
	if err != nil {
		t.Fatal(err)
	}
	all := &results{}
	for _, task := range tasks {
		if err := task.Run(context.Background(), all); err != nil {
			t.Fatal(task.Key, err)
		}
	}
	for _, c := range []struct{ setting, method string }{{"uniform", "entropy with outcome"}} {
		s := all.where("setting", c.setting)
		got := s.where("method", c.method, "epsilon", 3.0).rmse("error")
		if raw := s.where("method", "unweighted").rmse("error"); !(got < raw/2) {
			t.Errorf("%s, %s: error %.4f, unweighted %.4f", c.setting, c.method, got, raw)
		}
	}
	for _, setting := range jiElkanSettings {
		s := all.where("setting", setting, "learner", "svm")
		if v := s.where("method", "trained on D").over("accuracy").Mean; v < 0.5 {
			t.Errorf("%s: an svm trained on D reaches %.3f", setting, v)
		}
	}
	if err := jiElkanReport(l, all, newPage(t.TempDir(), "ji-elkan")); err != nil {
		t.Fatal(err)
	}
}
