package describe

import (
	"fmt"
	"math"
	"strings"

	"caucus/aggregation"
	"caucus/study"
)

// ForecastNoise predicts the noise in counts and means, over all records and over a quarter of
// them.
func (t Task) ForecastNoise(size study.Size) (words, warning string, err error) {
	q := t.Counted
	sd, err := q.Deviation(t.Plan().Noise.Draws(size.Parties))
	if err != nil {
		return "", "", err
	}
	all := float64(size.Records)
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	line("noise on each count: standard deviation %.3g, where all records are about %d", sd, size.Records)
	if q.terms.Count {
		line("95 %% interval of a count: ± %.3g records, or ± %.2g %% of all", aggregation.Normal95*sd, 100*aggregation.Normal95*sd/all)
	} else {
		line("in 95 %% of releases, noise moves a percentage of all records by at most %.2g points, and a percentage of a group of a quarter of the records by at most %.2g", 100*aggregation.Normal95*sd/all, 400*aggregation.Normal95*sd/all)
	}
	for _, c := range q.Columns {
		if c.Levels != nil {
			continue
		}
		off := aggregation.Normal95 * sd * math.Sqrt(c.meanNoise()) / all
		if c.Log {
			line("geometric mean of 1 + %s: noise multiplies or divides it by at most %.4g (95 %%)", c.Name, math.Exp(off*(c.scale(1)-c.scale(0))))
		} else {
			line("mean of %s: noise moves it by at most %.2g (95 %%), where the column's range is %s", c.Name, off*(c.scale(1)-c.scale(0)), NumberText(c.scale(1)-c.scale(0)))
		}
		if len(lines) == mostForecast {
			line("other means: in proportion to their ranges")
			break
		}
	}
	if q.terms.Sites {
		one, err := q.Deviation(1)
		if err != nil {
			return "", "", err
		}
		line("noise on each count of one site: standard deviation %.3g; groups under %.0f records show as unknown", one, aggregation.MinTotalSDs*one)
	}
	if q.Group != nil {
		line("for a group of 20 %% of the records, noise moves each number 5 times as far; groups under %.0f records show as unknown", aggregation.MinTotalSDs*sd)
	}
	if narrow := t.Plan().ConditionForecastText(size); narrow != "" && !q.terms.Count {
		line("%s", narrow)
	}
	costs, err := t.Plan().NoiseCosts(q.bound(), q.Cells())
	if err != nil {
		return "", "", err
	}
	for i := range costs {
		costs[i].SD /= float64(q.Step)
	}
	line("%s", t.Plan().NoiseText(costs))
	if sd > muchNoise*all {
		warning = fmt.Sprintf("the noise on each count has standard deviation %.3g, where all records are about %d: use more records, a larger ε or fewer columns (they are %d)", sd, size.Records, max(len(q.whole()), 1))
	}
	return strings.Join(lines, "\n"), warning, nil
}

const mostForecast = 12 // lines

// meanNoise returns the noise variance of the sum of v − centre over records, v in [0,1], divided
// by a count's noise variance. It adds the noise of each bin count times the bin's middle and the
// noise of the within-bin sum.
func (c Column) meanNoise() float64 {
	sum := WithinBinNoise * WithinBinNoise * c.WidestBin * c.WidestBin
	for _, m := range c.BinMiddles {
		sum += (m - c.MeanMiddle) * (m - c.MeanMiddle)
	}
	return sum
}

// leftOut is the noise on a within-bin sum, in widths of the widest bin, divided by the noise on a
// count.
const WithinBinNoise = sumShare / 2
