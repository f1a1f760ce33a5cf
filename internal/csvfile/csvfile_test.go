package csvfile

import (
	"encoding/csv"
	"strings"
	"testing"
)

// formulas are cells that some spreadsheet computes, with what NewEscaping makes of each.
var formulas = map[string]string{
	"=1+1":                          "'=1+1",
	"+cmd|' /C calc'!A0":            "'+cmd|' /C calc'!A0",
	"-2+3":                          "'-2+3",
	"@SUM(1)":                       "'@SUM(1)",
	"＝1":                            "'＝1",
	"＋1+1":                          "'＋1+1",
	"－2":                            "'－2",
	"＠a":                            "'＠a",
	"\t=1":                          "\t'=1",
	"\r=1":                          "\r'=1",
	"\n-x":                          "\n'-x",
	" \u00a0=1":                     " \u00a0'=1",
	"\ufeff=1":                      "\ufeff'=1",
	"\x00=1":                        "\x00'=1",
	`"=1"`:                          `"'=1"`,
	"a;=1":                          "a;'=1",
	"a; \"@b":                       "a; \"'@b",
	"a\t=b|+c":                      "a\t'=b|'+c",
	"=a;=b,=c":                      "'=a;'=b,'=c",
	"+ve":                           "'+ve",
	"- none":                        "'- none",
	"5;+":                           "",
	"-":                             "",
	"＋":                             "",
	"+":                             "",
	"-2.5":                          "",
	"+1e-3":                         "",
	"-2,5":                          "",
	" -7 ":                          "",
	"a=b":                           "",
	"grade 1-2":                     "",
	"2024-12-31":                    "",
	"'=1":                           "",
	"":                              "",
	"me@example.org":                "",
	"18-30; 31-60":                  "",
	strings.Repeat("a", 100) + ";=": "",
}

func TestFormulas(t *testing.T) {
	for cell, want := range formulas {
		if got := HasFormula(cell); got != (want != "") {
			t.Errorf("%q: has a formula: %t", cell, got)
		}
		first := strings.HasPrefix(strings.TrimLeftFunc(want, padding), "'")
		if got := IsFormula(cell); got != (first && want != "" && cell != want) {
			t.Errorf("%q: is a formula: %t", cell, got)
		}
		var text strings.Builder
		out := NewEscaping(&text)
		err := out.Write([]string{"x", cell})
		if want == "" {
			want = cell
		}
		if err != nil || out.Close() != nil {
			t.Fatal(err)
		}
		line, err := csv.NewReader(strings.NewReader(text.String())).Read()
		// The package encoding/csv reads a line end in quotes as \n.
		if read := strings.ReplaceAll(want, "\r\n", "\n"); err != nil || line[1] != read {
			t.Errorf("%q: written as %q, %v, want %q", cell, line, err, want)
		}
		if HasFormula(marked(cell)) {
			t.Errorf("%q: %q is a formula still", cell, marked(cell))
		}
		err = NewRefusing(&text).Write([]string{"x", cell})
		if (err != nil) != (want != cell) {
			t.Errorf("%q: exact: %v", cell, err)
		}
	}
}

// FuzzMarked: a marked text is a formula under no separator, and without the marks it is the same
// text.
func FuzzMarked(f *testing.F) {
	for cell := range formulas {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		text := marked(cell)
		if HasFormula(text) {
			t.Errorf("%q: %q is a formula", cell, text)
		}
		if strings.ReplaceAll(text, "'", "") != strings.ReplaceAll(cell, "'", "") {
			t.Errorf("%q: %q has another text", cell, text)
		}
	})
}
