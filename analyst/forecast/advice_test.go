package forecast_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/analyst/forecast"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier/fitted"
	"caucus/study/classify/trained"
	"caucus/study/kinds/planning"
	"caucus/study/regress"
)

// asked is a question for coefficients: which columns of the generated hospitals, of how many pool
// rows, with which share of the class.
type asked struct {
	columns []string
	rows    int
	project dataset.ComponentCount
	share   float64
	epsilon float64
	records int
}

func (a asked) data() (dataset.Schema, *dataset.Table) {
	c := public.DefaultHospitalConfig()
	c.Records = a.rows
	table, schema := public.Hospitals(c)
	former := 0
	var kept []int
	for i := range table.Rows() { // few of those who smoked before
		if text, _ := table.Cell(i, "smoker"); text == "former" {
			former++
		}
		if text, _ := table.Cell(i, "smoker"); text != "former" || former%50 == 0 {
			kept = append(kept, i)
		}
	}
	table = table.Select(kept)
	if len(a.columns) > 0 {
		schema.Features = slices.DeleteFunc(schema.Features, func(f dataset.Feature) bool {
			return !slices.Contains(a.columns, f.Column)
		})
	}
	return schema.WithoutFormat(), table
}

// proposal is of five sites with noise at two servers.
func (a asked) proposal(kind string) study.Proposal {
	return study.Proposal{Name: "asked", Kind: kind, Unit: privacy.Record, Epsilon: a.epsilon,
		Noise: study.NoiseAggregators, Records: a.records, Minimum: 5, Seed: 1,
		Roster: []study.PartyID{"a", "b", "c", "d", "e"}}
}

func (a asked) foresee(t *testing.T) *forecast.Coefficients {
	t.Helper()
	p := a.proposal("classify")
	p.Mechanism, p.Map = "cross", dataset.Components{Project: a.project}
	p.KindTerms = []byte(fmt.Sprintf(`{"class_shares":[%v,%v]}`, 1-a.share, a.share))
	schema, table := a.data()
	made := must(planning.ProposePlan(p, schema, table))
	return must(forecast.DrawForecast(t.Context(), made.Plan, made.Pool,
		forecast.PublicInputs{Size: study.Size{Parties: 5, Records: 5 * a.records}, AUC: .8},
		forecast.Options{Draws: 4, Coefficients: true})).Coefficients
}

// TestAdviceOnCoefficients follows each advice that a forecast of odds ratios prints. The seeds are
// fixed, so the test fails always or never.
func TestAdviceOnCoefficients(t *testing.T) {
	auto := dataset.ComponentCount(dataset.AutoComponents)
	few, rare := []string{"age", "sex", "creatinine"}, []string{"age", "smoker"}
	followed := map[string]bool{}
	for _, a := range []asked{
		{nil, 400, 3, .3, 2, 2000}, // the map keeps 3 directions of 23
		{nil, 60, auto, .3, 2, 2000},
		{few, 400, auto, .04, 1, 2000}, // a rare class: scores
		{rare, 5000, 0, .3, .5, 2000},
	} {
		for _, c := range a.foresee(t).Of {
			b, kind := a, strings.SplitN(c.TermToChange, " ", 2)[0]
			// No row of a generated pool has a level that the schema does not name.
			if c.TermToChange == "" || c.Level == "other" || followed[kind] && kind != "kind" {
				continue
			}
			t.Logf("%+v: %s, %t: %s", a, c.Words(), c.Interval, c.TermToChange)
			then := func() forecast.Coefficient {
				t.Helper()
				for _, of := range b.foresee(t).Of {
					if of.Contrast == c.Contrast {
						return of
					}
				}
				t.Fatalf("%s is gone", c.Words())
				return c
			}
			followed[kind] = true
			switch kind {
			case "map.project:":
				b.project = dataset.ComponentCount(must(strconv.Atoi(
					strings.Fields(c.TermToChange)[1])))
				if got := then(); got.NoIntervalReason == fitted.MapLosesContrast {
					t.Errorf("%s: %s, and still %s", c.Words(), c.TermToChange,
						got.NoIntervalReason)
				}
			case "a": // pool with more rows of it
				b.rows = 2000
				if got := then(); strings.HasPrefix(got.NoIntervalReason, "fewer than") {
					t.Errorf("%s: %s, and still %s", c.Words(), c.TermToChange,
						got.NoIntervalReason)
				}
			case "more": // records, or a larger epsilon
				wide := c.HalfWidth
				b.epsilon *= 8
				if got := then(); !(got.HalfWidth < wide/2) {
					t.Errorf("%s: %s, and ± %g became ± %g", c.Words(), c.TermToChange, wide,
						got.HalfWidth)
				}
			case "kind": // regress, of few columns, as its forecast says
				p := a.proposal("regress")
				schema, table := a.data()
				p.KindTerms = must(study.EncodeTerms(regress.Terms{Columns: []string{c.Column},
					Expected: a.share}))
				made := must(planning.ProposePlan(p, schema, table))
				if strings.Contains(made.Noise, "unknown") {
					t.Errorf("%s: %s, and it says %s", c.Words(), c.TermToChange, made.Noise)
				}
				followed["narrow"] = followed["narrow"] || made.Warning == ""
			default:
				t.Errorf("%s: an advice that nobody tried: %s", c.Words(), c.TermToChange)
			}
		}
	}
	for _, kind := range []string{"map.project:", "a", "more", "kind", "narrow"} {
		if !followed[kind] {
			t.Errorf("no advice was %q", kind)
		}
	}
}

// TestAdviceOnNoCoefficients follows what a plan without odds ratios is told.
func TestAdviceOnNoCoefficients(t *testing.T) {
	two := study.Plan{Mechanism: "cross", Schema: dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}}}}
	votes, three, bins := two, two, two
	votes.Mechanism = "tally"
	three.Schema.Label.Classes = []string{"a", "b", "c"}
	bins.Map.LeadingComponents = 4
	for of, says := range map[*study.Plan]string{&votes: "mechanism cross", &bins: "leave out map.bins",
		&three: "kind regress compares one class"} {
		if told := trained.NoCoefficients(*of); !strings.Contains(told, says) {
			t.Errorf("%q does not say %q", told, says)
		}
	}
	votes.Mechanism, bins.Map.LeadingComponents = "cross", 0
	for _, of := range []study.Plan{votes, bins} {
		if told := trained.NoCoefficients(of); told != "" {
			t.Errorf("followed, and still %q", told)
		}
	}
	s := dataset.Schema{Label: three.Schema.Label, Features: []dataset.Feature{
		{Column: "x", Kind: dataset.Numeric, Max: 1}}}
	p := study.Plan{Kind: "regress", Form: study.FormCommitted, Schema: s, Map: dataset.Identity(s)}
	if err := (regress.Kind{}).Complete(&p, study.Proposal{Epsilon: 1,
		KindTerms: []byte(`{"is":"b"}`)}); err != nil {
		t.Errorf("regress of one class of three: %v", err)
	}
}
