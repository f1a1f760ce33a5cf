package siteverbs

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

// TestWordsAreThePrograms: caucus-agent names no verb of an agent as caucus has it, on any page of
// help, and asks for no server's folder. The verbs are those of caucus agent, ledger and verify.
func TestWordsAreThePrograms(t *testing.T) {
	root := func(c *console.Console) *cobra.Command { return NewRoot(c, Program{}) }
	own := regexp.MustCompile(`caucus (agent|ledger)\b|--dir`)
	pages := 0
	var walk func(cmd *cobra.Command, words []string)
	walk = func(cmd *cobra.Command, words []string) {
		pages++
		var out bytes.Buffer
		if code := console.Execute(t.Context(), root, append(slices.Clone(words), "--help"), &out,
			&out); code != 0 || !strings.Contains(out.String(), "caucus-agent") {
			t.Errorf("%q: %d, %s", words, code, out.String())
		}
		if found := own.FindString(out.String()); found != "" {
			t.Errorf("the help of %q says %q:\n%s", words, found, out.String())
		}
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clone(words), sub.Name()))
		}
	}
	c := &console.Console{}
	walk(root(c), nil)
	have := len(root(c).Commands())
	if want := len(NewAgent(c, Program{}).Verbs()) + 2; have != want || pages < want {
		t.Errorf("%d verbs and %d pages, want %d verbs", have, pages, want)
	}
}

// TestErrorsAreThePrograms: what a verb that fails says to do can be done with caucus-agent.
func TestErrorsAreThePrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	root := func(c *console.Console) *cobra.Command { return NewRoot(c, Program{}) }
	for _, words := range [][]string{{"approve"}, {"verify"}, {"ledger", "reconcile", "x"},
		{"enrol", "--accept", "x"}, {"preview", "--values"}, {"preview", "a", "--forecast"}} {
		var out, errs bytes.Buffer
		code := console.Execute(t.Context(), root, words, &out, &errs)
		if said := errs.String(); code == 0 || out.Len() > 0 ||
			!strings.HasPrefix(said, "caucus-agent: ") ||
			strings.Contains(said, "caucus agent") || strings.Contains(said, "caucus ledger") {
			t.Errorf("%q: %d, %q, %q", words, code, out.String(), said)
		}
	}
}
