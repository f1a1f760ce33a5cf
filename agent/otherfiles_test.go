package agent

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"caucus/agent/source"
	"caucus/privacy"
)

// neighbourMapping is a mapping of visits that uses every feature of mappings.
const neighbourMapping = `
decimal: ","
missing: ["33", a]
columns:
  age: {expression: 'age > 50 and sex == "f" ? age / 2 : age + len(ill)', round: 1}
  sex: {levels: {m: f, f: m}}
  ill: {expression: 'ill matches "^(y|n)" ? lower(trim(ill)) : clinic'}
  patient: {from: patient, missing: [p1]}
`

// TestBytesOfOtherFiles repeats TestBytesOfAFileAndOfTheWire under a mapping, and for a workbook,
// whatever it has become.
func TestBytesOfOtherFiles(t *testing.T) {
	all := plans()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.Contains(name, "by cross, unit record, noise site") &&
			!strings.Contains(name, "by tally, unit record, noise coordinator") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			variants := variantsOf(t, privacy.Record, false)
			mappedLook := func(file string) seen {
				r := visitsRig(t, all[name])
				r.SetMapping(source.MappingSource{Inline: mapped(t, neighbourMapping)})
				if err := r.Declare(); err != nil {
					t.Fatal(err)
				}
				return lookAt(t, r, file)
			}
			want := mappedLook(variants["as declared"])
			for _, what := range slices.Sorted(maps.Keys(variants)) {
				if got := mappedLook(variants[what]); got != want {
					t.Errorf("mapped, %s can be told from a file as it was declared:\n%+v\nand\n%+v", what, got, want)
				}
			}
			book := func(lines []string) string {
				x := excelize.NewFile()
				for i, line := range append([]string{strings.TrimSpace(visitsHeader)}, lines...) {
					cells := strings.Split(line, ",")
					if err := x.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &cells); err != nil {
						t.Fatal(err)
					}
				}
				var out bytes.Buffer
				if err := errors.Join(x.Write(&out), x.Close()); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			declared := book(visits())
			bookLook := func(file string) seen {
				r := visitsRig(t, all[name])
				ward := r.Config.Data["ward"]
				ward.Redeclare = ""
				r.Config.Data["ward"] = ward
				r.WriteFile(t, declared)
				if err := r.Declare(); err != nil {
					t.Fatal(err)
				}
				return lookAt(t, r, file)
			}
			want = bookLook(declared)
			for what, file := range map[string]string{"other rows": book(visits()[:30]),
				"one row": book(append(visits()[1:], "99,x,,,")),
				"torn":    declared[:len(declared)/2], "nothing": "", "text": visitsHeader} {
				if got := bookLook(file); got != want {
					t.Errorf("a workbook that became %s can be told from one as it was declared:\n%+v\nand\n%+v", what, got, want)
				}
			}
		})
	}
}
