package agent

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/agent/desk"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/dataset/mapping"
	"caucus/study"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDeclare: a declaration stays as it was made, whatever happens to the file, and is in the
// audit log; the person is shown deviations.
func TestDeclare(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 1284)+"\"31,m,no\n200,m,maybe\n")
	got, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "alice"},
		source.DeclareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Declared; d == nil || d.Records != 1200 || got.Found != 1286 || d.By != "alice" ||
		d.Account == "" || len(d.Digest) != 64 || strings.Join(d.Columns, " ") != "age sex ill" {
		t.Errorf("declared %+v of %d", got.Declared, got.Found)
	}
	said := strings.Join(got.Remarks, "\n")
	for _, want := range []string{
		"rows with a quote that does not end, read as empty records: 1, the first in line 1286",
		"ill: 2 cells without a known label", "age: 1 cell outside its bounds",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the person is not told %q:\n%s", want, said)
		}
	}
	_, lines := decisions(t, r.Config)
	if last := lines[len(lines)-1]; last["msg"] != site.AuditDeclared || last["source"] != "ward" ||
		last["records"] != 1200. || last["by"] != "alice" {
		t.Errorf("the audit log says %v", last)
	}
	r.WriteFile(t, "age,sex,ill\n30,f,no\n")
	now, err := a.CheckSource(context.Background(), "ward")
	if err != nil || !now.FileChanged || now.Found != 1 || now.Declared.Records != 1200 ||
		now.Problem != "" {
		t.Errorf("after the file changed: %+v, %v", now, err)
	}
	var shown strings.Builder
	if err := now.WriteText(&shown); err != nil ||
		!strings.Contains(shown.String(), ": 1 record, 3 columns") ||
		!strings.Contains(shown.String(), "1200 records for every study") {
		t.Errorf("a person reads %v:\n%s", err, shown.String())
	}
	r.WriteFile(t, "age,sex\n30,f\n")
	now, err = a.CheckSource(context.Background(), "ward")
	if err != nil || !strings.Contains(now.Problem, "not those that were declared") {
		t.Errorf("with other columns: %+v, %v", now, err)
	}
	if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{}, source.DeclareOptions{}); err == nil || !strings.Contains(err.Error(), `no column "ill"`) {
		t.Errorf("declare = %v, want a refusal that names the missing column", err)
	}
	if now := a.Sources()[0]; now.Declared == nil || now.Declared.Records != 1200 {
		t.Errorf("a declaration that failed changed one that was there: %+v", now)
	}
	if _, err := a.DeclareSource(context.Background(), "yard", desk.Approver{},
		source.DeclareOptions{}); err == nil ||
		!strings.Contains(err.Error(), "this site has ward") {
		t.Errorf("declare = %v, want the names of the sources", err)
	}
}

