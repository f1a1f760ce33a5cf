package lifetable

import (
	"fmt"
	"math"

	"caucus/aggregation/validation"
	"caucus/study/survival"
)

// fill makes curves and comparisons from the released histogram.
func (t *Table) fill(l survival.Layout, values []float64, variance float64) {
	var all []hazards
	for g, name := range l.Groups {
		h := newHazards(countsOf(l, values, g, variance))
		all = append(all, h)
		t.Groups = append(t.Groups, group(h, name, l.Edges))
		if g > 0 {
			t.Compared = append(t.Compared, t.compare(all[0], h, g))
		}
	}
}

// countsOf reads one group's counts. Competing causes count as last seen without the event.
func countsOf(l survival.Layout, values []float64, group int, variance float64) counts {
	run := values[1+group*l.CountsPerGroup() : 1+(group+1)*l.CountsPerGroup()]
	c := counts{beyond: run[len(run)-1], columns: float64(l.Columns - 1), variance: variance}
	for j := range l.Edges {
		at := run[j*l.Columns : (j+1)*l.Columns]
		censored := 0.
		for _, n := range at[1:] {
			censored += n
		}
		c.events, c.censored = append(c.events, at[0]), append(c.censored, censored)
	}
	return c
}

func group(h hazards, name string, edges []float64) Group {
	g := Group{Level: name, SeenBeyond: h.beyond, Points: h.points(edges),
		Mean: h.restricted(edges)}
	g.Median, g.MedianLow = median(g.Points)
	if known := h.known(); known > 0 {
		g.MeanTo = edges[known-1]
	}
	g.Records = h.beyond
	for j := range h.events {
		g.Records += h.events[j] + h.censored[j]
		g.Events += h.events[j]
	}
	switch {
	case h.zero:
		g.EndsReason = "by the counts with noise, everybody at risk has the event"
	case h.end < len(edges):
		g.EndsReason = fmt.Sprintf("too few records: below %d standard deviations of their noise",
			leastSignal)
	}
	return g
}

// compare compares the last group, of hazards b, with the first.
func (t *Table) compare(a, b hazards, last int) Comparison {
	to, of := t.Groups[0], t.Groups[last]
	c := Comparison{Of: of.Level, Reference: to.Level, Ratio: hazardRatio(a, b)}
	if z, ok := logRank(a, b); ok {
		p := math.Erfc(math.Abs(z) / math.Sqrt2)
		c.P = &p
	}
	known := shared(a, b)
	if known == 0 {
		c.Difference = validation.Number{Unknown: "the groups share no interval that somebody survives"}
		return c
	}
	c.At = t.Edges[known-1]
	c.Difference.Value = of.Points[known-1].Survival.Value - to.Points[known-1].Survival.Value
	var variance, byNoise float64
	for _, h := range []hazards{a, b} {
		sampling, noise := h.spread(unit(known - 1))
		s := math.Exp(h.logS[known-1])
		variance, byNoise = variance+s*s*(sampling+noise), byNoise+s*s*noise
	}
	sd := math.Sqrt(variance)
	c.Difference.SD, c.Difference.NoiseSD = sd, math.Sqrt(byNoise)
	c.Difference.Low = math.Max(-1, c.Difference.Value-z95*sd)
	c.Difference.High = math.Min(1, c.Difference.Value+z95*sd)
	return c
}
