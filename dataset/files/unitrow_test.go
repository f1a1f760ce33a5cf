package files

import (
	"strings"
	"testing"

	"caucus/dataset"
)

// TestUnitRow: a line of units is no record, and a first record with texts in place of
// numbers is one.
func TestUnitRow(t *testing.T) {
	const rows = "60,66.9,0.83,M\n83,77.9,2.49,M\n50,70.1,1.1,F\n"
	for _, c := range []struct{ top, comment, row string }{
		{"years,kg,mg/dl,f/m\n", "years", "years"},
		{"years,kg,mg/dl,\n", "years", "years"},
		{",kg,mg/dl,f/m\n", "", ", kg, mg/dl, f/m"}, // nothing to begin a comment with
		{"ag,kg,mg/dl,f/m\n", "", "ag, kg, mg/dl, f/m"},
		{"NA,NA,NA,M\n", "", ""}, {"unknown,none,x,M\n", "", ""}, {"60,kg,mg/dl,f/m\n", "", ""},
		{"unknown,66.9,0.83,D\n", "", ""}, {"---+---,,,\n", "--", "---+---"},
	} {
		table, err := dataset.ReadCSV(strings.NewReader("age,weight,crea,sex\n"+c.top+rows),
			dataset.Format{})
		if err != nil {
			t.Fatal(err)
		}
		if comment, row := ProposeComment(table); comment != c.comment || row != c.row {
			t.Errorf("%q: comment %q, row %q", c.top, comment, row)
		}
	}
}
