package leastsquares

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/regress"
)

// mostTuned is the most by which Tune lets shortening move a coefficient (farthest), in standard
// deviations: half of what a forecast refuses. mostWider is the most by which it and advice widen
// the radius.
const mostTuned, mostWider = mostShift / 2, 4.

// Tune takes the radius from the pool where a study leaves it open: the least with which, by the
// pool, shortening moves no coefficient by more than mostTuned. It tries the lengths that 95, 96, …
// 99 of 100 rows of the pool do not exceed, then 1.25, 1.5, … 4 times the last, if the study is
// still worth it. Without one it takes the least from that of 99 on of which a forecast does not
// warn; if there is none either, that with the least shift. Noise grows with the radius' square.
func (Results) Tune(p *study.Plan, pool *auxdata.Pool) error {
	t := study.TermsOf[regress.Terms](*p)
	if t.Radius != 0 {
		return nil
	}
	d, err := regress.DesignOf(*p, pool)
	if err != nil {
		return err
	}
	all := newPublicRows(d, pool).lengths()
	var radii []float64
	for kept := 0.95; kept < 0.995; kept += 0.01 {
		radii = append(radii, regress.RadiusAbove(all[int(kept*float64(len(all)-1))]))
	}
	usual := radii[len(radii)-1]
	best, nearest, least := 0., 0., math.Inf(1)
	for by := 1.25; by <= mostWider; by += 0.25 {
		radii = append(radii, regress.RadiusAbove(usual*by))
	}
	for _, t.Radius = range radii {
		if err := p.SetTerms(t); err != nil {
			return err
		}
		if (regress.Kind{}).Check(*p) != nil { // the caller checks too
			break
		}
		task, err := regress.Kind{}.New(*p, pool)
		if err != nil {
			return err
		}
		got, err := forecastOf(task.(regress.Task), p.Noise, p.Size(int(p.MostParties())))
		if err != nil {
			return err
		}
		most, worth := 0., got.Worth()
		for _, o := range got {
			most = math.Max(most, o.farthest())
		}
		if most <= mostTuned && (t.Radius <= usual || worth) {
			return nil
		}
		if t.Radius < usual || !worth {
			continue
		}
		if best == 0 && got.mostShifted() < 0 {
			best = t.Radius
		}
		if most < least {
			nearest, least = t.Radius, most
		}
	}
	t.Radius = cmp.Or(best, nearest, usual)
	return p.SetTerms(t)
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
