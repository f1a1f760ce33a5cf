package classifier

import (
	"strings"
	"testing"

	"caucus/study"
)

// TestAnswer: the answer has what is expected beside what there is without a study, the
// forecast's verdict, what is only assumed, and a constant classifier before all else.
func TestAnswer(t *testing.T) {
	line := func(accuracy, auc float64) study.Line {
		return study.Line{Accuracy: study.Range{Low: accuracy - .1, Mid: accuracy, High: accuracy + .1}, AUC: study.Range{Low: auc - .1, Mid: auc, High: auc + .1}}
	}
	forecast := func(helps study.Helps, pooled float64) *study.Forecast {
		return &study.Forecast{
			Separation: study.Range{Low: .65, Mid: .75, High: .85}, Helps: helps, Majority: .6,
			Released: line(.70, .74), Unperturbed: line(pooled, .78), Pooled: line(pooled, .79), Alone: line(.65, .71),
		}
	}
	assumed := forecast(study.HelpsDepends, .72)
	assumed.SharesAssumed, assumed.HelpsFrom = true, .8
	for _, c := range []struct {
		name   string
		lambda float64
		f      *study.Forecast
		want   []string // in this order
	}{
		{"yes", .1, forecast(study.HelpsYes, .72), []string{"7 parties made", "right for 70.0 % of new records (60.0 to 80.0 %)", "alone for 65.0 %", "largest class for 60.0 %;", "by the forecast it helps"}},
		{"no", .1, &study.Forecast{Helps: study.HelpsNo, Majority: .6, Released: line(.7, .7), Unperturbed: line(.8, .8), Pooled: line(.8, .8), Alone: line(.75, .8)}, []string{"7 parties", "70.0 %", "75.0 %", "it does not help: each does better alone"}},
		{"perhaps, of assumed classes", .1, assumed, []string{"60.0 % (a share that is only assumed)", "it perhaps helps, where features separate the classes to an AUC of about 0.80"}},
		{"a rare class", .1, forecast(study.HelpsYes, .605), []string{"of AUC 0.740 (0.640 to 0.840)", "alone of 0.710", "class of 0.5"}},
		{"constant", 0, forecast(study.HelpsYes, .72), []string{"The noise left nothing to tell the classes apart by", "every record the same class", "Before that was known", "70.0 %"}},
		{"no forecast", .1, nil, []string{"7 parties made", "no forecast"}},
		{"constant, no forecast", 0, nil, []string{"The noise left nothing to tell the classes apart by", "no forecast"}},
	} {
		got := Answer(Classifier{Lambda: c.lambda}, study.Release{Manifest: study.Manifest{Parties: 7}, Forecast: c.f})
		rest := got
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: %q lacks %q, or says it too early", c.name, got, want)
			}
			rest = after
		}
		if c.name == "yes" && strings.Contains(got, "assumed") {
			t.Errorf("shares that the plan says are called assumed: %q", got)
		}
	}
}
