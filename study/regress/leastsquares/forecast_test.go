package leastsquares

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/regress"
)

// hospital makes a pool of eight columns: bill has few large values, and the outcome stay bends
// with it.
func hospital(t testing.TB) (dataset.Schema, *auxdata.Pool) {
	t.Helper()
	text := "label: {column: died, classes: [\"no\", \"yes\"]}\nfeatures:\n"
	names := []string{"bill", "stay"}
	for k := range 7 {
		names = append(names, fmt.Sprintf("x%d", k))
	}
	for _, name := range names {
		text += fmt.Sprintf("  - {column: %s, kind: numeric, min: -50, max: 50}\n", name)
	}
	s, err := dataset.ParseSchema(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(23, 29))
	var rows [][]string
	for range 3000 {
		bill := math.Exp(1.2 * rng.NormFloat64())
		row := []string{fmt.Sprint(bill), ""}
		stay := 5*math.Log(bill) + rng.NormFloat64()
		for range 7 {
			x := rng.NormFloat64()
			stay += x / 2
			row = append(row, fmt.Sprint(x))
		}
		row[1] = fmt.Sprint(stay)
		rows = append(rows, row)
	}
	table, err := dataset.NewTable(names, rows)
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	return s, pool
}

// warned returns the design, the forecast and the warning of a plan of five sites.
func warned(t testing.TB, columns []string, radius float64, at study.Noise,
	records int) (*regress.Design, Forecast, string) {
	t.Helper()
	s, pool := hospital(t)
	p := study.Plan{Name: "x", Kind: "regress", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: records,
		Mechanism: "gaussian", Noise: at, Minimum: 5, Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c", "d", "e"}}
	err := p.SetTerms(regress.Terms{Outcome: "stay", Columns: columns, Radius: radius})
	if err == nil {
		err = Results{}.Tune(&p, pool)
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := regress.Kind{}.New(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	size := study.Size{Parties: 5, Records: 5 * records}
	_, warning, err := Results{}.Finisher(made).(study.NoiseForecaster).ForecastNoise(size)
	if err != nil {
		t.Fatal(err)
	}
	got, err := forecastOf(made.(regress.Task), at, size)
	if err != nil {
		t.Fatal(err)
	}
	return made.(regress.Task).Moments.Design, got, warning
}

func first(n int) []string {
	return []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6"}[:n]
}

// TestAdviceIsTrue follows each advice that a forecast prints, until there is none. What was tried
// needs no second step: all but to leave a column out.
func TestAdviceIsTrue(t *testing.T) {
	columns := regexp.MustCompile(`regress\.columns: \[([^]]*)\]`)
	more := regexp.MustCompile(`more records; (\d+) times`)
	radius := regexp.MustCompile(`regress\.radius: ([0-9.]+)`)
	leave := regexp.MustCompile(`leave (\w+) out`)
	followed := map[string]bool{}
	for _, c := range []struct {
		columns []string
		records int
		radius  float64
	}{
		{first(7), 1500, 0}, {first(1), 500, 0}, {first(3), 60, 0}, {first(1), 150, 0},
		{append(first(2), "bill"), 200000, 0}, {first(2), 200000, 3},
		{[]string{"bill", "x0", "x1"}, 1000, 0}, {first(1), 150, 3},
	} {
		used, at, records, wide := c.columns, study.NoiseSite, c.records, c.radius
		tried := false
		for step := 0; ; step++ {
			_, got, warning := warned(t, used, wide, at, records)
			if warning == "" {
				break
			}
			t.Logf("%v %d: %s", used, records, warning)
			if tried {
				t.Errorf("%v, %d records, radius %g: what was tried is warned of: %s", c.columns,
					c.records, c.radius, warning)
			}
			tried = true
			if step == 4 {
				t.Errorf("%v, %d records: advice does not end", c.columns, c.records)
				break
			}
			if found := columns.FindStringSubmatch(warning); found != nil {
				used, followed["columns"] = strings.Split(found[1], ", "), true
			} else if strings.Contains(warning, "noise: aggregators") {
				at, followed["servers"] = study.NoiseAggregators, true
			} else if found := more.FindStringSubmatch(warning); found != nil {
				by, _ := strconv.Atoi(found[1])
				records, followed["records"] = by*records, true
			} else if found := radius.FindStringSubmatch(warning); found != nil {
				wide, _ = strconv.ParseFloat(found[1], 64)
				followed["radius"] = true
			} else if found := leave.FindStringSubmatch(warning); found != nil {
				used, followed["leave"] = without(used, found[1]), true
				tried = false
			} else {
				t.Fatalf("%q has no advice to follow: %+v", warning, got)
			}
		}
	}
	for _, of := range []string{"columns", "servers", "records", "radius", "leave"} {
		if !followed[of] {
			t.Errorf("no forecast advises about %s", of)
		}
	}
}

// TestTunedRadius: with so many records that a small shift counts, a study that leaves its radius
// open gets one with which shortening moves no coefficient too far. With that of 99 of 100 rows of
// the pool, it moves x0 by 10 of its standard deviations.
func TestTunedRadius(t *testing.T) {
	d, got, warning := warned(t, first(2), 0, study.NoiseSite, 200000)
	if warning != "" || !got.Worth() {
		t.Errorf("with the radius %g a forecast warns: %s", d.Radius, warning)
	}
}

// TestOrderOfPool: the shift of a class that a pool does not hold depends on what rows the pool
// has, not on their order. Rows of both orders are drawn alike, so shifts differ by chance, by less
// than six of their standard deviations.
func TestOrderOfPool(t *testing.T) {
	s, _, pool := rare(t, 9000)
	rows := make([][]float64, pool.Rows())
	for i := range rows {
		rows[i] = pool.Encoded.RawRowView(i)
	}
	slices.SortFunc(rows, slices.Compare)
	slices.SortStableFunc(rows, func(a, b []float64) int { // the exposed last
		return cmp.Compare(b[2], a[2])
	})
	sorted := *pool
	sorted.Encoded = mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
	p := study.Plan{Kind: "regress", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Minimum: 2}
	if err := p.SetTerms(regress.Terms{Outcome: "died", Is: "yes", Expected: .06,
		Columns: []string{"age", "exposed"}, Radius: 4}); err != nil {
		t.Fatal(err)
	}
	var of [2]Forecast
	for i, by := range []*auxdata.Pool{pool, &sorted} {
		d, err := regress.DesignOf(p, by)
		if err != nil {
			t.Fatal(err)
		}
		sd := 20 * float64(regress.OfProduct*d.One*d.One)
		of[i] = NewForecast(d, by, study.Size{Parties: 1, Records: 9000}, sd*sd)
	}
	for j, a := range of[0] {
		b := of[1][j]
		if off := math.Abs(a.Shift - b.Shift); !(off < 6*math.Hypot(a.ShiftSD, b.ShiftSD)) {
			t.Errorf("coefficient %d moves by %.3f ± %.3f, and in a sorted pool by %.3f ± %.3f", j,
				a.Shift, a.ShiftSD, b.Shift, b.ShiftSD)
		}
	}
}

func without(all []string, name string) []string {
	var out []string
	for _, of := range all {
		if of != name {
			out = append(out, of)
		}
	}
	return out
}

// TestForecastWords: how far a coefficient moves is told with how sure that is.
func TestForecastWords(t *testing.T) {
	for want, o := range map[string]Outlook{
		"± 0.392 (± 0.196; ± 0.588; -1.1 ± 0.8 standard deviations)": {
			Private: .2, Pooled: .1, Alone: .3, Shift: -1.1, ShiftSD: .8},
		"± 0.392 (± 0.196; ± 0.588; unknown)": {
			Private: .2, Pooled: .1, Alone: .3, Shift: math.NaN(), ShiftSD: math.NaN()},
		"± 0.392 (± 0.196; ± 0.588; 0.0 ± 0.1 standard deviations)": {
			Private: .2, Pooled: .1, Alone: .3, Shift: -.04, ShiftSD: .1},
		"unknown (± 0.196; ± 0.588; unknown)": {Private: math.Inf(1), Pooled: .1, Alone: .3},
	} {
		if got := o.words(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}

// TestFewRecords: a forecast of too few records gives the reason that their release gives.
func TestFewRecords(t *testing.T) {
	const records = 12
	_, pool := hospital(t)
	d, got, warning := warned(t, first(2), 3, study.NoiseSite, records)
	sums := make([]float64, d.Cells())
	sums[d.Cell(0, 0)] = regress.OfSquare * float64(d.One*d.One) * 5 * records
	sd := 1000 * float64(d.One*d.One)
	released := Estimate(d, pool, sums, sd*sd)
	for _, why := range []string{got[0].Unknown, released.Coefficients[0].Unknown,
		released.R2.Unknown} {
		if why != tooFew {
			t.Errorf("%q is the reason, want %q", why, tooFew)
		}
	}
	if want := "no coefficient will be known: too few records have the outcome"; !strings.HasPrefix(
		warning, want) {
		t.Errorf("%q does not begin with %q", warning, want)
	}
}

// TestHiddenWords: where noise hides all columns, no columns are named as those that it hides most.
func TestHiddenWords(t *testing.T) {
	_, pool := hospital(t)
	d, _, _ := warned(t, first(2), 3, study.NoiseSite, 1000)
	p := newPublicRows(d, pool)
	for want, expected := range map[string][]float64{
		"noise hides how the columns differ from each other: use": {1e6, 1, 1, 1},
		"noise hides how the columns differ from each other, most in x1: use": {1e6, 1e6, 1,
			1e6},
	} {
		a := mat.NewSymDense(len(expected), nil)
		for i, v := range expected {
			a.SetSym(i, i, v)
		}
		if _, why := p.hidden(a, noise{product: 1e4, square: 1e4}); !strings.HasPrefix(why, want) {
			t.Errorf("%q does not begin with %q", why, want)
		}
	}
}

// TestSmallPool: a pool that cannot say how far shortening moves a coefficient is not taken as one
// that says it moves none: one of 100 rows gives no coefficient, and where the standard deviation
// of what the rows tell is large, the forecast says that they are too few.
func TestSmallPool(t *testing.T) {
	p := planOf(t, regress.Terms{Outcome: "stay", Columns: []string{"age"}, Radius: 8}, nil)
	r, pool := encode(t, p.Schema, ward(100))
	d, err := regress.DesignOf(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(fewRows, 100, leastRows)
	if got := Estimate(d, pool, sumsOf(d, r, true), 0); got.Coefficients[0].Unknown != want {
		t.Errorf("of a pool of 100 rows: %+v", got.Coefficients[0])
	}
	all := Forecast{{Private: 1, Shift: .2, ShiftSD: .2}, {Private: 1, Shift: -.2, ShiftSD: .6},
		{Private: math.Inf(1), Shift: 3}, {Private: 1, Shift: math.NaN(), ShiftSD: math.NaN()}}
	if at := all.mostShifted(); at != 1 {
		t.Errorf("coefficient %d may move farthest, want 1", at)
	}
}

// TestAdviceChoosesNoise: where a study names no mechanism, advice of fewer columns is tried with
// the mechanism that these get: laplace of one column, gaussian of many.
func TestAdviceChoosesNoise(t *testing.T) {
	p := planOf(t, regress.Terms{Outcome: "stay", Columns: []string{"age", "dose", "grp", "copy"},
		Radius: 4}, nil)
	_, pool := encode(t, p.Schema, ward(400))
	for want, columns := range map[string][]string{"laplace": {"age"},
		"gaussian": {"age", "dose", "grp", "copy"}} {
		terms := study.TermsOf[regress.Terms](p)
		terms.Columns = columns
		if err := p.SetTerms(terms); err != nil {
			t.Fatal(err)
		}
		if err := chooseNoise(&p, pool); err != nil {
			t.Fatal(err)
		}
		if p.Mechanism != want {
			t.Errorf("%v have %s noise, want %s", columns, p.Mechanism, want)
		}
	}
}
