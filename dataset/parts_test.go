package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestParts: the parts of a file together are the file as CollectRows and Encode read it, whatever
// its length: records, kept texts and remarks, odd cells included. No part but an only one is
// short.
func TestParts(t *testing.T) {
	s, err := ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes"]}
patient: id
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: chol, kind: numeric, min: 1, max: 500, log: true, missing: true}
  - {column: sex, kind: categorical, levels: [f, m]}
`))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	for _, n := range []int{0, 1, partRows, 2*partRows - 1, 2 * partRows, 2*partRows + 1,
		4*partRows + 5} {
		var text strings.Builder
		text.WriteString("id,sex,ill,age,note,chol\n")
		for i := range n {
			fmt.Fprintf(&text, "p%d,%s,%s,%d,%s,%s\n", i, one("f", "m", "d", "\x00"), one("yes", "no", "?"), rng.IntN(120), one("a", "\xff", `"b, c"`), one("", "200", "x"))
		}
		whole, err := ReadLines(strings.NewReader(text.String()), Format{})
		if err != nil {
			t.Fatal(err)
		}
		want, remarks, err := s.Encode(whole.Table)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := NewLines(strings.NewReader(text.String()), Format{})
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		odd, err := s.ReadInParts(rows, []string{"note", "id"},
			func(r *Records, kept [][]string) error {
				if r.Len() < min(n, partRows) {
					t.Errorf("%d rows: a part of %d", n, r.Len())
				}
				for i := range r.Len() {
					note, _ := whole.Table.Cell(at+i, "note")
					id, _ := whole.Table.Cell(at+i, "id")
					if r.Y[i] != want.Y[at+i] || kept[0][i] != note || kept[1][i] != id {
						t.Fatalf("%d rows: row %d is %d, %q, %q; want %d, %q, %q", n, at+i, r.Y[i],
							kept[0][i], kept[1][i], want.Y[at+i], note, id)
					}
				}
				if !mat.Equal(r.X, want.X.Slice(at, at+r.Len(), 0, s.Dim())) {
					t.Errorf("%d rows: the part from row %d on is encoded otherwise", n, at)
				}
				at += r.Len()
				return nil
			})
		if err != nil || at != n {
			t.Errorf("%d rows: %d in parts, %v", n, at, err)
		}
		said := func(all []Remark) (out []string) {
			for _, r := range all {
				if r.Column != "note" { // which the schema does not name
					out = append(out, r.String())
				}
			}
			slices.Sort(out)
			return out
		}
		if have, want := said(odd), said(append(remarks, whole.Remarks...)); !slices.Equal(have,
			want) {
			t.Errorf("%d rows: remarks %q, want %q", n, have, want)
		}
	}
	rows, err := NewLines(strings.NewReader("sex,age\n"), Format{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadInParts(rows, nil, nil); err == nil ||
		!strings.Contains(err.Error(), `no column "chol"`) {
		t.Errorf("without a column: %v", err)
	}
}
