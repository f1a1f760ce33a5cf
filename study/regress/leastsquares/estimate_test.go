package leastsquares

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/regress"
)

const wardSchema = `
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: dose, kind: numeric, min: 0, max: 10}
  - {column: grp, kind: categorical, levels: [a, b, c]}
  - {column: stay, kind: numeric, min: 0, max: 200}
  - {column: copy, kind: numeric, min: 0, max: 100}
  - {column: same, kind: numeric, min: 0, max: 10}
`

// ward is a made table of n records. The right values below are of the first 400.
func ward(n int) [][]string {
	var rows [][]string
	for i := range n {
		age, dose := 20+float64(i*37%61), float64((i*i*7+3*i)%29)/4
		grp, by := "a", 0.
		switch k := (i*i + i/7) % 5; {
		case k == 4:
			grp, by = "c", -3
		case k >= 2:
			grp, by = "b", 6
		}
		stay := 50 + .4*age - 1.5*dose + by + float64(i*7919%97-48)/8*(1+age/40)
		died := "no"
		if v := float64(i*104729%101) / 101; v < .1+.004*age+.1*max(0, by)/6 {
			died = "yes"
		}
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		rows = append(rows, []string{number(age), number(dose), grp, number(stay), number(age), "5",
			died})
	}
	return rows
}

func planOf(t testing.TB, terms regress.Terms, change func(*study.Plan)) study.Plan {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(wardSchema))
	if err != nil {
		t.Fatal(err)
	}
	p := study.Plan{Name: "x", Kind: "regress", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "gaussian", Noise: study.NoiseSite, Minimum: 2,
		Roster: []study.PartyID{"a", "b"}}
	if terms.Outcome == "died" {
		terms.Expected = 0.25
	}
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&p)
	}
	return p
}

var wardColumns = []string{"age", "dose", "grp", "stay", "copy", "same", "died"}

func encode(t testing.TB, s dataset.Schema, rows [][]string) (*dataset.Records, *auxdata.Pool) {
	t.Helper()
	table, err := dataset.NewTable(wardColumns, rows)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(s, dataset.Identity(s), table)
	if err != nil {
		t.Fatal(err)
	}
	return r, pool
}

// sumsOf adds up records without noise or rounding, shortened or not.
func sumsOf(d *regress.Design, r *dataset.Records, shorten bool) []float64 {
	sums, u, one := make([]float64, d.Cells()), make([]float64, d.Dim()-1), float64(d.One)
	for i := range r.Y {
		if !d.Standard(u, r.X.RawRowView(i), r.Y[i]) {
			continue
		}
		w := append([]float64{1}, u...)
		if norm := mat.Norm(vector(u), 2); shorten && norm > d.Radius {
			for j := range u {
				w[1+j] *= d.Radius / norm
			}
		}
		for a := range w {
			sums[d.Cell(a, a)] += regress.OfSquare * one * one * w[a] * w[a]
			for b := a + 1; b < len(w); b++ {
				sums[d.Cell(a, b)] += regress.OfProduct * one * one * w[a] * w[b]
			}
		}
	}
	return sums
}

