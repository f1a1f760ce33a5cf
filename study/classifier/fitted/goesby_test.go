package fitted

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classifier"
)

// TestGoesBy: the column with the largest weight comes first. More than two classes, or a
// classifier of noise alone, show nothing.
func TestGoesBy(t *testing.T) {
	s, _ := contrastWorld(t)
	p := study.Plan{Schema: s, Map: dataset.Identity(s)}
	w := mat.NewDense(p.Map.Dim(), 1, nil)
	w.Set(0, 0, -8) // a lowers the score
	w.Set(5, 0, 4)  // level y raises the score
	model := learners.Linear{W: w, Classes: 2}
	c := classifier.Classifier{Classes: s.Classes(), Lambda: 1}
	chart, words := SeparatingColumns(c, p, model)
	if chart == nil || chart.Bars[0].Name != "d: y" || chart.Bars[0].Value != 1 ||
		chart.Bars[1].Name != "higher a" || chart.Bars[1].Value >= 0 {
		t.Fatalf("shows %+v", chart)
	}
	if want := " Its weights are not findings"; !strings.HasPrefix(words, want) {
		t.Errorf("says %q, want %q", words, want)
	}
	for _, c := range []classifier.Classifier{{Classes: c.Classes},
		{Classes: []string{"a", "b", "c"}, Lambda: 1}} {
		if chart, words := SeparatingColumns(c, p, model); chart != nil || words != "" {
			t.Errorf("%+v shows %+v, %q", c, chart, words)
		}
	}
}
