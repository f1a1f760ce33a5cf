package auxdata

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"caucus/dataset"
)

const schemaText = `
name: people
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: town, kind: categorical, levels: [north, south]}
`

func pool(t *testing.T, rows string) (*Pool, dataset.Schema, *dataset.Table) {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	table, err := dataset.ReadCSV(strings.NewReader(rows), s.Format())
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	return p, s, table
}

// TestDigest: the digest covers the feature cells, in the schema's order. Labels and other columns
// do not count.
func TestDigest(t *testing.T) {
	a, s, table := pool(t, "age,town,ill\n30,north,no\n40,south,yes\n")
	for name, rows := range map[string]string{
		"no labels":      "age,town\n30,north\n40,south\n",
		"other labels":   "age,town,ill\n30,north,yes\n40,south,yes\n",
		"other order":    "town,age\nnorth,30\nsouth,40\n",
		"another column": "age,town,name\n30,north,x\n40,south,y\n",
	} {
		if b, _, _ := pool(t, rows); b.Digest != a.Digest {
			t.Errorf("%s: the digest differs", name)
		}
	}
	if b, _, _ := pool(t, "age,town\n30,north\n41,south\n"); b.Digest == a.Digest {
		t.Error("another cell, the same digest")
	}
	var canonical bytes.Buffer
	if err := WriteCSV(&canonical, s, table); err != nil {
		t.Fatal(err)
	}
	back, err := ReadCSV(canonical.Bytes(), a.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if b, _, _ := New(s, dataset.Identity(s), back); b.Digest != a.Digest {
		t.Error("read back, another digest")
	}
	if _, err := ReadCSV(append(canonical.Bytes(), '\n'), a.Digest); err == nil {
		t.Error("other bytes are accepted")
	}
}

func TestEmptyPool(t *testing.T) {
	s, _ := dataset.ParseSchema(strings.NewReader(schemaText))
	table, err := dataset.ReadCSV(strings.NewReader("age,town\n"), s.Format())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(s, dataset.Identity(s), table); !errors.Is(err, ErrNoRows) {
		t.Errorf("have %v, want ErrEmpty", err)
	}
}

// TestWeighted: weights change the digest and the mean, and leave the first pool unchanged.
func TestWeighted(t *testing.T) {
	a, _, _ := pool(t, "age,town\n0,north\n100,south\n")
	b, err := a.WithWeights([]float64{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	if b.Digest == a.Digest || a.Weight != nil {
		t.Error("weights must give a new digest and leave the pool alone")
	}
	if got, want := b.Mean()[0]/a.Mean()[0], 1.5; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("weighted mean over plain mean is %v, want %v", got, want)
	}
	for _, bad := range [][]float64{{1}, {1, 0}, {1, -1}} {
		if _, err := a.WithWeights(bad); err == nil {
			t.Errorf("weights %v are accepted", bad)
		}
	}
}
