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