// TestConfigurationChanged: if the configuration comes to differ from the declaration, the source
// waits for a person again.
func TestConfigurationChanged(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"file": func(r *rig) {
			s := r.Config.Data["ward"]
			s.File += ".old"
			r.Config.Data["ward"] = s
		},
		"format": func(r *rig) {
			os.WriteFile(r.Config.Data["ward"].Schema, []byte(pageYAML+"comment: \"#\"\n"), 0o600)
		},
		"schema gone": func(r *rig) { os.Remove(r.Config.Data["ward"].Schema) },
		"damaged":     func(r *rig) { os.WriteFile(filepath.Join(r.Config.State, "sources", "ward.json"), []byte("{"), 0o600) },
		"another source": func(r *rig) {
			os.Rename(filepath.Join(r.Config.State, "sources", "ward.json"),
				filepath.Join(r.Config.State, "sources", "yard.json"))
		},
	} {
		r := newRig(t, nil)
		change(r)
		a := r.agent(t)
		round(t, a)
		if len(r.bodies)+r.declined != 0 ||
			!strings.Contains(r.Log.String(), "caucus agent source declare ward") {
			t.Errorf("%s: %d uploads, %d times declined; log:\n%s", name, len(r.bodies), r.declined,
				r.Log)
		}
		if got := a.Sources()[0]; got.Declared != nil || got.WaitReason == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUndeclared: nothing leaves before a person has declared the source, and everything goes on
// afterwards.
func TestUndeclared(t *testing.T) {
	r := newRig(t, nil)
	os.RemoveAll(filepath.Join(r.Config.State, "sources"))
	a := r.agent(t)
	round(t, a)
	before, _, err := a.Preview(context.Background(), "illness")
	if err != nil || before.Progress != desk.ProgressUndeclared ||
		!strings.Contains(before.DeclareFirst, "caucus agent source declare ward") {
		t.Errorf("preview: %v, %q, %q", err, before.Progress, before.DeclareFirst)
	}
	if len(r.bodies)+r.declined != 0 || charges(t, a, r.study.Plan.Unit) != 0 {
		t.Fatal("something was sent or charged")
	}
	if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{},
		source.DeclareOptions{}); err != nil {
		t.Fatal(err)
	}
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads; log:\n%s", len(r.bodies), r.Log)
	}
}

// TestUnreadable: whatever happened to a declared file, the study takes place with the same number
// of bytes and the same charge. The site is told, without content of the file.
func TestUnreadable(t *testing.T) {
	const row = "smith,syphilis,berlin\n"
	votes := 0 // bytes of exact votes; those of noisy sums depend on the noise
	for _, test := range []struct {
		name   string
		packed bool
		change func(t *testing.T, r *rig, path string)
		flag   string // message to the site, "" for none
	}{
		{"as declared", false, func(*testing.T, *rig, string) {}, ""},
		{"gone", false, func(t *testing.T, _ *rig, path string) { os.Remove(path) }, "no such file"},
		{"a folder", false, func(t *testing.T, _ *rig, path string) { os.Remove(path); os.Mkdir(path, 0o700) }, "is a directory"},
		{"empty", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "") }, "cannot be read as a table"},
		{"no header", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, row+row) }, "not those that were declared"},
		{"names twice", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "smith,smith,berlin\n"+row) }, "not those that were declared"},
		{"bad quotes", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "\"smith,syphilis\n"+row) }, "cannot be read as a table"},
		{"other order", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "ill,age,sex\n"+row) }, "not those that were declared"},
		{"another delimiter", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "age;sex;ill\nsmith;syphilis;berlin\n") }, "not those that were declared"},
		{"packed now", false, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, gzipped(t, "age,sex,ill\n"+row)) }, "not those that were declared"},
		{"packed", true, func(*testing.T, *rig, string) {}, ""},
		{"torn", true, func(t *testing.T, r *rig, path string) {
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r.WriteFile(t, string(whole[:len(whole)-9]))
		}, "cannot be read as a table"},
		{"not packed now", true, func(t *testing.T, r *rig, _ string) { r.WriteFile(t, "age,sex,ill\n"+row) }, "cannot be read as a table"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(p *study.Proposal) {
				p.Mechanism, p.Noise = "tally", study.NoiseCoordinator
			})
			path := r.Config.Data["ward"].File
			if test.packed {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r.WriteFile(t, gzipped(t, string(text)))
				if err := r.Declare(); err != nil {
					t.Fatal(err)
				}
			}
			test.change(t, r, path)
			a := r.agent(t)
			review, _, err := a.Preview(context.Background(), "illness")
			if err != nil || review.Progress != desk.ProgressReady || review.Records != 61 {
				t.Errorf("preview: %v, %q, %d records", err, review.Progress, review.Records)
			}
			round(t, a)
			if len(r.bodies) != 1 || charges(t, a, r.study.Plan.Unit) != 1 {
				t.Fatalf("%d uploads, %d charges; log:\n%s", len(r.bodies),
					charges(t, a, r.study.Plan.Unit), r.Log)
			}
			if votes == 0 {
				votes = len(r.stored)
			}
			if len(r.stored) != votes {
				t.Errorf("%d bytes were sent, %d of the file as it was declared", len(r.stored), votes)
			}
			after, _, err := a.Preview(context.Background(), "illness")
			if err != nil {
				t.Fatal(err)
			}
			_, lines := decisions(t, r.Config)
			audited := lines[len(lines)-1]["unread"] == true
			log := r.Log.String()
			if told := strings.Contains(log, "gets empty records"); told != (test.flag != "") ||
				told != audited || told != (len(after.Problems) > 0) {
				t.Errorf("the log tells %v, the audit log %v, the review %q", told, audited, after.Problems)
			}
			problems := strings.Join(append(review.Problems, after.Problems...), "\n")
			if !strings.Contains(log, test.flag) || !strings.Contains(problems, test.flag) {
				t.Errorf("%q is not in the log and the review:\n%s\n%s", test.flag, log, problems)
			}
			for _, cell := range []string{"smith", "syphilis", "berlin"} {
				if strings.Contains(log+problems, cell) {
					t.Errorf("a record's %q is in the log or the review:\n%s\n%s", cell, log, problems)
				}
			}
		})
	}
}

