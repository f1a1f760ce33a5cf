package lifetable

import (
	"encoding/json"
	"strings"
	"testing"

	"caucus/aggregation/validation"
	"caucus/study"
)

func point(time, s, risk float64) Point {
	return Point{Time: time, AtRisk: risk,
		Survival: validation.Number{Value: s, Low: s - .1, High: s + .1}}
}

// TestReportWords: a reader sees each group by name, the same time for all groups, times with their
// unit and few digits, numbers at risk below the axis, and what makes the curve say too much.
func TestReportWords(t *testing.T) {
	ratio := validation.Number{Value: .5, Low: .4, High: .62}
	table := Table{NoiseSD: 4, Time: "followup", TimeUnit: "days", Event: "status = relapse",
		Causes: []string{"dead"}, CensoredLevels: []string{"alive"}, By: "arm",
		Edges: []float64{365. / 3, 730. / 3, 365}, Groups: []Group{
			{Level: "a", Records: 100.4, SeenBeyond: 51.2, MeanTo: 365,
				Points: []Point{point(365./3, .9, 100.4), point(730./3, .8, 88.6),
					point(365, .7, 70.1)},
				Median: validation.Number{Unknown: "not reached"},
				Mean:   validation.Number{Value: 300.25, Low: 290, High: 310}},
			{Level: "b", Records: 80, Points: []Point{point(365./3, .6, 80), point(730./3, .3, 40)},
				EndsReason: "too few records",
				Median:     validation.Number{Value: 150.5, Low: 120, NoHigh: true}, MedianLow: 120,
				Mean: validation.Number{Value: 170, Low: 160, High: 180}, MeanTo: 730. / 3},
		}, Compared: []Comparison{{Of: "b", Reference: "a", Ratio: ratio, At: 730. / 3,
			Difference: validation.Number{Value: -.5, Low: -.6, High: -.4}}}}
	body, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Results{}.Report(study.Release{Manifest: study.Manifest{Parties: 3},
		Result: study.Result{Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f := r.Figures[0]
	told := string(all)
	for _, want := range []string{
		"status = relapse, about 180 records at 3 sites: 80.0 (70.0 to 90.0) % of arm a, 30.0 (20.0 to 40.0) % of arm b are without the event before 243.3 days; the hazard of arm b is 0.50 (0.40 to 0.62) times that of arm a, unadjusted",
		`["a","100","0","not reached","300 (290 to 310) up to 365"]`,
		`["b","80","0","150 (120 to not reached)","170 (160 to 180) up to 243.3"]`,
		`["b","0.50 (0.40 to 0.62)","","-50.0 (-60.0 to -40.0) before 243.3 days"]`,
		"the curve of arm b ends at 243.3 days: too few records",
		"records with dead, alive count as last seen",
		`["243.3","80.0 (70.0 to 90.0)","70","30.0 (20.0 to 40.0)",""]`,
		`["365","70.0 (60.0 to 80.0)","51","",""]`,
	} {
		if !strings.Contains(told, want) {
			t.Errorf("the report does not say %q:\n%s", want, told)
		}
	}
	if f.X != "followup (days)" ||
		!strings.Contains(f.Caption, "Records with dead count as last seen then") ||
		!strings.Contains(f.Caption, "overstates") {
		t.Errorf("the picture says %q, %q", f.X, f.Caption)
	}
	below, err := json.Marshal(f.Below)
	want := `"head":["","0","122","243","365"],` +
		`"rows":[["arm a","100","89","70","51"],["arm b","80","40","",""]]`
	if err != nil || !strings.Contains(string(below), want) || len(f.Marks) != 4 {
		t.Errorf("below the picture stands %s, marks %v", below, f.Marks)
	}
}

// TestTimesHaveFewDigits: a time is as exact as its axis needs, and a whole number stays whole.
func TestTimesHaveFewDigits(t *testing.T) {
	for until, want := range map[float64]string{5: "1.667", 30: "1.67", 365: "1.7", 18250: "1.7"} {
		if got := (Table{Edges: []float64{until}}).TimeText(5. / 3); got != want {
			t.Errorf("on an axis to %g: %s, want %s", until, got, want)
		}
		if got := (Table{Edges: []float64{until}}).TimeText(120); got != "120" {
			t.Errorf("on an axis to %g: 120 is %s", until, got)
		}
	}
}

// TestTimesAreAsAsked: edges of short intervals and times of the reader's choice are shown as they
// are.
func TestTimesAreAsAsked(t *testing.T) {
	table := Table{Edges: []float64{0.125, 1825}, Groups: []Group{{}}}
	if got := table.TimeText(0.125); got != "0.125" {
		t.Errorf("the edge 0.125 is shown as %s", got)
	}
	if got := table.TableAtTimes([]float64{0.1234567}).Rows[0][0]; got != "0.1234567" {
		t.Errorf("the time 0.1234567 is shown as %s", got)
	}
}

// TestNoCurve: a group with too few records from the beginning has no curve, and not one that ends
// at 0.
func TestNoCurve(t *testing.T) {
	table := Table{NoiseSD: 4, Time: "days", Edges: []float64{30}, By: "sex",
		Groups: []Group{{Level: "m", EndsReason: "too few records"}}}
	body, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Results{}.Report(study.Release{Result: study.Result{Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Lines[1].Text; got != "sex m has no curve: too few records" {
		t.Errorf("the report says %q", got)
	}
}
