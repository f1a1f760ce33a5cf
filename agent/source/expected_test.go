package source

import (
	"strings"
	"testing"
)

// TestExpected: the configuration says what a person expects of a file.
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
		w := newWard(t)
		w.put(rows)
		w.say(func(s *Source) { s.Expected = c.expected })
		err := w.declare()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
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
	if (Expected{Records: []int{5, 1}}).validate() == nil || (Expected{Records: []int{5}}).validate() == nil {
		t.Error("bounds the wrong way round are taken")
	}
}

// TestOneColumn: a column with hardly any readable cell, in an otherwise good file, is refused unless
// the configuration expects that.
func TestOneColumn(t *testing.T) {
	for most, want := range map[Fraction]string{0.6: "98.3% of the cells of sex cannot be read", 1: ""} {
		w := newWard(t)
		w.put("age,sex,ill\n" + strings.Repeat("30,x,no\n", 59) + "30,f,no\n")
		w.say(func(s *Source) { s.Unreadable = &most })
		err := w.declare()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("at most %v: %v, want %q", most, err, want)
		}
	}
}
