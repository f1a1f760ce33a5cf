package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"caucus/study/kinds"
)

// noteAt gives the identifier whose comment holds the proof note of each mechanism that a plan may
// name and a real ledger release.
var noteAt = map[string]string{
	"classify tally": "votes", "classify moment": "votes", "classify cross": "cross", "classify output": "output",
	"classify means": "means",
	"ratio laplace":  "Kind", "ratio gaussian": "Kind", "ratio gaussian-zcdp": "Kind", "ratio dirichlet": "Kind",
	"ratio laplace-prior": "Kind", "ratio auto": "Kind",
	"reweigh entropy": "Statistic", "reweigh logistic": "Statistic",
	"describe gaussian": "counts", "describe laplace": "counts",
	"evaluate gaussian": "Histograms", "evaluate laplace": "Histograms",
	"labels rr": "Kind", "labels em": "Kind",
	"regress gaussian": "Moments", "regress laplace": "Moments",
	"survival gaussian": "Counts", "survival laplace": "Counts",
}

var proofParts = []string{"Proof note", "- Neighbours: replace one", "Public:", "- Lemma:",
	"- Numeric model:", "- The caller guarantees"}

// docsOf returns the comments of all types, functions and constants of a room.
func docsOf(t *testing.T, room string) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../" + room + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					docs[d.Name.Name] = d.Doc.Text()
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						docs[s.Name.Name] = d.Doc.Text() + s.Doc.Text()
					case *ast.ValueSpec:
						docs[s.Names[0].Name] = d.Doc.Text() + s.Doc.Text()
					}
				}
			}
		}
	}
	return docs
}

// TestProofNotes: every releasable mechanism of every kind has a proof note with all parts, and the
// lemmas that the note names stand where the note says.
func TestProofNotes(t *testing.T) {
	releasable := map[string]bool{}
	_, plans := fuzzPlans(t)
	for _, p := range plans {
		kind, err := kinds.FindKind(p.Kind)
		if err != nil {
			t.Fatal(err)
		}
		// a mechanism that no daemon accepts is for simulation
		for _, p.Mechanism = range mechanismsOf[p.Kind] {
			err := kind.Check(p)
			releasable[p.Kind+" "+p.Mechanism] = releasable[p.Kind+" "+p.Mechanism] || err == nil ||
				!strings.Contains(err.Error(), "only be simulated")
		}
	}
	if len(kinds.Names()) != len(mechanismsOf) {
		t.Errorf("there are kinds %v; this test knows the mechanisms of %d: add those of the new kind", kinds.Names(), len(mechanismsOf))
	}
	notes := map[string]map[string]string{}
	for _, kind := range kinds.Names() {
		notes[kind] = docsOf(t, "study/"+kind)
	}
	rooms := map[string]map[string]string{"aggregation": docsOf(t, "aggregation"),
		"ratio": docsOf(t, "aggregation/ratio"), "privacy": docsOf(t, "privacy")}
	lemma := regexp.MustCompile(`(aggregation|ratio|privacy)\.([A-Z]\w+)`)
	for name, may := range releasable {
		at, known := noteAt[name]
		if !may {
			if known {
				t.Errorf("%s is for simulation only and has a proof note at %s", name, at)
			}
			continue
		}
		if !known {
			t.Errorf("%s may be released and its proof note is nowhere: write it and name its place in noteAt", name)
			continue
		}
		note := strings.Join(strings.Fields(notes[strings.Fields(name)[0]][at]), " ")
		for _, part := range proofParts {
			if !strings.Contains(note, part) {
				t.Errorf("%s: the proof note at %s has no part %q", name, at, part)
			}
		}
		_, stated, _ := strings.Cut(note, "- Lemma:")
		stated, _, _ = strings.Cut(stated, "- Numeric model:")
		for _, l := range lemma.FindAllStringSubmatch(stated, -1) {
			if doc := rooms[l[1]][l[2]]; !strings.Contains(strings.ToLower(doc), "bound") {
				t.Errorf("%s: its lemma at %s is not stated there", name, l[0])
			}
		}
	}
	for name := range noteAt {
		if !releasable[name] {
			t.Errorf("%s has a note and may not be released", name)
		}
	}
}
