package export

import (
	_ "embed"
	"fmt"
	"math"

	"caucus/aggregation/validation"
	"caucus/study"
	"caucus/study/survival/lifetable"
)

//go:embed curves.R
var rCurves string

// curves reads a survival release. Times are in the study's unit. Measure without_event is the
// share without the event at time, the end of an interval; events counts those of the interval,
// at_risk who is seen at time without the event. group is "all" without groups, by the column
// whose level it is, against the group that a comparison divides by or subtracts. A count has
// neither an interval nor a deviation of its own; a median without a value may have a low end.
func curves(f *Frame, r study.Release) error {
	t, err := lifetable.TableOf(r)
	if err != nil {
		return err
	}
	f.About.Label = t.Event
	f.Texts = []string{"measure", "by", "group", "against", "unknown"}
	f.Numbers = []string{"time", "value", "low", "high", "sd", "noise_sd"}
	f.says = []string{
		fmt.Sprintf("Share without %s, of the study %s. Written by caucus release export.",
			f.About.Label, f.About.Study),
		"Groups are not adjusted: they may differ in age, sex and all else. A hazard ratio is an average over time.",
	}
	f.constants = [][2]string{{"axis", rText(t.Axis())}, {"event", rText(t.Event)}}
	f.program = rCurves
	add := func(measure, group, against string, time float64, n validation.Number) {
		if group == "" {
			group = "all"
		}
		f.Rows = append(f.Rows, FrameRow{[]string{measure, t.By, group, against, n.Unknown},
			append([]float64{time}, interval(n)...)})
	}
	none := math.NaN()
	count := func(n float64) validation.Number {
		return validation.Number{Value: n, SD: none, NoiseSD: none, NoLow: true, NoHigh: true}
	}
	for _, g := range t.Groups {
		add("without_event", g.Level, "", 0, validation.Number{Value: 1, Low: 1, High: 1})
		for _, q := range g.Points {
			add("without_event", g.Level, "", q.Time, q.Survival)
		}
		from := 0.
		for _, q := range g.Points {
			add("at_risk", g.Level, "", from, count(q.AtRisk))
			add("events", g.Level, "", q.Time, count(q.Events))
			from = q.Time
		}
		if len(g.Points) == len(t.Edges) {
			add("at_risk", g.Level, "", from, count(g.SeenBeyond))
		}
		add("all_records", g.Level, "", none, count(g.Records))
		add("all_events", g.Level, "", none, count(g.Events))
		g.Median.SD, g.Median.NoiseSD = none, none
		if !g.Median.Known() && g.MedianLow > 0 { // the page says so, too
			g.Median.Low, g.Median.NoHigh = g.MedianLow, true
		}
		add("median", g.Level, "", none, g.Median)
		add("restricted_mean", g.Level, "", g.MeanTo, g.Mean)
	}
	for _, d := range t.Compared {
		add("hazard_ratio", d.Of, d.Reference, none, d.Ratio)
		p := validation.Number{Unknown: "the groups share no events"}
		if d.P != nil {
			p = count(*d.P)
		}
		add("log_rank_p", d.Of, d.Reference, none, p)
		add("difference", d.Of, d.Reference, d.At, d.Difference)
	}
	return nil
}
