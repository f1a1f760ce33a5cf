package kinds_test

import (
	"encoding/json"
	"testing"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/kinds"
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
