package leastsquares

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/regress"
)

// ForecastNoise implements study.NoiseForecaster. It warns where most coefficients are no narrower
// than one site's alone, and where shortening moves one too far. It has tried the numbers of
// columns, servers and records, and the radii, that it advises.
func (f finisher) ForecastNoise(size study.Size) (string, string, error) {
	p := f.Plan()
	costs, err := p.NoiseCosts(f.Moments.Bound(), f.Moments.Cells())
	if err != nil {
		return "", "", err
	}
	for i := range costs {
		costs[i].SD /= float64(regress.OfProduct * f.Moments.One * f.Moments.One)
	}
	rows := newPublicRows(f.Moments.Design, f.Pool())
	if why := rows.tooFew(); why != "" {
		return p.NoiseText(costs), "no coefficient will be known: " + why, nil
	}
	if rows.oneOutcome() {
		return p.NoiseText(costs), fmt.Sprintf("the pool has one value of %s, so that nobody can say how wide intervals will be: give a pool whose rows differ in it", f.Moments.Outcome.Column), nil
	}
	got, err := forecastOf(f.Task, p.Noise, size)
	if err != nil {
		return "", "", err
	}
	t := tableOf(f.Moments.Design)
	words := fmt.Sprintf("95 %% intervals expected of the %s where a column is higher by 1 (all records without privacy; one site of %d alone; shift by shortening):",
		t.Changed(), size.Parties)
	for j, c := range t.Coefficients {
		words += "\n" + c.Name() + ": " + got[j].words()
	}
	if narrow := p.ConditionForecastText(size); narrow != "" {
		words += "\n" + narrow
	}
	warning := ""
	if !got.Worth() {
		warning = "most coefficients are not expected to have narrower intervals than one site's records alone"
		if why := got[0].Unknown; why != "" {
			warning = "no coefficient will be known: " + why[:strings.LastIndex(why, ": ")]
		}
		warning += ": use " + f.worthAdvice(size, got)
	}
	if j := got.mostShifted(); j >= 0 {
		if warning != "" {
			warning += "; "
		}
		says := fmt.Sprintf("by %.1f ± %.1f of its standard deviations", math.Abs(got[j].Shift),
			got[j].ShiftSD)
		advice := f.shiftAdvice(j, size)
		if math.Abs(got[j].Shift) <= mostShift {
			says += ", which the pool has too few rows to tell"
			advice = "give a pool of more rows, or " + advice
		}
		warning += fmt.Sprintf("shortening moves the coefficient of %s %s: %s",
			t.Coefficients[j].Name(), says, advice)
	}
	return words + "\n" + p.NoiseText(costs), warning, nil
}

func (o Outlook) words() string {
	width := func(sd float64) string {
		if math.IsInf(sd, 1) {
			return "unknown"
		}
		return fmt.Sprintf("± %.3g", z95*sd)
	}
	shift := "unknown"
	if !math.IsInf(o.Private, 1) && !math.IsNaN(o.Shift) {
		tenths := math.Round(10*o.Shift) + 0 // no −0
		shift = fmt.Sprintf("%.1f ± %.1f standard deviations", tenths/10, o.ShiftSD)
	}
	return fmt.Sprintf("%s (%s; %s; %s)", width(o.Private), width(o.Pooled), width(o.Alone), shift)
}

// forecastOf forecasts a task whose noise is added elsewhere than its plan says.
func forecastOf(t regress.Task, at study.Noise, size study.Size) (Forecast, error) {
	sd, err := t.Moments.Deviation(at.Draws(max(size.Parties, 1)))
	if err != nil {
		return nil, err
	}
	return NewForecast(t.Moments.Design, t.Pool(), size, sd*sd), nil
}

