package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	secret "caucus/aggregation/shares"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/describe"
	"caucus/study/evaluate"
)

// hospitalDeal deals generated hospital data to this number of parties and makes a task.
func hospitalDeal(t *testing.T, parties int, of study.Proposal) (*DealtData, study.Finisher) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records = 3000
	table, schema := public.Hospitals(c)
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Split{Schema: schema, Train: records.AsTable(), PoolFraction: .4, Parties: parties,
		Seed: 5}.Deal(0)
	if err != nil {
		t.Fatal(err)
	}
	if of.Name = "s"; of.Kind == "" {
		of.Map = dataset.Components{Project: 8}
	}
	task, err := d.Task(of)
	if err != nil {
		t.Fatal(err)
	}
	return d, task
}

func aggregated(mechanism string, delta float64, shards int) study.Proposal {
	return study.Proposal{Mechanism: mechanism, Unit: privacy.Record, Noise: study.NoiseAggregators, Epsilon: 1, Delta: &delta, KindTerms: fmt.Appendf(nil, `{"shards":%d}`, shards)}
}

var aggregatedStudies = map[string]study.Proposal{
	"tally":                 aggregated("tally", 1e-6, 1),
	"tally, shards":         aggregated("tally", 1e-6, 3),
	"cross":                 aggregated("cross", 1e-6, 1),
	"cross, pure":           aggregated("cross", 0, 1),
	"moment":                aggregated("moment", 0, 3),
	"means":                 whole(aggregated("means", 1e-6, 1)),
	"describe":              of("describe", aggregated("gaussian", 1e-6, 0), describe.Terms{Bins: 8, By: "sex"}),
	"describe, pure, where": where(of("describe", aggregated("laplace", 0, 0), describe.Terms{Bins: 5})),
	"evaluate":              of("evaluate", aggregated("laplace", 0, 0), scored),
	"evaluate, party":       whole(of("evaluate", aggregated("gaussian", 1e-6, 0), atMost(scored, 300))),
	"reweigh":               of("reweigh", aggregated("entropy", 0, 0), nil),
	"reweigh, gaussian":     of("reweigh", aggregated("entropy", 1e-6, 0), nil),
}

var scored = evaluate.Terms{Score: "creatinine", Bins: 6, By: []evaluate.Grouping{{Column: "sex"}}}

func of(kind string, p study.Proposal, terms any) study.Proposal {
	p.Kind, p.KindTerms = kind, nil
	if terms != nil {
		var err error
		if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
			panic(err)
		}
	}
	return p
}

func atMost(t evaluate.Terms, records int64) evaluate.Terms {
	t.PerParty = records
	return t
}

func whole(p study.Proposal) study.Proposal {
	p.Unit = privacy.Party
	return p
}

func where(p study.Proposal) study.Proposal {
	p.Where = "sex == female"
	return p
}

// TestAggregators: real shares of every party, proved and checked, and shares of the sum both add
// up to the coordinator's sum, to the integer, before noise. With noise both give the same release,
// because simulated noise repeats.
func TestAggregators(t *testing.T) {
	for name, of := range aggregatedStudies {
		t.Run(name, func(t *testing.T) {
			d, task := hospitalDeal(t, 5, of)
			b, _ := bodies.Of(task)
			want := make([]int64, b.Statistic.Cells())
			var held [2]*servers
			for i, real := range []bool{false, true} {
				sum, err := task.NewSum()
				if err != nil {
					t.Fatal(err)
				}
				if held[i], err = newServers(b, sum, real); err != nil {
					t.Fatal(err)
				}
			}
			for i := range d.Parties {
				vector, weight := d.localSum(t.Context(), b, i)
				body, err := b.Statistic.AppendClear(vector, weight)
				if err != nil {
					t.Fatal(err)
				}
				for j, v := range vector {
					want[j] += v
				}
				for _, s := range held {
					if err := s.Add(body); err != nil {
						t.Fatal(err)
					}
				}
			}
			a, released := matrixOf(b), once(t, b, want, held[0].Weight())
			for _, s := range held {
				sums, err := s.sums()
				if err != nil {
					t.Fatal(err)
				}
				if got := joined(t, sums); !slices.Equal(got, want) {
					t.Fatalf("real shares %v: they add up to %v; the sum is %v", s.real, got, want)
				}
				if a != nil {
					for r := range sums {
						if sums[r], err = a.ApplyToShare(sums[r]); err != nil {
							t.Fatal(err)
						}
					}
					if got := joined(t, sums); !slices.Equal(got, released) {
						t.Fatalf("real shares %v: times the matrix they add up to %v; the sum is %v", s.real, got, released)
					}
				}
			}
			var results [2]study.Result
			want = released
			for i, real := range []bool{false, true} {
				run, err := d.Run(t.Context(), task, Options{SecretShares: real})
				if err != nil {
					t.Fatal(err)
				}
				results[i] = run.Release.Result
				checkServers(t, task, run, want)
			}
			if string(results[0].Body) != string(results[1].Body) {
				t.Error("real shares give another result than shares of the sum")
			}
		})
	}
}

