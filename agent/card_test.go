package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCard: a card is made of the declaration and of nothing that the file holds;
// it names no file, mapping, digest or person, and not how many records there
// really are.
func TestCard(t *testing.T) {
	r := newRig(t, nil)
	r.put(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 1284))
	a := r.agent(t)
	if _, err := a.DeclareSource("ward", Approver{Name: "alice"}); err != nil {
		t.Fatal(err)
	}
	text := func() string {
		t.Helper()
		c, err := a.Card("ward", Approver{Name: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.WriteYAML(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const want = `party: site
source: ward
records: 1200
columns:
  - column: age
    min: 0
    max: 100
  - column: sex
    codes: [f, m]
  - column: ill
    codes: ["no", "yes"]
    label: true
`
	if got := text(); got != want {
		t.Errorf("the card is\n%s\nwant\n%s", got, want)
	}
	r.put(t, "other,columns\n1,2\n")
	if got := text(); got != want {
		t.Errorf("after the file changed it is\n%s", got)
	}
	os.RemoveAll(filepath.Join(r.config.State, "sources"))
	if _, err := a.Card("ward", Approver{Name: "alice"}); !errors.Is(err, ErrUndeclared) {
		t.Errorf("card = %v, want ErrUndeclared", err)
	}
	if _, err := a.Card("yard", Approver{}); err == nil || !strings.Contains(err.Error(), "this site has ward") {
		t.Errorf("card = %v, want the names of the sources", err)
	}
}
