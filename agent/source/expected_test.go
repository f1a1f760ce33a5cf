package source

import (
	"strings"
	"testing"
)

// TestExpected: the configuration says what a person expects of a file.
func TestExpected(t *testing.T) {
	share := func(s Fraction) *Fraction { return &s }
	// a quarter of the cells, half of the labels
	rows := "age,sex,ill\n" + strings.Repeat("30,x,no\n30,f,\n", 30)
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
		w := newWard(t)
		w.put(rows)
		w.say(func(s *Source) { s.Expected = c.expected })
		err := w.declare()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	w := newWard(t)
	w.put("age,sex,ill\n")
	w.say(func(s *Source) { s.Expected = Expected{Records: []int{0, 9}} })
	if err := w.declare(); err != nil {
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
	if (Expected{Records: []int{5, 1}}).validate() == nil ||
		(Expected{Records: []int{5}}).validate() == nil {
		t.Error("bounds the wrong way round are taken")
	}
}

// TestOneColumn: a column with hardly any readable cell, in an otherwise good file, is refused
// unless the configuration expects that.
func TestOneColumn(t *testing.T) {
	for most, want := range map[Fraction]string{0.6: "98.3% of the cells of sex cannot be read",
		1: ""} {
		w := newWard(t)
		w.put("age,sex,ill\n" + strings.Repeat("30,x,no\n", 59) + "30,f,no\n")
		w.say(func(s *Source) { s.Unreadable = &most })
		err := w.declare()
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("at most %v: %v, want %q", most, err, want)
		}
	}
}

// TestAnotherUnit: a column whose numbers are mostly outside its bounds is refused, with its name
// and bounds, and a check of an import calls it a problem. Missing cells are no numbers of it.
func TestAnotherUnit(t *testing.T) {
	rows := func(outside, inside, missing int) string {
		return "age,sex,ill\n" + strings.Repeat("9125,f,no\n", outside) +
			strings.Repeat("30,f,no\n", inside) + strings.Repeat(",f,no\n", missing)
	}
	for name, c := range map[string]struct {
		file string
		most Fraction // 0: the default
		want string
	}{
		"all, in days":      {rows(60, 0, 0), 0, "100% of the numbers of age are outside its bounds 0 to 100, at most 20% are"},
		"all that is there": {rows(3, 0, 57), 0, "100% of the numbers of age"},
		"more than a fifth": {rows(13, 47, 0), 0, "21.7% of the numbers of age"},
		"a fifth":           {rows(12, 48, 0), 0, ""},
		"as expected":       {rows(60, 0, 0), 1, ""},
		"none is there":     {rows(0, 0, 60), 0, ""},
	} {
		w := newWard(t)
		w.put(c.file)
		if c.most > 0 {
			w.say(func(s *Source) { s.Clamped = &c.most })
		}
		err := w.declare()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.most == 0 {
			continue
		}
		w.say(func(s *Source) { s.Clamped = nil }) // as if it was imported before there was a limit
		if r := w.Check(t.Context(), "ward"); !strings.Contains(r.Problem,
			"100% of the numbers of age") {
			t.Errorf("%s: a check says %q", name, r.Problem)
		}
	}
}

// TestFilledCellsAreSaid: whoever declares reads how many cells of a column are missing, and what
// stands in their place in studies that do not count them.
func TestFilledCellsAreSaid(t *testing.T) {
	w := newWard(t)
	w.put("age,sex,ill\n" + strings.Repeat("30,f,no\n", 57) + ",f,no\nold,f,no\n40,,no\n")
	if err := w.declare(); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(w.Check(t.Context(), "ward").Remarks, "\n")
	for _, want := range []string{
		"age: 1 cell missing", "age: 1 cell not a number", "sex: 1 cell missing", "stand in their place: age 50, sex other",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}
