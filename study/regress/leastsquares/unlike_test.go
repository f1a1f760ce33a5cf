package leastsquares

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/regress"
)

// unlikeDraws are draws of records and noise of a study whose pool is unlike its records.
const unlikeDraws = 300

// shown counts the draws in which a number is shown, and in which its interval holds.
type shown struct{ all, held float64 }

// false reports whether intervals hold too seldom: in fewer draws than one that holds in 92 of 100
// of those that are shown, but for a probability below 1e-9.
func (s shown) false() bool {
	return s.held < .92*s.all-6.1*math.Sqrt(s.all*.92*.08)
}

// heldBy counts over draws whether the intervals of the coefficients, and of R² last, hold what
// least squares of all records give, which do not depend on the pool. The noise is the standard
// deviation on a product, in records.
func heldBy(t *testing.T, terms regress.Terms, pool, records [][]string, noise float64) []shown {
	t.Helper()
	p := planOf(t, terms, nil)
	_, made := encode(t, p.Schema, pool)
	r, own := encode(t, p.Schema, records)
	d, err := regress.DesignOf(p, made)
	if err != nil {
		t.Fatal(err)
	}
	whole := *d
	whole.Radius = math.Inf(1)
	truth := Estimate(&whole, own, sumsOf(d, r, false), 0)
	var parts [][]float64
	for i := range r.Y {
		parts = append(parts, sumsOf(d, r.Select([]int{i}), true))
	}
	rng := rand.New(rand.NewPCG(41, 43))
	sd := noise * float64(regress.OfProduct*d.One*d.One)
	out := make([]shown, len(d.Columns)+1)
	for range unlikeDraws {
		sums := make([]float64, d.Cells())
		for range parts {
			for k, v := range parts[rng.IntN(len(parts))] {
				sums[k] += v
			}
		}
		for k := range sums {
			sums[k] += sd * rng.NormFloat64()
		}
		got := Estimate(d, made, sums, sd*sd)
		for j, of := range append(got.Coefficients, got.R2) {
			right := append(truth.Coefficients, truth.R2)[j]
			if !right.Known() {
				t.Fatalf("number %d is unknown of all records: %s", j, right.Unknown)
			}
			if of.Known() {
				out[j].all++
			}
			if of.Covers(right.Value) {
				out[j].held++
			}
		}
	}
	return out
}

// TestUnlikeRelease: where the release shows that the records are unlike the pool, no interval is
// shown that does not hold: few of the sites' records are exposed, and half of the pool's; and
// outcomes lie farther apart than the pool's. By the pool alone, intervals held in 0 to 60 of 100
// draws in which they were shown.
func TestUnlikeRelease(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := func(n int, share, by float64) [][]string {
		var out [][]string
		for range n {
			age, dose, copy, stay := rng.NormFloat64(), rng.NormFloat64(), "0", 0.
			if rng.Float64() < share {
				copy, stay = "100", by
			}
			stay += .5*age + dose/4 + rng.NormFloat64()
			out = append(out, []string{fmt.Sprint(50 + 10*age), fmt.Sprint(5 + dose), "a",
				fmt.Sprint(80 + 10*stay), copy, "0", "no"})
		}
		return out
	}
	for _, c := range []struct {
		share, by, radius, noise float64
		shows                    bool
	}{
		{.01, 4, 3, 30, false}, {.02, 4, 7, 70, false}, {.02, 4, 8, 110, false},
		{.5, 4, 3, 10, false}, {.5, .2, 3.5, 10, true}, {.2, .5, 4, 10, true},
	} {
		terms := regress.Terms{Outcome: "stay", Columns: []string{"age", "dose", "copy"},
			Radius: c.radius}
		pool := rows(2000, .5, .2)
		for j, of := range heldBy(t, terms, pool, rows(3000, c.share, c.by), c.noise) {
			if of.false() || c.shows && of.all < unlikeDraws {
				t.Errorf("%+v: number %d is shown in %g of %d draws, and held in %g", c, j, of.all,
					unlikeDraws, of.held)
			}
		}
	}
}