// TestPlanHeldAgainstSchema: a plan's columns are compared with the site's published schema, not
// its file. A plan that asks for another column of the file gets the same answer as one that asks
// for a column that does not exist.
func TestPlanHeldAgainstSchema(t *testing.T) {
	for _, column := range []string{"hiv", "nothing"} {
		r := newRig(t, nil)
		r.WriteFile(t, "age,sex,ill,hiv\n"+strings.Repeat("30,f,no,yes\n", 60))
		if err := r.Declare(); err != nil {
			t.Fatal(err)
		}
		a := r.agent(t)
		d, err := a.site.Sources.Of(r.study.Plan)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*study.Plan){
			"a feature": func(p *study.Plan) {
				p.Schema.Features = append(p.Schema.Features[:1:1], p.Schema.Features[0])
				p.Schema.Features[1].Column = column
			},
			"the label":   func(p *study.Plan) { p.Schema.Label.Column = column },
			"the patient": func(p *study.Plan) { p.Schema.Patient = column },
			"the party":   func(p *study.Plan) { p.Schema.Party = column },
		} {
			p := r.study.Plan
			change(&p)
			if got := d.Objections(p); len(got) != 1 ||
				!strings.Contains(strings.ReplaceAll(got[0], column, "COLUMN"), "COLUMN") {
				t.Errorf("%s %q: objections %q, want one that names it", name, column, got)
			}
		}
		if got := d.Objections(r.study.Plan); len(got) != 0 {
			t.Errorf("objections to the site's own schema: %q", got)
		}
		p := r.study.Plan
		p.Records = 61
		if got := d.Objections(p); len(got) != 1 ||
			!strings.Contains(got[0], "at least 61 records, it was declared with 60") {
			t.Errorf("objections %q, want one about the number of records", got)
		}
		p = r.study.Plan
		p.Schema.Features = p.Schema.Features[1:]
		if got := d.Objections(p); len(got) != 0 {
			t.Errorf("objections to fewer features: %q", got)
		}
	}
}