// joined returns the sum of two shares; neither share alone may equal it.
func joined(t *testing.T, sums [2]secret.SecretShare) []int64 {
	t.Helper()
	var r [2][]privacy.Residue
	for role, share := range sums {
		var err error
		if r[role], err = share.Residues(); err != nil {
			t.Fatal(err)
		}
		if zeros := slices.Index(r[role], privacy.Residue{}); zeros >= 0 {
			t.Errorf("the %v's share of cell %d is 0", secret.Role(role), zeros)
		}
	}
	got, err := secret.Combine(r[0], r[1])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func matrixOf(b bodies.Task) *secret.Matrix {
	if m, ok := b.Statistic.(bodies.MatrixStatistic); ok {
		return m.Matrix()
	}
	return nil
}

// once returns the coordinator's release of the sum, without noise.
func once(t *testing.T, b bodies.Task, sum []int64, weight int64) []int64 {
	t.Helper()
	requests, err := bodies.Requests(b.Statistic, sum, weight)
	if err != nil {
		t.Fatal(err)
	}
	requests[0].Mechanism = privacy.Unperturbed{}
	out, err := study.ReleaseRequests(t.Context(), privacy.NewSimulation(1), b.Hash(), requests)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Values
}

// checkServers compares two servers' publications with the sum: each alone is unrelated to the sum,
// together they carry both noises, and the charge is that of one server.
func checkServers(t *testing.T, task study.Finisher, run Run, sum []int64) {
	t.Helper()
	p := run.Published
	if len(p) != 2 || p[0].ID == p[1].ID {
		t.Fatalf("%d publications, want one of each server under an id of its own", len(p))
	}
	joined, err := secret.Combine(p[0].Residues, p[1].Residues)
	if err != nil {
		t.Fatal(err)
	}
	// The mean of n squares of noise over its variance is 2 for both servers. Kurtosis is 3 for
	// Gaussian and below 6 for Laplace and K-norm noise, so its standard error is below 2√(5/n); at
	// seven of these the chance of a false alarm is below 1e-10 for large n.
	ratio := 0.
	for j, v := range joined {
		ratio += float64(v-sum[j]) * float64(v-sum[j]) / p[0].Variance(j) / float64(len(sum))
	}
	if n := float64(len(sum)); n > 500 && math.Abs(ratio-2) > 2*7*math.Sqrt(2/n) || ratio == 0 {
		t.Errorf("noise is %.2f times one server's variance, want 2", ratio)
	}
	costs, err := study.CostsOf(task, run.Release.Weight)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(run.Release.Costs) != fmt.Sprint(costs) || len(costs) != 1 {
		t.Errorf("the release says it costs %v, one honest server gives %v", run.Release.Costs, costs)
	}
}

// TestAggregatorsFigures measures accuracy with noise at sites, by aggregators and by a
// coordinator, for docs/aggregators.md; with CAUCUS_TEST=long all of it, in minutes.
func TestAggregatorsFigures(t *testing.T) {
	if os.Getenv("CAUCUS_DATA") == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of real data")
	}
	repeats := testlevel.N(t, 1, 5)
	places := []study.Noise{study.NoiseSite, study.NoiseAggregators, study.NoiseCoordinator}
	for _, name := range []string{"adult", "wisdm_har", "mnist"}[:testlevel.N(t, 1, 3)] {
		t.Run(name, func(t *testing.T) {
			split := knownSplit(t, name)
			for _, split.Parties = range testlevel.Of(t, []int{12, 50}, 1) {
				t.Run(fmt.Sprint(split.Parties), func(t *testing.T) {
					measure(t, name, split, places, repeats)
				})
			}
		})
	}
}

// knownSplit splits a known data set: a pool of 2,000 rows, and at most 24,000 records for pool and
// parties.
func knownSplit(t *testing.T, name string) Split {
	t.Helper()
	known, err := public.LoadKnownDataset(name)
	if err != nil {
		t.Fatal(err)
	}
	load := func(part string) *dataset.Records {
		table, err := known.Load(os.DirFS(os.Getenv("CAUCUS_DATA")), part)
		if err != nil {
			t.Fatal(err)
		}
		records, _, err := known.Schema.EncodeLabelled(table)
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	split := Split{Schema: known.Schema.WithoutFormat(), Train: load("train").AsTable(),
		PoolFraction: .25,
		PoolRows:     2000, Seed: 1}
	if known.HasTest() {
		split.Test = load("test").AsTable()
	}
	if most := testlevel.N(t, 4000, 24_000); split.Train.Len() > most {
		split.Train = split.Train.Select(rand.New(rand.NewPCG(1,
			1)).Perm(split.Train.Len())[:most]).AsTable()
	}
	return split
}

func measure(t *testing.T, name string, split Split, places []study.Noise, repeats int) {
	scores := map[string][]float64{}
	for repeat := range repeats {
		d, err := split.Deal(repeat)
		if err != nil {
			t.Fatal(err)
		}
		d.KeepComputations = true
		for _, epsilon := range []float64{.1, .3, 1} {
			for _, noise := range places {
				of := study.Proposal{Name: "s", Unit: privacy.Record, Noise: noise,
					Epsilon: epsilon, Map: dataset.Components{Project: 40, Analysis: "pca"}}
				task, err := d.Task(of)
				if err != nil {
					t.Fatal(err)
				}
				run, err := d.Run(context.Background(), task, Options{SkipUnperturbed: true})
				if err != nil {
					t.Fatal(err)
				}
				score, err := d.Score(task, run.Release.Result)
				if err != nil {
					t.Fatal(err)
				}
				key := fmt.Sprint(epsilon, noise)
				scores[key] = append(scores[key], score)
			}
		}
	}
	for _, epsilon := range []float64{.1, .3, 1} {
		line := fmt.Sprintf("| %s | %d | %g |", name, split.Parties, epsilon)
		for _, noise := range places {
			mean, sd := stat.MeanStdDev(scores[fmt.Sprint(epsilon, noise)], nil)
			line += fmt.Sprintf(" %.3f ± %.3f |", mean, sd)
		}
		t.Log(line)
	}
}
