package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/dataset"
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

// TestCardOfACatalogue: a card is read back as it was written, and says what it lacks
// for a schema.
func TestCardOfACatalogue(t *testing.T) {
	r := newRig(t, nil)
	c, err := r.agent(t).Card("ward", Approver{Name: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "card.yaml")
	var out strings.Builder
	if err := c.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = ReadCard(path); err != nil || c.Party != "site" || c.Source != "ward" {
		t.Fatalf("%+v: %v", c, err)
	}
	for change, want := range map[string]string{
		"":                          "",
		"column: age>column: size":  `no column "size"`,
		"max: 100>max: 120":         `column "age" has other bounds`,
		"[f, m]>[m, f]":             `column "sex" has other codes`,
		`["no", "yes"]>[yes, "no"]`: `column "ill" has other codes`,
		"column: ill>column: sex2":  `no column "sex2"`,
	} {
		from, to, _ := strings.Cut(change, ">")
		s, err := dataset.ParseSchema(strings.NewReader(strings.Replace(pageYAML, from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Lacks(s), "; "); got != want {
			t.Errorf("%s: it lacks %q, want %q", change, got, want)
		}
	}
	for text, want := range map[string]string{"party: x\n": "it is no card", "partty: x\n": "do you mean"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCard(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
