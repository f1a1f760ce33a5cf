package agent

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"caucus/agent/desk"
	"caucus/agent/source"
	"caucus/privacy"
	"caucus/study"
)

// diceCalls are all calls by which an agent's rooms could draw noise, or read the system's
// randomness, and the functions that may make them: no preview's, except for the simulation ledger
// that adds nothing.
var diceCalls = map[string][]string{
	"study.ReleaseRequests":    {"settle", "unperturbed"},
	"privacy.Open":             {"Open", "Reconcile"},
	"privacy.NewMemoryJournal": nil,
	"privacy.NewSimulation":    {"unperturbed"},
	"rand.Read":                {"shardKey", "newRun"},

	"uploading.Contribute": {"contribution"},
	"contribution":         {"drafted", "settle"},
	"study.NewInputs":      {"DeclaredRecords", "Empty"},
	"s.Records":            {"drafted"},
	"s.EmptyRecords":       {"settle"},
}

// TestPreviewTouchesNoDice: no function that a preview calls draws noise, shown or discarded:
// choosing among draws would break the bound. The system's randomness cannot be replaced in a test,
// so the test checks the calls. And the same state is shown in the same way each time, for every
// kind.
func TestPreviewTouchesNoDice(t *testing.T) {
	calls := map[string][]string{}
	files, err := filepath.Glob("*.go")
	rooms, errRooms := filepath.Glob("*/*.go")
	if err := errors.Join(err, errRooms); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, rooms...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				name := ""
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok {
						name = x.Name + "." + n.Sel.Name
					}
				case *ast.CallExpr:
					if own, ok := n.Fun.(*ast.Ident); ok {
						name = own.Name
					}
				}
				if _, watched := diceCalls[name]; watched &&
					!slices.Contains(calls[name], f.Name.Name) {
					calls[name] = append(calls[name], f.Name.Name)
				}
				return true
			})
		}
	}
	for what, by := range diceCalls {
		if got := calls[what]; !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(by))) {
			t.Errorf("%s is called by %v, want %v: is a preview among them?", what, got, by)
		}
	}
	for name, change := range plans() {
		t.Run(name, func(t *testing.T) {
			r := visitsRig(t, change)
			a := r.agent(t)
			if err := a.PollOnce(context.Background()); err != nil {
				t.Fatal(err)
			}
			head, err := privacy.JournalHead(context.Background(), a.site.Journal)
			if err != nil {
				t.Fatal(err)
			}
			look := func() string {
				review, _, err := a.Preview(context.Background(), "illness")
				if err != nil {
					t.Fatal(err)
				}
				if review.Outputs, err = a.Values(context.Background(), r.hash); err != nil {
					t.Fatal(err)
				}
				if len(review.Outputs) == 0 {
					t.Error("no values are shown")
				}
				for _, o := range review.Outputs {
					if len(o.Values) == 0 ||
						r.study.Plan.Noise == study.NoiseSite != (len(o.SD) == len(o.Values)) {
						t.Errorf("%s: %d numbers, %d of noise", o.Name, len(o.Values), len(o.SD))
					}
				}
				b, err := json.Marshal(review)
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			if first, second := look(), look(); first != second {
				t.Errorf("two previews of one state differ:\n%s\n%s", first, second)
			}
			if after, err := privacy.JournalHead(context.Background(),
				a.site.Journal); err != nil ||
				after != head {
				t.Errorf("the ledger went from %v to %v: %v", head, after, err)
			}
		})
	}
}

// TestValuesAreExact: --values shows the exact numbers of the sum, and the upload has these with
// noise of the stated deviation.
func TestValuesAreExact(t *testing.T) {
	r := visitsRig(t, plans()["ratio by gaussian, unit label, noise site, 0 shards"])
	a := r.agent(t)
	round(t, a)
	outputs, err := a.Values(context.Background(), r.hash)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		sum := int64(0)
		for _, v := range o.Values {
			sum += v
		}
		if sum == 60 { // the label counts of 60 records
			return
		}
	}
	t.Errorf("no output counts the 60 labels: %+v", outputs)
}

// TestSight: a person sees the records' true counts.
func TestSight(t *testing.T) {
	r := visitsRig(t, func(p *study.Proposal) {
		p.Mechanism, p.Noise, p.Unit = "cross", study.NoiseSite, privacy.Record
	})
	lines := visits()
	lines[0], lines[1] = "x,f,no,p0,c0", "200,martian,maybe,p0,c1"
	r.WriteFile(t, visitsHeader+strings.Join(append(lines, "50,f,yes,p0,c2"), "\n")+"\n")
	a := r.agent(t)
	if err := a.PollOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil {
		t.Fatal(err)
	}
	age, sex := review.Cells[0], review.Cells[1]
	if age.Column != "age" || age.Unreadable != 1 || age.OutOfRange != 1 || age.SiteValues == "" ||
		age.Pool == "" || age.SiteValues == age.Pool {
		t.Errorf("age: %+v", age)
	}
	if sex.UnknownLevels != 1 || !strings.Contains(sex.SiteValues, "f 50.8 %") ||
		!strings.HasPrefix(sex.Pool, "f 50.0 %, m 50.0 %") {
		t.Errorf("sex: %+v", sex)
	}
	if want := []desk.ClassCount{{Class: "no", Records: 29},
		{Class: "yes", Records: 31}}; !reflect.DeepEqual(review.Classes, want) ||
		review.Unlabelled != 1 {
		t.Errorf("classes %v and %d, want %v and 1", review.Classes, review.Unlabelled, want)
	}
	if review.DistinctPatients != 30 || len(review.Patients) != 2 ||
		review.Patients[0].Patients != 29 ||
		review.Patients[0].Records != 2 || review.Patients[1].Patients != 1 ||
		review.Patients[1].Records != 3 {
		t.Fatalf("%d patients, %+v", review.DistinctPatients, review.Patients)
	}
	if len(review.SiteNoise) != 1 || !(review.SiteNoise[0].SD > 0) ||
		!(review.SiteNoise[0].UnitsWithinSD > 0) ||
		review.SiteNoise[0].CountsUnits {
		t.Errorf("noise %+v", review.SiteNoise)
	}
	var out strings.Builder
	if err := review.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 cannot be read; 1 outside the bounds\n",
		"classes      no 29, yes 31, without a label 1\n", "patients     30\n",
		"29 patients have 2 records: for them ε = ", "1 patient has 3 records: for them ε = "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the preview does not say %q:\n%s", want, out.String())
		}
	}
}

// TestChargedRecords: a charged study shows the number of records declared at the charge, whatever
// is declared now.
func TestChargedRecords(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	if err := a.PollOnce(context.Background()); err != nil { // charged
		t.Fatal(err)
	}
	r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 450))
	if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "alice"},
		source.DeclareOptions{}); err != nil {
		t.Fatal(err)
	}
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil || review.Records != 61 || review.RecordsFound != 450 {
		t.Errorf("%d records of %d (%v), want the 61 that were charged of 450", review.Records, review.RecordsFound, err)
	}
}
