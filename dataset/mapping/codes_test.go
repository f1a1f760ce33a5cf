package mapping

import (
	"fmt"
	"strings"
	"testing"
)

// TestApart: numbers that probably stand for a missing value are reported, even if they lie within
// the bounds. Frequent values, counts from 0, short scales, and columns with both signs are not
// reported.
func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		first, step float64 // 40 different numbers of two cells each
		and         string  // more numbers, and how many cells have each
		want        string
	}{
		"platelets":      {150, 7, "999 20", "999 in 20 cells"},
		"age":            {58, 1, "99 9", "99 in 9 cells"},
		"pressure":       {90, 2, "0 6", "0 in 6 cells"},
		"base excess":    {-10.25, 0.5, "-9 12", "-9 in 12 cells"},
		"two codes":      {150, 7, "99 9 555 9", "99 in 9 cells and 555 in 9 cells"},
		"below 0":        {1, 1, "-5 2", "-5 in 2 cells"},
		"far above":      {150.5, 7, "9999 3", "9999 in 3 cells"},
		"a value":        {150, 7, "555 4", ""},
		"heaps":          {90, 2, "110 9 120 9 130 9", ""},
		"days from 0":    {0.5, 0.5, "0 60", ""},
		"both signs":     {-10.25, 0.5, "-2 3 -3 2", ""},
		"one cell alone": {1, 1, "-5 1", ""},
	} {
		texts := map[string]int{"unknown": 50}
		for i := range 40 {
			texts[numberText(c.first+float64(i)*c.step)] += 2
		}
		parts := strings.Fields(c.and)
		for i := 0; i < len(parts); i += 2 {
			var n int
			if _, err := fmt.Sscan(parts[i+1], &n); err != nil {
				t.Fatal(err)
			}
			texts[parts[i]] += n
		}
		got, _, _ := strings.Cut(LikelyMissingMarks(texts, ""), " lies apart")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	scale := map[string]int{"0": 50, "1": 9, "2": 9, "3": 9, "9": 60}
	if got := LikelyMissingMarks(scale, ""); got != "" {
		t.Errorf("a short scale: %s", got)
	}
}

// TestApartSaid: "agent map" and "source declare" report such a number.
func TestApartSaid(t *testing.T) {
	s := ward(t)
	s.Features[1].Max = 2000 // of creatinine
	var cells []string
	for i := range 40 {
		cells = append(cells, fmt.Sprint(150+7*i))
		if i%4 == 0 {
			cells = append(cells, "999")
		}
	}
	table := tableOf(t, column("creatinine", cells...))
	const want = "creatinine: 999 in 10 cells lies apart from the other numbers"
	for name, said := range map[string][]string{
		"map": Suggest(table, s, Mapping{}).Notes, "declare": Advice(table, s),
	} {
		if all := strings.Join(said, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s says %s", name, all)
		}
	}
}
