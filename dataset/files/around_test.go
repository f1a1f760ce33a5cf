package files

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"caucus/dataset"
)

// withRows returns 40 complete rows below their names, with other rows from line 3 on.
func withRows(others string) string {
	var b strings.Builder
	b.WriteString("id,remark,age,sex,died\n")
	for i := range 40 {
		if fmt.Fprintf(&b, "P%d,none,%d,M,no\n", i+1, 30+i); i == 0 {
			b.WriteString(others)
		}
	}
	return b.String()
}

// TestAround: lines that are no records of a table are left out and counted for a person. In a
// study, each line counts as a record, and the same rows are counted.
func TestAround(t *testing.T) {
	sums := []dataset.Remark{{Problem: ProblemTotals, Count: 2, First: 42},
		{Problem: ProblemFooter, Count: 2, First: 42}}
	for name, c := range map[string]struct {
		text              string
		w                 TextFormat
		rows, studies     int
		row               string // the person's in line 3, or the next; P3 is in line 4
		remarks, ofStudys []dataset.Remark
	}{
		"broken text": {withRows("Q,called\nfamily twice,35,F,no\n"), TextFormat{}, 41, 42,
			"Q|called\nfamily twice|35|F|no", []dataset.Remark{{Problem: ProblemJoined, Count: 1, First: 3}},
			[]dataset.Remark{{Problem: ProblemNotJoined, Count: 1, First: 3},
				{Problem: dataset.ProblemShortRow, Count: 2, First: 3}}},
		"broken twice": {withRows("Q,called\nthe family\ntwice,35,F,no\n"), TextFormat{}, 41, 43,
			"Q|called\nthe family\ntwice|35|F|no",
			[]dataset.Remark{{Problem: ProblemJoined, Count: 1, First: 3}},
			[]dataset.Remark{{Problem: ProblemNotJoined, Count: 1, First: 3},
				{Problem: dataset.ProblemShortRow, Count: 3, First: 3}}},
		"short rows": {withRows("Q1,none,34\nQ2,none,35\n"), TextFormat{}, 42, 42, "Q1|none|34||",
			[]dataset.Remark{{Problem: dataset.ProblemShortRow, Count: 2, First: 3}},
			[]dataset.Remark{{Problem: dataset.ProblemShortRow, Count: 2, First: 3}}},
		"short rows of texts": {withRows("Q1,none\nQ2,none,35,M\n"), TextFormat{}, 42, 42,
			"Q1|none|||",
			[]dataset.Remark{{Problem: dataset.ProblemShortRow, Count: 2, First: 3}},
			[]dataset.Remark{{Problem: dataset.ProblemShortRow, Count: 2, First: 3}}},
		"empty rows": {withRows(",,,,\n,,,,\n"), TextFormat{}, 40, 42, "P2|none|31|M|no",
			[]dataset.Remark{{Problem: ProblemEmptyRow, Count: 2, First: 3}},
			[]dataset.Remark{{Problem: ProblemEmptyRecord, Count: 2, First: 3}}},
		"sums": {withRows("") + "Sum,,45,,\nMean,,54.2,,\n", TextFormat{}, 42, 42,
			"P3|none|32|M|no",
			sums, sums},
		"subtotal": {withRows("Ward 3 mean,none,35,F,no\n"), TextFormat{}, 41, 41,
			"Ward 3 mean|none|35|F|no",
			[]dataset.Remark{{Problem: ProblemTotals, Count: 1, First: 3}},
			[]dataset.Remark{{Problem: ProblemTotals, Count: 1, First: 3}}},
		"number and range": {withRows("n = 300,none,35,F,no\n[IQR],none,35,F,no\n"), TextFormat{},
			42,
			42,
			"n = 300|none|35|F|no",
			[]dataset.Remark{{Problem: ProblemTotals, Count: 2, First: 3}},
			[]dataset.Remark{{Problem: ProblemTotals, Count: 2, First: 3}}},
		"no patient of much": {withRows("Q,,,M,\n"), TextFormat{}, 41, 41, "Q|||M|", nil, nil},
		"last row": {withRows("") + "Legend\nage,years\n1,2\n", TextFormat{LastRow: 41}, 40, 40,
			"P3|none|32|M|no",
			[]dataset.Remark{{Problem: ProblemBelowLast, Count: 3, First: 42}},
			[]dataset.Remark{{Problem: ProblemBelowLast, Count: 3, First: 42}}},
		"comment beside": {withRows(",Sum,35,,\n"), TextFormat{Comment: "Sum"}, 40, 40,
			"P2|none|31|M|no", nil, nil},
		"comment": {withRows("(1 row)\n"), TextFormat{Comment: "("}, 40, 40,
			"P2|none|31|M|no", nil, nil},
		"no comment": {withRows(""), TextFormat{Comment: "Mean"}, 40, 40, "P3|none|32|M|no",
			[]dataset.Remark{{Column: `comment "Mean"`, Problem: ProblemNoComment}},
			[]dataset.Remark{{Column: `comment "Mean"`, Problem: ProblemNoComment}}},
	} {
		for _, of := range []struct {
			open    func(io.ReaderAt, int64, Format, TextFormat) (dataset.Rows, error)
			n       int
			row     string
			remarks []dataset.Remark
		}{{OpenForPerson, c.rows, c.row, c.remarks}, {Open, c.studies, "", c.ofStudys}} {
			in := strings.NewReader(c.text)
			rows, err := of.open(in, in.Size(), Format{Kind: Text, Encoding: utf8Text}, c.w)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := dataset.CollectRows(rows)
			if err != nil {
				t.Fatal(err)
			}
			at, got := 2, ""
			if !strings.HasPrefix(of.row, "P3") {
				at = 1
			}
			for _, name := range lines.Columns {
				cell, _ := lines.Table.Cell(at, name)
				got += "|" + cell
			}
			if lines.Table.Rows() != of.n || !slices.Equal(lines.Remarks, of.remarks) ||
				of.row != "" && got[1:] != of.row {
				t.Errorf("%s: %d rows, want %d, %q, want %q, remarks %v, want %v", name, lines.Table.Rows(),
					of.n, got[1:], of.row, lines.Remarks, of.remarks)
			}
		}
	}
}

// TestHiddenSheet: if nobody names a sheet, the first one that is not hidden is read, and the other
// sheets are listed.
func TestHiddenSheet(t *testing.T) {
	b := workbook(t, "old", func(x *excelize.File) {
		x.NewSheet("Cohort")
		for _, name := range []string{"old", "Cohort"} {
			x.SetSheetRow(name, "A1", &[]any{"age", "sex"})
			x.SetSheetRow(name, "A2", &[]any{60, name})
		}
		x.SetActiveSheet(1)
		x.SetSheetVisible("old", false)
	})
	for sheet, want := range map[string]string{"": "Cohort", "old": "old", "Cohort": "Cohort"} {
		in := bytes.NewReader(b)
		rows, err := OpenForPerson(in, in.Size(), Format{Kind: Workbook}, TextFormat{Sheet: sheet})
		if err != nil {
			t.Fatal(err)
		}
		lines, err := dataset.CollectRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := lines.Table.Cell(0, "sex")
		if got != want || (len(lines.Remarks) == 1) != (sheet == "") {
			t.Errorf("sheet %q: %q, %v", sheet, got, lines.Remarks)
		}
	}
	if w, notes, _ := drafted(t, b, TextFormat{}); w.Sheet != "Cohort" || len(notes) != 1 {
		t.Errorf("draft %+v, %q", w, notes)
	}
}
