package privacy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// noteParts must stand in the proof note of every mechanism that may be released.
var noteParts = []string{"Proof note.", "- Neighbours", "ublic", "- Lemma", "- Numeric model",
	"- The caller guarantees"}

// mechanismTypes returns the documentation of all types, and for each mechanism (a type with a
// method simulationOnly) whether it is for simulation only.
func mechanismTypes(t *testing.T) (notes map[string]string, simulation map[string]bool) {
	t.Helper()
	notes, simulation = map[string]string{}, map[string]bool{}
	for _, name := range must(filepath.Glob("*.go")) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						notes[s.Name.Name] = strings.Join(strings.Fields(d.Doc.Text()), " ")
					}
				}
			case *ast.FuncDecl:
				if d.Name.Name == "simulationOnly" && d.Recv != nil {
					simulation[d.Recv.List[0].Type.(*ast.Ident).Name] =
						d.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident).Name == "true"
				}
			}
		}
	}
	return notes, simulation
}

// TestProofNotes: every mechanism has its proof note at its type. Every mechanism that may be
// released is audited, on small vectors and at its real calibration.
func TestProofNotes(t *testing.T) {
	audited, real := map[string]bool{}, map[string]bool{}
	for _, trial := range must(Trials()) {
		audited[reflect.TypeOf(trial.Mechanism).Name()] = true
	}
	for _, trial := range must(RealTrials()) {
		if len(trial.Data[0]) < 200 {
			t.Errorf("%s: the real trial has %d numbers, not 200 and more", trial.Mechanism.Name(), len(trial.Data[0]))
		}
		real[reflect.TypeOf(trial.Mechanism).Name()] = true
	}
	notes, simulation := mechanismTypes(t)
	if len(simulation) < 11 {
		t.Errorf("found %d mechanisms, there are 11 at least", len(simulation))
	}
	for name, simulated := range simulation {
		note := notes[name]
		if simulated {
			if !strings.Contains(note, "imulation only") {
				t.Errorf("%s: its comment does not say that no proof covers it: Simulation only", name)
			}
			continue
		}
		for _, part := range noteParts {
			if !strings.Contains(note, part) {
				t.Errorf("%s: its proof note has no part %q", name, part)
			}
		}
		if !audited[name] || !real[name] {
			t.Errorf("%s may be released and no trial audits it, small and real", name)
		}
	}
}
