package judged

import (
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/evaluate"
)

// TestHints: a release whose scores are those of another class says so, and one whose pool has
// scores of 0 or 1, which bend the slope, says how many. Others say neither.
func TestHints(t *testing.T) {
	for name, c := range map[string]struct {
		class, low, high string // the judged class, and scores of records of no and of yes
		want             []string
	}{
		"as it should be": {"yes", ".2", ".7", nil},
		"of another class": {"no", ".2", ".7",
			[]string{"That is below chance: the scores are lower where the label is no."}},
		"scores of 0": {"yes", "0", ".7",
			[]string{"Of the pool's scores 50 % are 0 or 1", "they bend slope and intercept"}},
	} {
		s := small(t)
		var rows []string
		for range 200 {
			rows = append(rows, "50,1,"+c.low+",east,no", "50,1,"+c.high+",east,yes",
				"50,1,.4,east,no", "50,1,.4,east,yes")
		}
		r := encode(t, s, rows...)
		from := auxdata.NewSimulated(encode(t, s, rows[0], rows[1]).X, dataset.Identity(s))
		h := made(t, s, evaluate.Terms{Score: "score", Classes: []string{c.class},
			Thresholds: []float64{.1, .3, .5}}, func(p *study.Plan) {
			p.Form = study.FormCommitted
		})
		h.read(from)
		values := counts(h, r)
		said := h.evaluate(values, .1, true).answer()
		for _, words := range []string{"below chance", "bend slope"} {
			wanted := strings.Contains(strings.Join(c.want, " "), words)
			if strings.Contains(said, words) != wanted {
				t.Errorf("%s: %q is said: %t, in %q", name, words, !wanted, said)
			}
		}
		for _, words := range c.want {
			if !strings.Contains(said, words) {
				t.Errorf("%s: no %q in %q", name, words, said)
			}
		}
		if before := h.plan; before.Form > 0 {
			h.plan.Form = 0
			if sure := h.evaluate(values, .1, true).Classes[0].CertainScoreShare; sure != 0 {
				t.Errorf("%s: a release of before says %v of sure scores", name, sure)
			}
		}
	}
}
