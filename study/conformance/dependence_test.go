package conformance_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/privacy/audit"
	"caucus/privacy/audit/laws"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// wideClinic is a clinic as large as real studies: 48 numbers and a categorical column, five
// classes, 80 pool rows, 240 records in 60 sets; ε = 1, δ = 10⁻⁶.
func wideClinic(t testing.TB) (clinic, *dataset.Records) {
	t.Helper()
	c := newClinic(t, []string{"a", "b", "c", "d", "e"}, 1)
	columns := []string{"label", "patient", "set", "ward"}
	c.schema.Features = c.schema.Features[2:] // the ward
	for j := range 48 {
		name := "f" + strconv.Itoa(j)
		columns = append(columns, name)
		c.schema.Features = append(c.schema.Features,
			dataset.Feature{Column: name, Kind: dataset.Numeric, Max: 1})
	}
	rng := rand.New(rand.NewPCG(7, 8))
	table := func(rows int) *dataset.Table {
		var cells [][]string
		for i := range rows {
			row := []string{c.schema.Classes()[rng.IntN(5)], "p" + strconv.Itoa(i),
				"s" + strconv.Itoa(i%60), "east"}
			for range 48 {
				row = append(row, strconv.FormatFloat(rng.Float64(), 'f', 3, 64))
			}
			cells = append(cells, row)
		}
		out, err := dataset.NewTable(columns, cells)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var err error
	if c.pool, _, err = auxdata.New(c.schema, dataset.Identity(c.schema), table(80)); err != nil {
		t.Fatal(err)
	}
	records, _, err := c.schema.EncodeLabelled(table(240))
	if err != nil {
		t.Fatal(err)
	}
	c.plan.Schema, c.plan.Map, c.plan.Pool = c.schema, dataset.Identity(c.schema), c.pool.Digest
	c.plan.Delta, c.plan.Records = 1e-6, 240
	return c, records
}

// widePlans are plans of every kind that release 200 numbers or more.
func widePlans(c clinic) map[string]study.Plan {
	counts := conformance.WithRatioTerms(c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"),
		func(t *ratio.Terms) {
			t.MaxSets = 60
		})
	gaussian := counts
	gaussian.Mechanism = "gaussian"
	embedding := conformance.WithRatioTerms(c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty,
		"gaussian-zcdp"), func(t *ratio.Terms) {
		t.Fourier = 240
	})
	return map[string]study.Plan{
		"classify tally":         c.classify("tally", privacy.Party, study.NoiseCoordinator, 1),
		"classify moment":        c.classify("moment", privacy.Party, study.NoiseCoordinator, 1),
		"classify cross":         c.classify("cross", privacy.Record, study.NoiseSite, 1),
		"ratio counts, laplace":  counts,
		"ratio counts, gaussian": gaussian,
		"ratio noisy embedding":  embedding,
		"reweigh entropy":        c.reweigh("entropy", reweigh.Terms{Bins: 8}),
		"describe gaussian":      c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()),
		"evaluate laplace": c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) {
			t.Bins, t.By = 40, []evaluate.Grouping{{Column: "f0", Edges: []float64{.25, .5, .75}}}
		}),
		"labels rr": c.labels("rr"),
	}
}

// TestStudiesDrawApart: noise is independent within a release, between two studies on the same pool
// and records, and between parties, for every kind, at real calibration and length, through real
// ledgers.
//
// It finds two mutants: parties of a study that share one draw, and a second study that gets the
// first study's answers. False alarms: 1e-12 for each of 9.
func TestStudiesDrawApart(t *testing.T) {
	c, records := wideClinic(t)
	// drawn returns the noise that parties' ledgers add for several studies; hash numbers the
	// studies.
	drawn := func(p study.Plan, parties int, open func() *privacy.Ledger,
		hash func(number int) study.Hash) (out []audit.Noise) {
		asks := c.asksOf(t, p, records, records)
		values := openAsk(t, asks[0])
		if len(values) < 200 {
			t.Fatalf("%s %s: %d numbers, not 200 and more", p.Kind, p.Mechanism, len(values))
		}
		for range parties {
			l := open()
			for number := range 100 / parties {
				r, err := study.ReleaseRequests(t.Context(), l, hash(number), asks)
				if err != nil {
					t.Fatal(err)
				}
				bound := r[0].Bound
				n, err := laws.KnownRelease{Mechanism: r[0].Mechanism, Parameters: r[0].Parameters,
					Weight: bound.Weight, Block: bound.Block, Values: r[0].Values,
					Of: values}.Noise()
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, n)
			}
		}
		return out
	}
	own := func(number int) study.Hash { return study.HashOf([]byte{byte(number)}) }
	find := func(name string, answers []audit.Noise) audit.DependenceFinding {
		f, err := audit.DefaultDependenceTest().Run(answers)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-46s %6d numbers, %6d tests, nearest %.2f: %s", name, f.Numbers, f.Tests, f.Share,
			f.By)
		return f
	}
	plans := widePlans(c)
	for name, p := range plans {
		if f := find(name, drawn(p, 4, opened, own)); f.Dependent {
			t.Errorf("%s: the noise hangs together: %s", name, f.By)
		}
	}
	shared := opened()
	for name, answers := range map[string][]audit.Noise{
		"parties that share what one ledger drew": drawn(plans["classify cross"], 4, func() *privacy.Ledger { return shared }, own),
		"a second study gets the first's answers": drawn(plans["ratio noisy embedding"], 4, opened, func(study int) study.Hash { return own(study / 2) }),
	} {
		if f := find(name, answers); !f.Dependent {
			t.Errorf("%s: not found, the nearest is %.2f, %s", name, f.Share, f.By)
		}
	}
}

// TestAuditWideStudies: releases of adversarial neighbours differ no more than the plan claims, at
// real size and calibration. Few samples cannot test a claim that is spread over hundreds of
// numbers, but they detect noise that is missing in one number or equal in two. False alarms: 5e-13
// for each of 9.
func TestAuditWideStudies(t *testing.T) {
	c, records := wideClinic(t)
	for name, p := range widePlans(c) {
		other := records.Select(conformance.FirstRows(records.Len()))
		for i := range other.Len() { // at unit label and record the first, at unit party all
			if i > 0 && p.Unit != privacy.Party {
				break
			}
			other.Y[i] = (other.Y[i] + 1) % 5
			if row := other.X.RawRowView(i); p.Unit != privacy.Label {
				for j := range row {
					row[j] = 1 - row[j]
				}
			}
		}
		trial := trialOf(t, c.asksOf(t, p, records, records)[0], c.asksOf(t, p, other, records)[0])
		samples := testlevel.N(t, 300, 800)
		if trial.claim.Delta == 0 && trial.mechanism.Name() == "k-norm" {
			if samples /= 3; !testlevel.Long() {
				continue // 100 samples show less than any claim
			}
		}
		if f := auditOf(t, name, trial.claim, samples,
			trial.draw(t, opened)); f.Exceeds(trial.claim.Epsilon) {
			t.Errorf("%s: ε is at least %.3f by %s, the plan says %.3f", name, f.Epsilon, f.Event, trial.claim.Epsilon)
		}
	}
}
