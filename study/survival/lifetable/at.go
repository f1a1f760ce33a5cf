package lifetable

import (
	"fmt"
	"math"

	"caucus/aggregation/validation"
	"caucus/study"
)

// SurvivalAtTime is a group's survival at a time of the reader's choice.
type SurvivalAtTime struct {
	Level    string            `json:"level"`
	Time     float64           `json:"time"`
	Survival validation.Number `json:"survival"`
}

// At reads all curves at a time, in the table's unit. Unknown says why a curve has no answer there.
func (t Table) At(time float64) []SurvivalAtTime {
	var out []SurvivalAtTime
	for _, g := range t.Groups {
		out = append(out, SurvivalAtTime{Level: g.Level, Time: time, Survival: g.at(time)})
	}
	return out
}

// at takes ln S as linear within an interval of time, as the median does. The hazard may be uneven
// there, so the interval of confidence assumes only that survival never rises: it goes from the low
// end at the interval's end to the high end at its beginning, and misses with probability .05 at
// most if each of those ends does with .025. It has no standard deviation.
func (g Group) at(time float64) validation.Number {
	last := Point{Survival: validation.Number{Value: 1, Low: 1, High: 1}}
	if !(time >= 0) {
		return validation.Number{Unknown: "a curve begins at time 0"}
	}
	if time == 0 {
		return last.Survival
	}
	for _, p := range g.Points {
		from, to := last.Survival, p.Survival
		switch {
		case time > p.Time:
			last = p
			continue
		case time == p.Time:
			return to
		case to.Value == 0:
			return validation.Number{Unknown: fmt.Sprintf("all who reach %.6g have the event before %.6g, at times that are not known", last.Time, p.Time)}
		}
		share := (time - last.Time) / (p.Time - last.Time)
		return validation.Number{Low: to.Low, High: from.High,
			Value: from.Value * math.Pow(to.Value/from.Value, share)}
	}
	return validation.Number{Unknown: fmt.Sprintf("the curve ends at %.6g", last.Time)}
}

// TableAtTimes is a table of all curves at such times, in percent.
func (t Table) TableAtTimes(times []float64) study.ReportTable {
	out := study.ReportTable{Title: "share without the event before other times, in percent",
		Head: []string{t.Axis()}}
	for _, g := range t.Groups {
		out.Head = append(out.Head, t.named(g.Level))
	}
	for _, time := range times {
		row := []string{fmt.Sprintf("%g", time)}
		for _, r := range t.At(time) {
			text := r.Survival.Unknown
			if text == "" {
				text = percent(r.Survival)
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