// TestUnlikePool: intervals hold the coefficients of 0 and 1 where few of the pool's rows and many
// of the sites' are exposed, and the other way round. With the pool's spread of the columns, those
// of the first held in 159 of 300 draws.
func TestUnlikePool(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := func(n int, share float64) [][]string {
		var out [][]string
		for range n {
			age, grp, died, chance := 60+12*rng.NormFloat64(), "a", "no", .05
			if rng.Float64() < share {
				grp, chance = "b", .4
			}
			if rng.Float64() < chance+.001*(age-60) {
				died = "yes"
			}
			out = append(out, []string{fmt.Sprint(age), "0", grp, "0", "0", "0", died})
		}
		return out
	}
	terms := regress.Terms{Outcome: "died", Is: "yes", Columns: []string{"age", "copy"}, Radius: 12}
	for _, share := range [][2]float64{{.02, .1}, {.2, .02}} {
		pool, records := rows(1500, share[0]), rows(3000, share[1])
		for _, of := range append(pool, records...) { // copy is the exposure, as a number
			if of[2] == "b" {
				of[4] = "100"
			}
		}
		held := heldBy(t, terms, pool, records, 5)
		t.Logf("%g of the pool, %g of the sites: %v", share[0], share[1], held)
		for j := range terms.Columns {
			if of := held[j]; of.all < unlikeDraws || of.false() {
				t.Errorf("%g of the pool, %g of the sites: %s is shown in %g of %d draws, held in %g",
					share[0], share[1], terms.Columns[j], of.all, unlikeDraws, of.held)
			}
		}
	}
}

// TestUntoldDirection: where a pool lacks a direction of the columns, or noise hides it, and the
// sites' records have it, no interval is shown that does not hold. Least squares in the other
// directions, which is what one could show, held the coefficient of dose in no draw, and in 110 of
// 300 where noise hides the direction.
func TestUntoldDirection(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := func(n int, apart, with float64) [][]string {
		var out [][]string
		for range n {
			age, dose, e := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			like := math.Sqrt(1-apart*apart)*age + apart*(with*dose+math.Sqrt(1-with*with)*e)
			stay := .3*dose - .3*age + .5*like + rng.NormFloat64()
			out = append(out, []string{fmt.Sprint(50 + 10*age), fmt.Sprint(5 + dose), "a",
				fmt.Sprint(100 + 20*stay), fmt.Sprint(50 + 10*like), "0", "no"})
		}
		return out
	}
	terms := regress.Terms{Outcome: "stay", Columns: []string{"age", "dose", "copy"}, Radius: 6}
	for _, c := range []struct{ apart, noise float64 }{{0, 5}, {.3, 100}, {.3, 5}} {
		pool, records := rows(1500, c.apart, 0), rows(3000, .5, .5)
		held := heldBy(t, terms, pool, records, c.noise)
		t.Logf("%+v: %v", c, held)
		for j, of := range held {
			if of.false() {
				t.Errorf("%+v: number %d is held in %g of %g draws", c, j, of.held, of.all)
			}
		}
	}
}

// TestR2OfIndependentPool: the interval of R² holds, though the pool's columns say nothing of the
// outcome, as those of a pool made of each column by itself.
func TestR2OfIndependentPool(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rows := func(n int, slope float64) [][]string {
		var out [][]string
		for range n {
			z, e := rng.NormFloat64(), rng.NormFloat64()
			out = append(out, []string{fmt.Sprint(50 + 10*z), "0", "a",
				fmt.Sprint(100 + 20*(slope*z+math.Sqrt(1-slope*slope)*e)), "0", "0", "no"})
		}
		return out
	}
	terms := regress.Terms{Outcome: "stay", Columns: []string{"age"}, Radius: 9}
	held := heldBy(t, terms, rows(1500, 0), rows(3000, .7), 5)
	if t.Logf("%v", held); held[1].all < unlikeDraws || held[1].false() {
		t.Errorf("R² is shown in %g of %d draws, held in %g", held[1].all, unlikeDraws, held[1].held)
	}
}

// TestIncompleteRowsOfPool: rows of the pool without a number, or with an unknown text, do not
// count.
func TestIncompleteRowsOfPool(t *testing.T) {
	p := planOf(t, regress.Terms{Outcome: "stay", Columns: []string{"age", "grp"}, Radius: 9}, nil)
	rows := ward(400)
	_, whole := encode(t, p.Schema, rows)
	for i, row := range ward(300) {
		switch i % 3 {
		case 0:
			row[0] = ""
		case 1:
			row[3] = ""
		default:
			row[2] = ""
		}
		rows = append(rows, row)
	}
	_, holed := encode(t, p.Schema, rows)
	want, err := regress.DesignOf(p, whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := regress.DesignOf(p, holed)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("with incomplete rows the design is %v, want %v", got, want)
	}
	if n := len(newPublicRows(got, holed).rows); n != 400 {
		t.Errorf("%d rows count, want 400", n)
	}
	p.Simulated = true
	table, err := dataset.NewTable(wardColumns, rows)
	if err != nil {
		t.Fatal(err)
	}
	if pool, err := study.PoolOf(p, table); err != nil || len(newPublicRows(got, pool).rows) != 400 {
		t.Errorf("a simulation's pool counts other rows (%v)", err)
	}
	_, none := encode(t, p.Schema, rows[400:])
	for _, pool := range []*auxdata.Pool{nil, none} {
		if _, err := regress.DesignOf(p, pool); err == nil {
			t.Error("a pool without a complete row is not refused")
		}
	}
}
