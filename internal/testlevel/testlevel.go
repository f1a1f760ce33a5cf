package testlevel

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Variable is the environment variable of the level: empty for few cases, "long" for many.
const Variable = "CAUCUS_TEST"

// Long reports whether this run does many cases. It panics at an unknown level, so that a misspelt
// level is noticed.
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

// N returns the number of cases in this run, either few or many, and logs it.
func N(t testing.TB, few, many int) int {
	t.Helper()
	n := few
	if Long() {
		n = many
	}
	t.Logf("cases: %d of %d", n, many)
	return n
}

// Of returns the cases in this run: all, or a few spread evenly.
func Of[T any](t testing.TB, all []T, few int) []T {
	t.Helper()
	n := min(N(t, min(few, len(all)), len(all)), len(all))
	some := make([]T, n)
	for i := range some {
		some[i] = all[(i*len(all)+len(all)/2)/n]
	}
	return some
}
