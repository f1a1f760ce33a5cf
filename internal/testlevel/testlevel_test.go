package testlevel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"caucus/internal/testlevel"
)

// TestLevels runs this test's binary at the levels few, many and misspelt.
func TestLevels(t *testing.T) {
	if os.Getenv("CAUCUS_TEST_LEVELS") != "" {
		testlevel.N(t, 3, 1000)
		t.Log("of ten:", testlevel.Of(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3))
		t.Log("of none:", testlevel.Of(t, []int{}, 3))
		return
	}
	for level, wants := range map[string][]string{
		"":     {"cases: 3 of 1000", "of ten: [1 5 8]", "of none: []"},
		"long": {"cases: 1000 of 1000", "of ten: [0 1 2 3 4 5 6 7 8 9]", "of none: []"},
		"lnog": {"set it to long"},
	} {
		c := exec.Command(os.Args[0], "-test.run=TestLevels", "-test.v")
		c.Env = append(os.Environ(), "CAUCUS_TEST_LEVELS=1", testlevel.Variable+"="+level)
		out, err := c.CombinedOutput()
		for _, want := range wants {
			if !strings.Contains(string(out), want) || (err != nil) != (level == "lnog") {
				t.Errorf("level %q: %v, want %q\n%s", level, err, want, out)
			}
		}
	}
}
