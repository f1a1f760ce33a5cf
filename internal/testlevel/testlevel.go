package testlevel

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Variable names the level in the environment: empty for a few cases, long for many.
const Variable = "CAUCUS_TEST"

// Long says whether this run does many cases. It panics at a level that there is not,
// so that a misspelt one does not pass for a long run.
var Long = sync.OnceValue(func() bool {
	switch level := os.Getenv(Variable); level {
	case "":
		return false
	case "long":
		return true
	default:
		panic(fmt.Sprintf("%s=%q: set it to long, or to nothing", Variable, level))
	}
})

// N gives how many cases a test does in this run, few or many, and notes it in the
// test's log.
func N(t testing.TB, few, many int) int {
	t.Helper()
	n := few
	if Long() {
		n = many
	}
	t.Logf("cases: %d of %d", n, many)
	return n
}

// Of gives the cases that a test does in this run: all, or a few of them that lie evenly
// between the others, others each time that one is added to all.
func Of[T any](t testing.TB, all []T, few int) []T {
	t.Helper()
	n := min(N(t, min(few, len(all)), len(all)), len(all))
	some := make([]T, n)
	for i := range some {
		some[i] = all[(i*len(all)+len(all)/2)/n]
	}
	return some
}
