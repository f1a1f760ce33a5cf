package agent

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"caucus/dataset/mapping"
)

// TestGarbage: a file that is not what its schema says is refused by declare,
// before anything is charged, and is a problem in check and preview.
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
		r.put(t, "age,sex,ill\n"+good)
		if err := r.declare(); err != nil {
			t.Fatal(err)
		}
		r.put(t, "age,sex,ill\n"+c.rows)
		a := r.agent(t)
		_, err := a.DeclareSource("ward", Approver{})
		checked, errCheck := a.CheckSource("ward")
		review, _, errReview := a.Preview(context.Background(), "illness")
		if errCheck != nil || errReview != nil {
			t.Fatal(errCheck, errReview)
		}
		problems := strings.Join(review.Problems, "\n")
		if c.want == "" {
			if err != nil || checked.Problem != "" || problems != "" {
				t.Errorf("%s: declare %v, check %q, preview %q", name, err, checked.Problem, problems)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(checked.Problem, c.want) || !strings.Contains(problems, c.want) {
			t.Errorf("%s: want %q\ndeclare %v\ncheck %q\npreview %q", name, c.want, err, checked.Problem, problems)
		}
	}
}

// TestExpected: what a person finds normal is in the configuration.
func TestExpected(t *testing.T) {
	share := func(s Fraction) *Fraction { return &s }
	rows := "age,sex,ill\n" + strings.Repeat("30,x,no\n30,f,\n", 30) // a quarter of the cells, half of the labels
	for name, c := range map[string]struct {
		expected Expected
		want     string
	}{
		"usual":     {Expected{}, ""},
		"fewer odd": {Expected{Unreadable: share(0.2)}, "25% of the cells"},
		"no label":  {Expected{Unlabelled: share(0)}, "50% of the records"},
		"enough":    {Expected{Records: []int{60, 60}}, ""},
		"too few":   {Expected{Records: []int{61, 100}}, "60 records, expected are 61 to 100"},
		"too many":  {Expected{Records: []int{0, 59}}, "60 records"},
	} {
		r := newRig(t, nil)
		r.put(t, rows)
		s := r.config.Data["ward"]
		s.Expected = c.expected
		r.config.Data["ward"] = s
		_, err := r.agent(t).DeclareSource("ward", Approver{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	r := newRig(t, nil)
	r.put(t, "age,sex,ill\n")
	s := r.config.Data["ward"]
	s.Expected = Expected{Records: []int{0, 9}}
	r.config.Data["ward"] = s
	if _, err := r.agent(t).DeclareSource("ward", Approver{}); err != nil {
		t.Errorf("no record, as expected: %v", err)
	}
	for text, want := range map[string]Fraction{"5%": 0.05, "0.05": 0.05, " 100 % ": 1, "0": 0} {
		var s Fraction
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q is %v, %v", text, s, err)
		}
	}
	for _, bad := range []string{"", "5", "-1%", "101%", "NaN", "x"} {
		var s Fraction
		if s.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is a share of %v", bad, s)
		}
	}
	if (Expected{Records: []int{5, 1}}).validate() == nil || (Expected{Records: []int{5}}).validate() == nil {
		t.Error("bounds the wrong way round are taken")
	}
}

// TestOneColumn: a column of which next to nothing can be read, in a file that is
// otherwise in order, is refused, unless somebody wrote that it is to be so.
func TestOneColumn(t *testing.T) {
	for most, want := range map[Fraction]string{0.6: "98.3% of the cells of sex cannot be read", 1: ""} {
		r := newRig(t, nil)
		r.put(t, "age,sex,ill\n"+strings.Repeat("30,x,no\n", 59)+"30,f,no\n")
		s := r.config.Data["ward"]
		s.Unreadable = &most
		r.config.Data["ward"] = s
		_, err := r.agent(t).DeclareSource("ward", Approver{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("at most %v: %v, want %q", most, err, want)
		}
	}
}

// TestDerived: for a column that was computed from other records a person
// answers, and the audit log says so.
func TestDerived(t *testing.T) {
	r := newRig(t, nil)
	r.put(t, "age,Rang,ill\n"+strings.Repeat("30,2,no\n", 60))
	r.mapWard(MappingSource{Inline: mapping.Mapping{Derived: []string{"Rang"}, Columns: map[string]mapping.Rule{"sex": {Expression: `Rang > 1 ? "f" : "m"`}}}})
	a := r.agent(t)
	before := len(r.log.String())
	if _, err := a.DeclareSource("ward", Approver{Name: "alice"}); err == nil || !strings.Contains(err.Error(), "sex: computed from other records") || !strings.Contains(err.Error(), "--vouch") {
		t.Fatalf("declare: %v; %s", err, r.log.String()[before:])
	}
	got, err := a.VouchSource("ward", Approver{Name: "alice"})
	if err != nil || strings.Join(got.Declared.Vouched, " ") != "sex" {
		t.Fatalf("vouch: %+v, %v", got.Declared, err)
	}
	_, lines := decisions(t, r.config)
	if last := lines[len(lines)-1]; last["msg"] != auditDeclared || last["vouched"] != "sex" {
		t.Errorf("the audit log says %v", last)
	}
	var shown strings.Builder
	if err := got.WriteText(&shown); err != nil || !strings.Contains(shown.String(), "from that record alone, but for sex") {
		t.Errorf("%v\n%s", err, &shown)
	}
}