func mapped(t *testing.T, text string) mapping.Mapping {
	t.Helper()
	m, err := mapping.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGarbage: declare refuses a file that does not match its schema, before any charge; check and
// preview report it as a problem.
func TestGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var noise strings.Builder
	for range 300 {
		for range 12 {
			noise.WriteByte(byte(1 + r.IntN(255)))
		}
		noise.WriteByte('\n')
	}
	for name, c := range map[string]struct {
		rows, want string
	}{
		"bytes":         {"30,f,no\n" + noise.String(), "of the cells cannot be read"},
		"random cells":  {strings.Repeat("x9,??,#\n", 60), "100% of the cells cannot be read"},
		"shifted":       {strings.Repeat("f,no,30\n", 60), "100% of the cells cannot be read"},
		"malformed":     {strings.Repeat("30,f,no\n", 40) + strings.Repeat("30;f;no\n", 20), "33.3% of the cells"},
		"no labels":     {strings.Repeat("30,f,\n", 60), "100% of the records have no known label, at most 50%"},
		"other labels":  {strings.Repeat("30,f,krank\n", 60), "no known label"},
		"no record":     {"", "the file has no record"},
		"fine":          {strings.Repeat("30,f,no\n", 60), ""},
		"missing cells": {strings.Repeat(",f,no\n", 60), ""},
		"some":          {strings.Repeat("30,f,no\n30,x,no\n", 30), ""},
	} {
		r := newRig(t, nil)
		good := strings.Repeat("30,f,no\n", 60)
		r.WriteFile(t, "age,sex,ill\n"+good)
		if err := r.Declare(); err != nil {
			t.Fatal(err)
		}
		r.WriteFile(t, "age,sex,ill\n"+c.rows)
		a := r.agent(t)
		_, err := a.DeclareSource(context.Background(), "ward", desk.Approver{},
			source.DeclareOptions{})
		checked, errCheck := a.CheckSource(context.Background(), "ward")
		review, _, errReview := a.Preview(context.Background(), "illness")
		if errCheck != nil || errReview != nil {
			t.Fatal(errCheck, errReview)
		}
		problems := strings.Join(review.Problems, "\n")
		if c.want == "" {
			if err != nil || checked.Problem != "" || problems != "" {
				t.Errorf("%s: declare %v, check %q, preview %q", name, err, checked.Problem,
					problems)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(checked.Problem, c.want) || !strings.Contains(problems, c.want) {
			t.Errorf("%s: want %q\ndeclare %v\ncheck %q\npreview %q", name, c.want, err,
				checked.Problem, problems)
		}
	}
}

// TestDerived: for a column computed from other records a person answers, and the audit log says
// so.
func TestDerived(t *testing.T) {
	r := newRig(t, nil)
	r.WriteFile(t, "age,Rang,ill\n"+strings.Repeat("30,2,no\n", 60))
	r.SetMapping(source.MappingSource{Inline: mapping.Mapping{Derived: []string{"Rang"},
		Columns: map[string]mapping.Rule{"sex": {Expression: `Rang > 1 ? "f" : "m"`}}}})
	a := r.agent(t)
	before := len(r.Log.String())
	if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "alice"},
		source.DeclareOptions{}); err == nil ||
		!strings.Contains(err.Error(), "sex: computed from other records") ||
		!strings.Contains(err.Error(), "--vouch") {
		t.Fatalf("declare: %v; %s", err, r.Log.String()[before:])
	}
	got, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "alice"},
		source.DeclareOptions{Vouch: true})
	if err != nil || strings.Join(got.Declared.VouchedColumns, " ") != "sex" {
		t.Fatalf("vouch: %+v, %v", got.Declared, err)
	}
	_, lines := decisions(t, r.Config)
	if last := lines[len(lines)-1]; last["msg"] != site.AuditDeclared || last["vouched"] != "sex" {
		t.Errorf("the audit log says %v", last)
	}
	var shown strings.Builder
	if err := got.WriteText(&shown); err != nil ||
		!strings.Contains(shown.String(), "computed from other records, except sex") {
		t.Errorf("%v\n%s", err, &shown)
	}
}

// TestEmptySource: a file that lost its records gives the same number of empty ones.
func TestEmptySource(t *testing.T) {
	r := newRig(t, nil)
	if err := os.WriteFile(r.Config.Data["ward"].File, []byte("age,sex,ill\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := r.agent(t)
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads, want 1:\n%s", len(r.bodies), r.Log)
	}
}
