package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// oddSchema has numbers, a copy of one, and a text.
const oddSchema = `label: {column: died, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 18, max: 100}
  - {column: born, kind: numeric, min: 18, max: 100}
  - {column: crp, kind: numeric, min: 0, max: 500, log: true}
  - {column: ward, kind: categorical, levels: [medicine, surgery]}
  - {column: days, kind: numeric, min: 0, max: 60, log: true}
`

// oddFile writes so many records, each changed by edit, which may be nil. Their order is that of
// the schema, the label last.
func oddFile(t *testing.T, name string, records int, edit func(i int, cells []string)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	var b strings.Builder
	b.WriteString("age,born,crp,ward,days,died\n")
	for i := range records {
		age := 30 + rng.IntN(60)
		cells := []string{fmt.Sprint(age), fmt.Sprint(age), fmt.Sprint(rng.IntN(90)),
			[]string{"medicine", "surgery"}[rng.IntN(2)], fmt.Sprint(age/10 + rng.IntN(9)),
			[]string{"no", "yes"}[rng.IntN(2)]}
		if edit != nil {
			edit(i, cells)
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noNumber is text that a person cannot read as one: what a failed or rounded computation prints.
var noNumber = regexp.MustCompile(`NaN|[+-]Inf|e-1[0-9]|e\+[0-9]|panic|times as wide.*\d{5}\.`)

// TestOddRegressions types what people do by mistake: whatever records, pool and terms are, the
// answer is a number with an interval, or says in words what is missing and what to do.
func TestOddRegressions(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("schema.yaml", []byte(oddSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	set := func(column int, value string) func(int, []string) {
		return func(_ int, cells []string) { cells[column] = value }
	}
	oddFile(t, "usual.csv", 1500, nil)
	oddFile(t, "pool.csv", 200, nil)
	oddFile(t, "oneday.csv", 1500, set(4, "7"))
	oddFile(t, "onedaypool.csv", 200, set(4, "7"))
	oddFile(t, "far.csv", 1500, set(4, "9000"))
	oddFile(t, "negative.csv", 1500, set(4, "-5"))
	oddFile(t, "nocrp.csv", 1500, set(2, ""))
	oddFile(t, "halfcrp.csv", 1500, func(i int, cells []string) {
		if i%2 == 0 {
			cells[2] = ""
		}
	})
	oddFile(t, "nocrppool.csv", 200, set(2, ""))
	oddFile(t, "few.csv", 12, nil)
	oddFile(t, "onerow.csv", 1, nil)
	oddFile(t, "died.csv", 1500, set(5, "yes"))
	oddFile(t, "oneward.csv", 1500, set(3, "medicine"))
	oddFile(t, "onewardpool.csv", 200, set(3, "medicine"))
	days, twins := "outcome=days", "columns=[age, born]"
	for name, c := range map[string]struct {
		words []string // after "simulate regress --schema schema.yaml"
		wants string
	}{
		"as usual":            {[]string{"usual.csv", "pool.csv", days, "columns=[age, ward]"}, "95 % intervals held the population's coefficient in"},
		"constant outcome":    {[]string{"oneday.csv", "pool.csv", days, "columns=[age]"}, `age +\S+ +\S+ to \S+ +\+0\n`},
		"constant, pool too":  {[]string{"oneday.csv", "onedaypool.csv", days, "columns=[age]"}, "the pool has one value of days.*give a pool whose rows differ in it"},
		"outside its bounds":  {[]string{"far.csv", "pool.csv", days, "columns=[age]"}, "1500 cells outside its bounds, clamped"},
		"below its bounds":    {[]string{"negative.csv", "pool.csv", days, "columns=[age]"}, "1500 cells outside its bounds, clamped"},
		"the same twice":      {[]string{"usual.csv", "pool.csv", days, twins}, "the pool does not tell age and born apart: leave one out"},
		"no column at sites":  {[]string{"nocrp.csv", "pool.csv", days, "columns=[crp]"}, "too few records have the outcome and all columns"},
		"half a column":       {[]string{"halfcrp.csv", "pool.csv", days, "columns=[crp]"}, "about 7[0-9]{2} ± [0-9]+ records with all columns"},
		"no column in pool":   {[]string{"usual.csv", "nocrppool.csv", days, "columns=[crp]"}, "no row has all columns of the regression: give a pool with such rows"},
		"fewer than columns":  {[]string{"few.csv", "pool.csv", days, "columns=[age, crp, ward]"}, "too few records have the outcome and all columns, beside the noise: use fewer columns"},
		"a pool of one row":   {[]string{"usual.csv", "onerow.csv", days, "columns=[age]"}, "too few rows of the pool.*, 1: give a pool of 200"},
		"all have died":       {[]string{"died.csv", "pool.csv", "outcome=died", "columns=[age]"}, `age +\S+ +\S+ to \S+ +\+0\n`},
		"one level at sites":  {[]string{"oneward.csv", "pool.csv", days, "columns=[ward]"}, "the records are not like the pool|too few records"},
		"one level in pool":   {[]string{"usual.csv", "onewardpool.csv", days, "columns=[age, ward]"}, "do not differ in ward = surgery: leave the column out"},
		"outcome as a column": {[]string{"usual.csv", "pool.csv", days, "columns=[days]"}, "stands there twice, or is the outcome"},
		"no such level":       {[]string{"usual.csv", "pool.csv", "outcome=ward", "is=icu"}, `"icu" is no level that the schema names of ward`},
		"a level of a number": {[]string{"usual.csv", "pool.csv", days, "is=7"}, "days is a number: leave is out"},
		"the label a column":  {[]string{"usual.csv", "pool.csv", days, "columns=[died]"}, `"died" is no feature of the schema`},
	} {
		words := []string{"simulate", "regress", "--schema", "schema.yaml", "--parties", "3",
			"--noise", "aggregators", "--repeats", "3", "--epsilon", "2", "--train", c.words[0],
			"--pool", c.words[1], "--out", "out.json"}
		for _, term := range c.words[2:] {
			words = append(words, "--set", term)
		}
		said := typed(t, words...)
		if !regexp.MustCompile(c.wants).MatchString(said) || noNumber.MatchString(said) {
			t.Errorf("%s: no %q, or what is no number (%q), in\n%s", name, c.wants,
				noNumber.FindString(said), said)
		}
		if _, err := os.Stat("out.json"); err != nil {
			continue
		}
		for _, then := range [][]string{{"release", "show", "out.json"},
			{"release", "export", "out.json", "--to", "csv"},
			{"release", "report", "out.json", "--out", "-"}} {
			if said := typed(t, then...); noNumber.MatchString(said) ||
				!strings.Contains(said, "change") {
				t.Errorf("%s: %v says %q in\n%s", name, then, noNumber.FindString(said), said)
			}
		}
		if err := os.Remove("out.json"); err != nil {
			t.Fatal(err)
		}
	}
	for wants, records := range map[string]string{"unknown \\(": "2", "± ": "2000"} {
		said := typed(t, "forecast", "regress", "--schema", "schema.yaml", "--pool", "pool.csv",
			"--parties", "3", "--records", records, "--set", days, "--set", "columns=[age]")
		if !regexp.MustCompile(wants).MatchString(said) || noNumber.MatchString(said) {
			t.Errorf("a forecast of %s records a site says no %q:\n%s", records, wants, said)
		}
	}
}

// typed runs a command, and returns all that it says. It may fail, and must not crash.
func typed(t *testing.T, words ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	Main(t.Context(), words, &out, &problems)
	return out.String() + problems.String()
}