// holds reports whether the plan's forecast has no warning under other terms.
func (f finisher) holds(size study.Size, change func(*study.Plan, *regress.Terms)) bool {
	p := f.Plan()
	t := study.TermsOf[regress.Terms](p)
	change(&p, &t)
	p.Records = size.Records / max(size.Parties, 1)
	if p.SetTerms(t) != nil || f.open() && chooseNoise(&p, f.Pool()) != nil ||
		(Results{}).Tune(&p, f.Pool()) != nil || (regress.Kind{}).Check(p) != nil {
		return false
	}
	task, err := (regress.Kind{}).New(p, f.Pool())
	if err != nil {
		return false
	}
	got, err := forecastOf(task.(regress.Task), p.Noise, size)
	return err == nil && got.Worth() && got.mostShifted() < 0
}

// open reports whether the plan's mechanism is the one that a study gets which names none.
func (f finisher) open() bool {
	p := f.Plan()
	return chooseNoise(&p, f.Pool()) == nil && p.Mechanism == f.Plan().Mechanism
}

// chooseNoise gives a plan the mechanism of a study that names none, at the same δ.
func chooseNoise(p *study.Plan, pool *auxdata.Pool) error {
	task, err := (regress.Kind{}).New(*p, pool)
	if err != nil {
		return err
	}
	m := task.(regress.Task).Moments
	p.Mechanism = study.MechanismAuto
	p.CompleteNoise(study.Proposal{Delta: &p.Delta}, m.Bound(), m.Cells())
	return nil
}

// givenRadius returns the radius that the study gave, 0 if it is the one that Tune takes.
func (f finisher) givenRadius() float64 {
	p := f.Plan()
	t := study.TermsOf[regress.Terms](p)
	given := t.Radius
	t.Radius = 0
	if p.SetTerms(t) == nil && (Results{}).Tune(&p, f.Pool()) == nil &&
		study.TermsOf[regress.Terms](p).Radius == given {
		return 0
	}
	return given
}

// worthAdvice says what makes the study worth it: fewer columns, those first that the forecast does
// not call hidden; two servers; or more records.
func (f finisher) worthAdvice(size study.Size, got Forecast) string {
	radius := f.givenRadius()
	columns := slices.Clone(study.TermsOf[regress.Terms](f.Plan()).Columns)
	hidden := map[string]int{}
	for j, c := range f.Moments.Columns {
		if got[j].Hidden {
			hidden[c.Column] = 1
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return hidden[a] - hidden[b] })
	for n := len(columns) - 1; n > 0; n-- {
		first := columns[:n]
		if f.holds(size, func(_ *study.Plan, t *regress.Terms) {
			t.Columns, t.Radius = first, radius
		}) {
			return fmt.Sprintf("fewer columns; %d would do, such as regress.columns: [%s]", n,
				strings.Join(first, ", "))
		}
	}
	if f.holds(size, func(p *study.Plan, t *regress.Terms) {
		p.Noise, t.Radius = study.NoiseAggregators, radius
	}) {
		return "two servers (noise: aggregators)"
	}
	for by := 2; by <= 64; by *= 2 {
		more := study.Size{Parties: size.Parties, Records: by * size.Records}
		if f.holds(more, func(_ *study.Plan, t *regress.Terms) { t.Radius = radius }) {
			return fmt.Sprintf("more records; %d times as many would do", by)
		}
	}
	return "a larger ε, or a pool in which these columns differ from each other (fewer columns, two servers and 64 times the records would not do)"
}

// shiftAdvice says what keeps the coefficient of column j in its place: a larger radius, or to do
// without the column.
func (f finisher) shiftAdvice(j int, size study.Size) string {
	const log = ", or give the schema the logarithm of a column with few large values"
	terms := study.TermsOf[regress.Terms](f.Plan())
	for by := 1.25; by <= mostWider; by += 0.25 {
		wider := regress.RadiusAbove(terms.Radius * by)
		if f.holds(size, func(_ *study.Plan, t *regress.Terms) { t.Radius = wider }) {
			return fmt.Sprintf("set regress.radius: %g", wider) + log
		}
	}
	if len(terms.Columns) == 1 {
		return strings.TrimPrefix(log, ", or ")
	}
	return fmt.Sprintf("leave %s out", f.Moments.Columns[j].Column) + log
}
