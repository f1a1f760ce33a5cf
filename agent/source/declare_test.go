package source

import (
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

func TestRoundDown(t *testing.T) {
	for n, want := range map[int]int{0: 0, 7: 7, 42: 42, 99: 99, 100: 100, 109: 100, 1286: 1200,
		99999: 99000, 1000000: 1000000} {
		if got := RoundDown(n, dailyDigits); got != want {
			t.Errorf("%d is rounded to %d, want %d", n, got, want)
		}
	}
	for n := range 200_000 {
		if left := n - RoundDown(n, importDigits); left < 0 || 100*left > n {
			t.Fatalf("of %d records %d are left out", n, left)
		}
	}
}

// TestDeclareErrors: the refusal of a file quotes no cell, because its first line may be a record.
func TestDeclareErrors(t *testing.T) {
	for name, text := range map[string]string{
		"text only":         "smith,syphilis,berlin\njones,influenza,paris\n",
		"another delimiter": "smith;syphilis;berlin\njones;influenza;paris\n",
		"bad quotes":        "\"smith,syphilis,berlin\njones,influenza,paris\n",
		"same cells":        "smith,syphilis,syphilis\n",
		"empty":             "",
		"no row":            "age,sex,ill\nsmith;syphilis;berlin\n",
	} {
		w := newWard(t)
		w.put(text)
		err := w.declare()
		if err == nil || !strings.Contains(err.Error(), w.ByName["ward"].File) {
			t.Fatalf("%s: declare = %v, want a refusal that names the file", name, err)
		}
		for _, cell := range []string{"smith", "syphilis", "berlin", "jones", "influenza",
			"paris"} {
			if strings.Contains(err.Error(), cell) {
				t.Errorf("%s: the record's %q is in the error: %v", name, cell, err)
			}
		}
		if name == "text only" && !strings.Contains(err.Error(), `"age", "sex", "ill"`) {
			t.Errorf("the missing columns are not named: %v", err)
		}
	}
}

// TestRedeclareIsForText: only text files can be written anew.
func TestRedeclareIsForText(t *testing.T) {
	w := newWard(t)
	w.say(func(s *Source) { s.Redeclare = RedeclareDaily })
	table, err := dataset.NewTable([]string{"age", "sex", "ill"},
		slices.Repeat([][]string{{"30", "f", "no"}}, 60))
	if err != nil {
		t.Fatal(err)
	}
	for kind, file := range containers(t, table) {
		w.put(string(file))
		err := w.declare()
		if container := kind == "xlsx" ||
			kind == "parquet"; container != (err != nil &&
			strings.Contains(err.Error(), "have it written as CSV")) {
			t.Errorf("%s: declare = %v", kind, err)
		}
	}
}
