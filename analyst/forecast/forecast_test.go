package forecast_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/analyst/forecast"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/stated"
)

// proposed returns a plan on a pool of generated hospitals' records.
func proposed(t *testing.T, parties int, change func(*study.Proposal)) planning.PreparedPlan {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = 400
	table, schema := public.Hospitals(c)
	p := study.Proposal{Name: "x", Epsilon: 1, Records: 100, KindTerms: []byte(`{"class_shares":[0.7,0.3]}`), Map: dataset.Components{Project: 8}, Deadline: time.Now().Add(time.Hour)}
	for range parties {
		p.Roster = append(p.Roster,
			study.PartyID("p"+strings.Repeat("x",
				len(p.Roster)%60+1)+string(rune('a'+len(p.Roster)/60))))
	}
	change(&p)
	made, err := planning.ProposePlan(p, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func drawn(t *testing.T, made planning.PreparedPlan, auc float64, draws int) *forecast.Forecast {
	t.Helper()
	f, err := forecast.DrawForecast(t.Context(), made.Plan, made.Pool,
		forecast.PublicInputs{Size: made.Size, AUC: auc}, forecast.Options{Draws: draws})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDraw: the same question gets the same answer; the pooled classifier reaches the known AUC;
// more ε gives a better release; many small parties get a yes, and three parties at unit party a
// no. The seed is fixed, so the test fails always or never.
func TestDraw(t *testing.T) {
	many := proposed(t, 300, func(p *study.Proposal) {
		p.Unit, p.Mechanism, p.Records = privacy.Party, "means", 24
	})
	yes := drawn(t, many, .85, 4)
	if yes.Helps != stated.Yes || yes.Majority != .7 || yes.SharesAssumed || len(yes.Gain) != 1 {
		t.Errorf("many small parties: %+v", yes)
	}
	if math.Abs(yes.Pooled.AUC.Mean-.85) > .03 {
		t.Errorf("pooled records reach an AUC of %.3f, .85 is known", yes.Pooled.AUC.Mean)
	}
	if again := drawn(t, many, .85, 4); !reflect.DeepEqual(again, yes) {
		t.Errorf("%+v, then %+v", yes, again)
	}
	few := drawn(t, proposed(t, 3, func(p *study.Proposal) { p.Unit = privacy.Party }), .8, 4)
	if few.Helps != stated.No || !strings.Contains(few.Verdict(), "does not help") ||
		few.Warning(study.Plan{}) == "" {
		t.Errorf("three parties: %+v", few)
	}
	before := 0.
	for _, epsilon := range []float64{.05, .5, 8} {
		f := drawn(t, proposed(t, 6, func(p *study.Proposal) { p.Epsilon = epsilon }), .8, 6)
		if f.Released.AUC.Mean < before+.02 {
			t.Errorf("ε = %g: AUC %.3f, with less ε %.3f", epsilon, f.Released.AUC.Mean, before)
		}
		before = f.Released.AUC.Mean
	}
}

// TestEveryMechanism: each mechanism has a forecast, for each place of the noise, also for a plan
// that lets sites choose the learner, and for a plan with a condition.
func TestEveryMechanism(t *testing.T) {
	for _, c := range []struct {
		unit      privacy.Unit
		mechanism string
		noise     study.Noise
	}{
		{privacy.Record, "cross", study.NoiseSite}, {privacy.Record, "cross", study.NoiseCoordinator}, {privacy.Record, "moment", study.NoiseSite},
		{privacy.Record, "tally", study.NoiseSite}, {privacy.Party, "tally", study.NoiseCoordinator}, {privacy.Party, "means", study.NoiseCoordinator},
		{privacy.Party, "output", study.NoiseCoordinator}, {privacy.Record, "cross", study.NoiseAggregators},
	} {
		made := proposed(t, 4, func(p *study.Proposal) {
			p.Unit, p.Mechanism, p.Noise, p.Records = c.unit, c.mechanism, c.noise, 40
			if c.mechanism == "cross" {
				p.Where = "age > 50"
			}
			if c.unit == privacy.Party && c.mechanism == "tally" {
				p.KindTerms = []byte(`{"learner":"any","class_shares":[0.7,0.3]}`)
			}
		})
		f := drawn(t, made, 0, testlevel.N(t, 1, 6))
		for _, l := range []stated.Performance{f.Released, f.Alone, f.Pooled} {
			for _, d := range []stated.DrawSummary{l.Accuracy, l.AUC} {
				if !(d.Low >= 0 && d.Low <= d.Mean && d.Mean <= d.High && d.High <= 1 &&
					d.Error >= 0) {
					t.Errorf("%v: %+v", c, f)
				}
			}
		}
		if len(f.AUCsTried) != 3 || f.Helps == stated.Yes {
			t.Errorf("%v: without an AUC %v is said of %v", c, f.Helps, f.AUCsTried)
		}
	}
}

// TestDrawRefuses: bad inputs are errors, and cancelling the context ends DrawForecast.
func TestDrawRefuses(t *testing.T) {
	made := proposed(t, 3, func(*study.Proposal) {})
	for _, auc := range []float64{.4, .5, 1, -1, math.NaN()} {
		if _, err := forecast.DrawForecast(t.Context(), made.Plan, made.Pool,
			forecast.PublicInputs{Size: made.Size, AUC: auc}, forecast.Options{}); !errors.Is(err,
			study.ErrPlan) {
			t.Errorf("an AUC of %v: %v", auc, err)
		}
	}
	for _, size := range []study.Size{{}, {Parties: 3}, {Parties: 3, Records: 2}} {
		if _, err := forecast.DrawForecast(t.Context(), made.Plan, made.Pool,
			forecast.PublicInputs{Size: size},
			forecast.Options{}); err == nil {
			t.Errorf("a forecast of %+v", size)
		}
	}
}

// TestStated: drawing an operator's forecast again from plan and pool gives the same digits.
// Made-up figures do not agree. A document for another plan, in another form or out of bounds is
// refused.
func TestStated(t *testing.T) {
	made := proposed(t, 300, func(p *study.Proposal) {
		p.Unit, p.Mechanism, p.Records = privacy.Party, "means", 24
	})
	f := drawn(t, made, .85, 4)
	document := must(stated.Statement{Plan: made.Hash, AUC: .85, Forecast: &f.Forecast}.Document())
	of := must(stated.Parse(document, made.Hash))
	again := must(forecast.RedrawStated(t.Context(), of, made.Plan, made.Pool, nil))
	if !reflect.DeepEqual(again, f) || !of.Forecast.Agrees(&again.Forecast) {
		t.Errorf("%+v, drawn again %+v", f, again)
	}
	praised := f.Forecast
	praised.Released.Accuracy.Mean += 6 * f.Released.Accuracy.Error
	if praised.Agrees(&again.Forecast) {
		t.Error("a praised release agrees")
	}
	older := of
	older.Version--
	if _, err := forecast.RedrawStated(t.Context(), older, made.Plan, made.Pool, nil); err == nil ||
		!strings.Contains(err.Error(), "version") {
		t.Errorf("drawn in another way: %v", err)
	}
	of.Forecast.Draws = 201
	if _, err := forecast.RedrawStated(t.Context(), of, made.Plan, made.Pool, nil); err == nil ||
		!strings.Contains(err.Error(), "more than is drawn again") {
		t.Errorf("endless draws: %v", err)
	}
	for name, bad := range map[string]string{
		"another plan":  strings.Replace(string(document), made.Hash.String(), study.Hash{1}.String(), 1),
		"unknown key":   strings.Replace(string(document), `"version"`, `"worth":1,"version"`, 1),
		"two documents": string(document) + "{}",
		"no forecast":   `{"plan":"` + made.Hash.String() + `","version":1}`,
		"endless draws": strings.Replace(string(document), `"draws":4`, `"draws":1000000000`, 1),
		"no parties":    strings.Replace(string(document), `"parties":300`, `"parties":0`, 1),
		"not JSON":      "yes",
	} {
		if _, err := stated.Parse([]byte(bad), made.Hash); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