// fitOf estimates from records without noise, all of which are also the pool.
func fitOf(t testing.TB, terms regress.Terms, rows [][]string) (*regress.Design, Estimates) {
	t.Helper()
	p := planOf(t, terms, nil)
	r, pool := encode(t, p.Schema, rows)
	d, err := regress.DesignOf(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	return d, Estimate(d, pool, sumsOf(d, r, false), 0)
}

// TestRightValues compares with statsmodels 0.14 in Python: OLS, and robust errors (HC0). For a
// number they are the larger of robust and plain ones (of n, not n − 5). For an outcome of two
// levels robust ones are M·Σp(1−p)xxᵀ·M, with p the fit within .01 to .99.
func TestRightValues(t *testing.T) {
	for _, c := range []struct {
		terms     regress.Terms
		intercept [2]float64
		value, sd []float64
		r2, left  float64
	}{
		{regress.Terms{Outcome: "stay", Columns: []string{"age", "dose", "grp"}, Radius: 100},
			[2]float64{48.1148511, 1.38208829},
			[]float64{0.444210595, -1.56585095, 5.88488723, -3.02118522},
			[]float64{0.0223412995, 0.219589157, 0.868844551, 1.13758252}, 0.56820091, 7.88471602},
		{regress.Terms{Outcome: "died", Is: "yes", Columns: []string{"age", "dose", "grp"},
			Radius: 100}, [2]float64{0.126491265, 0.0810138063},
			[]float64{0.00358413471, -0.0147900718, 0.136830578, 0.0815998068},
			[]float64{0.00130957894, 0.0127274735, 0.0509379438, 0.0666020411},
			0.0375555071, 0.462178039},
	} {
		_, got := fitOf(t, c.terms, ward(400))
		check := func(what string, n validation.Number, value, sd float64) {
			off := math.Abs(n.Value-value) + math.Abs(n.SD-sd)
			if !n.Known() || !(off < 1e-6*(math.Abs(value)+sd)) || n.NoiseSD != 0 {
				t.Errorf("%s of %s: %+v, want %g ± %g", what, c.terms.Outcome, n, value, sd)
			}
		}
		check("intercept", got.Intercept, c.intercept[0], c.intercept[1])
		for j := range c.value {
			check(fmt.Sprint("coefficient ", j), got.Coefficients[j], c.value[j], c.sd[j])
		}
		check("R²", got.R2, c.r2, got.R2.SD)
		check("residual", got.Residual, c.left, got.Residual.SD)
	}
}

// noisy draws a symmetric matrix of noise.
func noisy(rng *rand.Rand, n noise, k int) *mat.SymDense {
	e := mat.NewSymDense(k, nil)
	for i := range k {
		e.SetSym(i, i, rng.NormFloat64()*math.Sqrt(n.square))
		for j := range i {
			e.SetSym(i, j, rng.NormFloat64()*math.Sqrt(n.product))
		}
	}
	return e
}

// TestNoiseFormulas compares the three closed forms with 200,000 draws of normal noise. A sample
// mean differs from its expectation by more than 6.5 of its standard errors with a probability
// below 1e-10; 19 means are compared.
func TestNoiseFormulas(t *testing.T) {
	const draws, k = 200000, 3
	rng := rand.New(rand.NewPCG(7, 7))
	of := noise{product: 1. / 49, square: 1. / 25}
	beta := []float64{.7, -1.2, .4}
	m := mat.NewSymDense(k, []float64{1, .3, -.2, .3, .8, .1, -.2, .1, 1.5})
	q := []float64{-.7, 1.2, -.4, 1}
	form := outer(q)
	var got, squares [19]float64
	for range draws {
		e := noisy(rng, of, k+1)
		r := make([]float64, k)
		for i := range k {
			r[i] = e.At(i, k)
			for j := range k {
				r[i] -= e.At(i, j) * beta[j]
			}
		}
		inner := e.SliceSym(0, k)
		moved := product(m, inner, m, inner, vector(beta)).RawMatrix().Data
		value := mat.Trace(product(form, e))
		var all []float64
		for i := range k {
			for j := range k {
				all = append(all, r[i]*r[j])
			}
		}
		all = append(append(all, moved...), value*value)
		for i, v := range all {
			got[i] += v / draws
			squares[i] += v * v / draws
		}
	}
	var want []float64
	covariance := of.residualNoise(beta)
	for i := range k {
		for j := range k {
			want = append(want, covariance.At(i, j))
		}
	}
	want = append(append(want, of.inflation(m, beta)...), of.form(form))
	for i, w := range want {
		error := math.Sqrt((squares[i] - got[i]*got[i]) / draws)
		if math.Abs(got[i]-w) > 6.5*error {
			t.Errorf("formula %d gives %.6f, draws %.6f ± %.6f", i, w, got[i], error)
		}
	}
}

// TestOddInputs: no input gives a number that is not finite, and each that cannot be answered has a
// reason.
func TestOddInputs(t *testing.T) {
	usual := regress.Terms{Outcome: "stay", Columns: []string{"age", "dose", "grp"}, Radius: 8}
	died := usual
	died.Outcome, died.Is = "died", "yes"
	collinear := usual
	collinear.Columns = []string{"age", "copy", "dose"}
	constant := usual
	constant.Outcome = "same"
	alike := usual
	alike.Columns = []string{"age", "same"}
	edit := func(rows [][]string, column int, value string) [][]string {
		for _, row := range rows {
			row[column] = value
		}
		return rows
	}
	for name, c := range map[string]struct {
		terms       regress.Terms
		rows        [][]string
		sd          float64 // of the noise on a sum of squares, in records
		unknown     string  // reason of some coefficient
		known, fits int     // numbers of known coefficients, and of R² and residual
	}{
		"usual":              {terms: usual, rows: ward(400), known: 4, fits: 2},
		"two levels":         {terms: died, rows: ward(400), known: 4, fits: 2},
		"some noise":         {terms: usual, rows: ward(4000), sd: 1, known: 4, fits: 2},
		"collinear":          {terms: collinear, rows: ward(400), unknown: fmt.Sprintf(tooAlike, "age and copy")},
		"collinear, noise":   {terms: collinear, rows: ward(4000), sd: 1, unknown: fmt.Sprintf(tooAlike, "age and copy")},
		"constant column":    {terms: alike, rows: ward(400), unknown: fmt.Sprintf(oneValue, "same")},
		"constant outcome":   {terms: constant, rows: ward(400), known: 4},
		"constant, noise":    {terms: constant, rows: ward(4000), sd: 1, known: 4},
		"outside its bounds": {terms: usual, rows: edit(ward(400), 3, "1e9"), unknown: fmt.Sprintf(longer, "grp = b")},
		"outside, here":      {terms: usual, rows: edit(ward(4000), 3, "-1e9"), sd: 1, known: 4},
		"few records":        {terms: usual, rows: ward(5), unknown: tooFew},
		"no records":         {terms: usual, rows: ward(0), unknown: tooFew},
		"no records, noise":  {terms: usual, rows: ward(0), sd: 50, unknown: tooFew},
		"all noise":          {terms: usual, rows: ward(400), sd: 1e6, unknown: ""},
		"much noise":         {terms: usual, rows: ward(400), sd: 40, unknown: fmt.Sprintf(tooNoisy, ", most in grp = b and grp = c")},
		"one value here":     {terms: usual, rows: edit(ward(400), 0, "50"), unknown: unlike},
		"one level here":     {terms: usual, rows: edit(ward(4000), 2, "a"), sd: 1, unknown: unlike},
	} {
		p := planOf(t, c.terms, nil)
		_, pool := encode(t, p.Schema, ward(400))
		d, err := regress.DesignOf(p, pool)
		if err != nil {
			t.Fatal(name, err)
		}
		sums := make([]float64, d.Cells())
		if len(c.rows) > 0 {
			r, _ := encode(t, p.Schema, c.rows)
			sums = sumsOf(d, r, true)
		}
		rng := rand.New(rand.NewPCG(3, 5))
		sd := c.sd * float64(regress.OfSquare*d.One*d.One)
		for i := range sums {
			sums[i] += sd * rng.NormFloat64()
		}
		got := Estimate(d, pool, sums, sd*sd)
		known, reasons := 0, map[string]bool{}
		for _, n := range append([]validation.Number{got.Intercept, got.R2, got.Residual},
			got.Coefficients...) {
			for _, v := range []float64{n.Value, n.SD, n.NoiseSD, n.Low, n.High} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s: %+v", name, n)
				}
			}
		}
		for _, n := range got.Coefficients {
			if reasons[n.Unknown] = true; n.Known() {
				known++
			}
		}
		fits := 0
		for _, n := range []validation.Number{got.R2, got.Residual} {
			if n.Known() {
				fits++
			}
		}
		if known != c.known || fits != c.fits || !reasons[c.unknown] && c.sd < 1e6 {
			t.Errorf("%s: %d known, %d fits, %v; want %d, %d, %q", name, known, fits, reasons,
				c.known, c.fits, c.unknown)
		}
	}
}
