package leastsquares

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/regress"
)

// mostTuned is the most by which Tune lets shortening move a coefficient, in its standard
// deviations: half of what a forecast refuses.
const mostTuned = mostShift / 2

// Tune takes the radius from the pool where a study leaves it open. It is the least of the lengths
// that 95, 96, … 99 of 100 rows of the pool do not exceed with which, by the pool, shortening moves
// no coefficient by more than mostTuned; that of 99 if there is none. Noise grows with its square.
func (Results) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[regress.Terms](*p)
	if t.Radius != 0 {
		return nil
	}
	d, err := regress.DesignOf(*p, pool)
	if err != nil {
		return err
	}
	parties := int(p.MostParties())
	all := newPublicRows(d, pool).lengths()
	for kept := 0.95; ; kept += 0.01 {
		t.Radius = regress.RadiusAbove(all[int(kept*float64(len(all)-1))])
		if err := p.SetTerms(t); err != nil {
			return err
		}
		if kept > 0.985 || (regress.Kind{}).Check(*p) != nil { // the caller checks too
			return nil
		}
		task, err := regress.Kind{}.New(*p, pool)
		if err != nil {
			return err
		}
		got, err := forecastOf(task.(regress.Task), p.Noise, p.Size(parties))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(got, func(o Outlook) bool {
			return !math.IsInf(o.Private, 1) && math.Abs(o.Shift) > mostTuned
		}) {
			return nil
		}
	}
}

// lengths returns those of the rows, ascending; with an outcome of two levels, each row's longer
// one. Without rows it is that of numbers of variance 1.
func (p publicRows) lengths() []float64 {
	out, chance := make([]float64, len(p.rows)), p.share()
	p.each(math.Inf(1), chance, func(e example) {
		out[e.row] = math.Max(out[e.row], floats.Norm(e.w[1:], 2))
	})
	slices.Sort(out)
	return out
}
