package testlevel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"caucus/internal/testlevel"
)

// TestLevels: this test's own binary says few, many and that a level is misspelt.
func TestLevels(t *testing.T) {
	if os.Getenv("CAUCUS_TEST_LEVELS") != "" {
		testlevel.N(t, 3, 1000)
		return
	}
	for level, want := range map[string]string{"": "cases: 3 of 1000", "long": "cases: 1000 of 1000", "lnog": "set it to long"} {
		c := exec.Command(os.Args[0], "-test.run=TestLevels", "-test.v")
		c.Env = append(os.Environ(), "CAUCUS_TEST_LEVELS=1", testlevel.Variable+"="+level)
		out, err := c.CombinedOutput()
		if !strings.Contains(string(out), want) || (err != nil) != (level == "lnog") {
			t.Errorf("level %q: %v\n%s", level, err, out)
		}
	}
}
