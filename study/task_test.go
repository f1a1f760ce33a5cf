package study

import (
	"testing"

	"caucus/auxdata"
)

// taskOf is the task of a plan on its pool.
func taskOf(t testing.TB, p Plan, pool *auxdata.Pool) Task {
	t.Helper()
	task, err := NewTask(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// hashOf is a plan's hash.
func hashOf(t interface{ Fatal(...any) }, p Plan) Hash {
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return HashOf(canonical)
}
