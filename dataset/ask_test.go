package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// TestAsk: columns of the schema are compared by meaning, other columns as written, and impossible
// comparisons are refused.
func TestAsk(t *testing.T) {
	s := clinicSchema(t)
	table, err := NewTable([]string{"age", "ward", "outcome", "insurer", "cost"}, [][]string{
		{"70", "east", "no", "Private", "10"},
		{"?", "3", "1", "State", "n/a"},
		{"64", "north", "yes", " Private", "2.5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ text, with, without string }{
		{"age >= 65", "100", "100"},
		{"age >= sixty", "is a number, so compare it with one", "holds numbers, so compare it with one"},
		{"age == '?'", "010", "010"},
		{"age >= 101", "beyond the bounds of age", "000"},
		{"ward == '3.0'", "010", "010"},
		{"ward == other", "001", `"other" is no level of ward`},
		{"ward == north", "001", "001"},
		{"ward == nort", "is no level of ward: it has east, 3.0, other", `do you mean "north"?`},
		{"ward > east", "is a text", "holds texts"},
		{"ward == other or ward == north", `"other" is how the schema calls cells of ward`, `"other" is no level`},
		{"ward == east or ward == north", "101", "101"},
		{"age >= 65 or age == '?'", "110", "110"},
		{"outcome == yes", "011", "001"},
		{"outcome == Yes", `do you mean "yes"?`, `do you mean "yes"?`},
		{"insurer == Private", "101", "101"},
		{"insurer == ''", "000", "000"},
		{"insurer == Privatt", `do you mean "Private"? it has Private, State`, `do you mean "Private"?`},
		{"not (age > 3 or insurer == Stat)", `do you mean "State"?`, `do you mean "State"?`},
		{"cost > 3", "100", "100"},
		{"cost != cheap", "holds numbers", "holds numbers"},
		{"price > 3", `no column "price"; the table has age`, `no column "price"`},
	} {
		for want, schema := range map[string]Schema{of.with: s, of.without: {}} {
			rows, err := schema.Matches(condition(t, of.text), table)
			got := fmt.Sprint(err)
			if err == nil {
				got = strings.NewReplacer("true", "1", "false", "0", " ", "", "[", "", "]",
					"").Replace(fmt.Sprint(rows))
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s, %d features: %s, want %s", of.text, len(schema.Features), got, want)
			}
		}
	}
	if cells := table.column("ward"); cells.values[1] != "3" {
		t.Errorf("the table's own cell has become %q", cells.values[1])
	}
}
