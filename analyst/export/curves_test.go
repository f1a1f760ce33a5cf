package export_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/aggregation/validation"
	"caucus/analyst/export"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/survival"
	"caucus/study/survival/lifetable"
)

// hostileArm is a level that would be a formula in a spreadsheet, and code in a careless R file.
const hostileArm = `=1+1"); stop("\`

// curvesOf returns a survival release of two arms, of which nobody in the first has the event, and
// its table.
func curvesOf(t *testing.T) (study.Release, lifetable.Table) {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: seen, kind: numeric, min: 0, max: 10}
  - {column: arm, kind: categorical, levels: ['` + hostileArm + `', b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i := range 800 {
		arm, died := hostileArm, "no"
		if i%2 == 1 {
			arm = "b"
			died = []string{"no", "yes"}[i/2%2]
		}
		rows = append(rows, []string{strconv.Itoa(i % 13), arm, died})
	}
	table, err := dataset.NewTable([]string{"seen", "arm", "died"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	p := study.Proposal{Name: "relapse", Kind: "survival", Unit: privacy.Record, Epsilon: 5}
	if p.KindTerms, err = study.EncodeTerms(survival.Terms{Time: "seen", TimeUnit: "years",
		By: "arm", Bins: 4}); err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Survival{Split: simulate.Split{Schema: s, Train: records.AsTable(),
		Parties: 4, Seed: 1}, Proposal: p}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *out.Release, out.Released
}

// TestCurves: a file has the release's numbers, each once, with its group, time and ends; a count
// has no interval, and a number that is not known has a reason in its place.
func TestCurves(t *testing.T) {
	r, table := curvesOf(t)
	c, err := export.NewFrame(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for k, name := range rows[0] {
		at[name] = k
	}
	found := map[string][]string{}
	for _, row := range rows[1:] {
		key := strings.Join([]string{row[at["measure"]], row[at["group"]], row[at["time"]]}, " ")
		if found[key] != nil {
			t.Errorf("%s stands twice", key)
		}
		if row[at["by"]] != "arm" {
			t.Errorf("%s is by %q", key, row[at["by"]])
		}
		found[key] = row
	}
	same := func(key, column string, want float64) {
		t.Helper()
		if row := found[key]; row == nil {
			t.Errorf("there is no %s", key)
		} else if got, err := strconv.ParseFloat(row[at[column]], 64); err != nil || got != want {
			t.Errorf("%s of %s is %q, want %v", column, key, row[at[column]], want)
		}
	}
	for _, g := range table.Groups {
		name := g.Level
		if name == hostileArm {
			name = "'" + name // as a text in spreadsheets
		}
		last := g.Points[len(g.Points)-1]
		end := strconv.FormatFloat(last.Time, 'g', -1, 64)
		same("without_event "+name+" "+end, "value", last.Survival.Value)
		same("without_event "+name+" "+end, "low", last.Survival.Low)
		same("without_event "+name+" "+end, "high", last.Survival.High)
		same("without_event "+name+" "+end, "noise_sd", last.Survival.NoiseSD)
		same("without_event "+name+" 0", "value", 1)
		same("at_risk "+name+" 0", "value", g.Points[0].AtRisk)
		same("events "+name+" "+end, "value", last.Events)
		same("all_events "+name+" ", "value", g.Events)
		same("restricted_mean "+name+" "+strconv.FormatFloat(g.MeanTo, 'g', -1, 64), "value",
			g.Mean.Value)
		if row := found["all_records "+name+" "]; row[at["low"]] != "" || row[at["sd"]] != "" {
			t.Errorf("a count has an interval: %q", row)
		}
	}
	if row := found["median '"+hostileArm+" "]; row[at["unknown"]] != "not reached" ||
		row[at["value"]] != "" {
		t.Errorf("a median that is not reached: %q", row)
	}
	d := table.Compared[0]
	same("difference b "+strconv.FormatFloat(d.At, 'g', -1, 64), "value", d.Difference.Value)
	if d.P != nil {
		same("log_rank_p b ", "value", *d.P)
	}
	if row := found["hazard_ratio b "]; row == nil || row[at["against"]] != "'"+hostileArm {
		t.Errorf("what is compared: %q", row)
	}
	if _, err := export.New(r); err == nil {
		t.Error("a survival release became a classifier")
	}
}

// TestMedianNotReached: a median that is not reached has no value, the low end that the release
// tells, and an open high end.
func TestMedianNotReached(t *testing.T) {
	r, table := curvesOf(t)
	table.Groups[1].Median = validation.Number{Unknown: "not reached"}
	table.Groups[1].MedianLow = 8.5
	body, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	r.Result.Body = body
	c, err := export.NewFrame(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.CSV()
	if err != nil {
		t.Fatal(err)
	}
	if want := "median,arm,b,,not reached,,,8.5,Inf,,"; !strings.Contains(string(text), want) {
		t.Errorf("there is no %q in\n%s", want, text)
	}
	program, err := c.R()
	if err != nil {
		t.Fatal(err)
	}
	if want := ", 8.5, "; !strings.Contains(string(program), want) {
		t.Errorf("there is no %q in\n%s", want, program)
	}
}

// drawsCurves runs the R program, whose frame has the rows of the CSV and which draws a picture, of
// all intervals, also where a group has no curve.
func drawsCurves(t *testing.T, rscript string) {
	t.Helper()
	r, _ := curvesOf(t)
	c, err := export.NewFrame(r)
	if err != nil {
		t.Fatal(err)
	}
	program, err := c.R()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := inR(t, rscript, dir, "curves.R", program)
	run("curves.R", "curves.pdf")
	if b, err := os.ReadFile(filepath.Join(dir, "curves.pdf")); err != nil || len(b) < 1000 {
		t.Errorf("the picture has %d bytes (%v)", len(b), err)
	}
	if said := run("-e", `source("curves.R"); pdf(NULL); caucus_plot(); `+
		`cat(caucus_simulated, par("usr")[2] >= 10)`); said != "TRUE TRUE" {
		t.Errorf("simulated, and drawn to the end: %q", said)
	}
	said := run("-e", `source("curves.R"); x <- caucus_numbers; cat(nrow(x), sprintf("%.17g", `+
		`sum(x$value, na.rm = TRUE)), sum(is.infinite(x$high)), nrow(caucus_compared), unique(x$group)[1])`)
	sum, open := 0., 0
	for _, row := range c.Rows {
		if value := row.Numbers[1]; value == value {
			sum += value
		}
		if math.IsInf(row.Numbers[3], 1) {
			open++
		}
	}
	got := strings.SplitN(said, " ", 5)
	if len(got) != 5 {
		t.Fatalf("R says %q", said)
	}
	value, err := strconv.ParseFloat(got[1], 64)
	if err != nil || math.Abs(value-sum) > 1e-9*math.Abs(sum) ||
		got[0] != strconv.Itoa(len(c.Rows)) || got[2] != strconv.Itoa(open) || got[3] != "3" ||
		got[4] != hostileArm {
		t.Errorf("R says %q of %d rows, sum %v, %d open", got, len(c.Rows), sum, open)
	}
	c.Rows = slices.DeleteFunc(c.Rows, func(row export.FrameRow) bool {
		return row.Texts[2] == "b" && (row.Numbers[0] > 0 || row.Texts[0] == "at_risk")
	})
	if program, err = c.R(); err != nil {
		t.Fatal(err)
	}
	inR(t, rscript, dir, "curves.R", program)("curves.R", "curves.pdf")
}

// inR writes a program, and returns what runs R in its folder.
func inR(t *testing.T, rscript, dir, name string, program []byte) func(arguments ...string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), program, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(arguments ...string) string {
		t.Helper()
		command := exec.Command(rscript, append([]string{"--vanilla"}, arguments...)...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("R: %v: %s", err, out)
		}
		return string(out)
	}
}
