package kinds_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classify"
	"caucus/study/kinds"
	"caucus/study/life"
)

// taskOf is the task of a plan on its pool.
func taskOf(t testing.TB, p study.Plan, pool *auxdata.Pool) study.Task {
	t.Helper()
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// hashOf is a plan's hash.
func hashOf(t interface{ Fatal(...any) }, p study.Plan) study.Hash {
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return study.HashOf(canonical)
}

// encoded are terms as a plan has them.
func encoded(terms any) json.RawMessage {
	b, err := study.EncodeTerms(terms)
	if err != nil {
		panic(err)
	}
	return b
}

// classifyTerms changes the terms of a classify plan.
func classifyTerms(p *study.Plan, change func(*classify.Terms)) {
	t := classify.TermsOf(*p)
	change(&t)
	p.KindTerms = encoded(t)
}

// setShards and setLearner change one of them.
func setShards(p *study.Plan, n int) { classifyTerms(p, func(t *classify.Terms) { t.Shards = n }) }
func setLearner(p *study.Plan, name string) {
	classifyTerms(p, func(t *classify.Terms) { t.Learner = name })
}

// bodyOf is what a kind says.
func bodyOf[B any](t testing.TB, r study.Result) (body B) {
	t.Helper()
	if err := r.DecodeBody(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// statisticOf is what a task's parties are asked for.
func statisticOf(t testing.TB, p study.Plan, pool *auxdata.Pool) bodies.Statistic {
	t.Helper()
	asked, ok := bodies.Of(taskOf(t, p, pool))
	if !ok {
		t.Fatal("the task asks no statistic")
	}
	return asked.Statistic
}

// termsIn are the terms of a plan's kind.
func termsIn[T any](p study.Plan) (terms T) {
	if err := p.DecodeTerms(&terms); err != nil {
		panic(err)
	}
	return terms
}

// TestKeptOrSummed: contributions to every kind either add up or are kept, and a
// release is not made of the one where it takes the other.
func TestKeptOrSummed(t *testing.T) {
	c, plans := fuzzPlans(t)
	kept := 0
	for _, p := range plans {
		task := taskOf(t, p, c.pool)
		_, keeps := task.(study.Keeper)
		sum, err := task.NewSum()
		if keeps != errors.Is(err, study.ErrKept) || keeps == (sum != nil) {
			t.Errorf("%s %s: keeps %v, sum %v, %v", p.Kind, p.Mechanism, keeps, sum, err)
		}
		of := study.Summed{Bodies: study.BodiesOf(nil)}
		if keeps {
			kept++
			of = study.Summed{}
		}
		s := life.Restore(p, hashOf(t, p), life.Snapshot{State: study.Folded})
		if _, err := life.Conclude(t.Context(), s, task, of, nil); err == nil || !strings.Contains(err.Error(), "keeps bodies") {
			t.Errorf("%s %s: concluded of the wrong one: %v", p.Kind, p.Mechanism, err)
		}
	}
	if kept < 4 || kept == len(plans) {
		t.Errorf("%d of %d keep bodies", kept, len(plans))
	}
}
