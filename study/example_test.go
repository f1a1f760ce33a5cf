package study_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/life"
)

// counting is a kind made for this example: it counts each class's records over all parties.
//
// Proof note.
//   - Neighbours: replace one record. Public: each party's number of records.
//   - Bound: one count may fall by one and another rise by one: privacy.CountBound.
//   - Numeric model: integers.
type counting struct{}

func (counting) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit, p.Mechanism, p.Noise = privacy.Record, "laplace", cmp.Or(p.Noise, study.NoiseSite)
	return nil
}
func (counting) Mechanisms() []string { return []string{"laplace"} }
func (counting) Shared() []string     { return nil }
func (counting) Terms() any           { return nil }
func (counting) Check(p study.Plan) error {
	if p.Unit != privacy.Record || p.Delta != 0 {
		return study.PlanError("unit", "counting hides a record by pure ε: set unit to record and delta to 0")
	}
	return nil
}
func (counting) Words(p study.Plan) study.Words {
	return study.Words{
		DataSent: "how many records it has of each class" + p.Noise.Trust().LeavingText, ExactDataReceived: "class counts",
		Trained: study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: study.LiesInNoise,
	}
}
func (c counting) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	a := study.NewTaskBase(c, p, pool)
	return countingTask{bodies.Task{TaskBase: a, Statistic: counts{p}}}, nil
}

type countingTask struct{ bodies.Task }

func (c countingTask) Work(records int) (study.Work, error) {
	return study.Work{OtherSteps: c.CommonWork(records)}, nil
}

// countingFinisher is the half of who releases.
type countingFinisher struct{ countingTask }

func (c countingFinisher) Finish(of study.Contributions, r []privacy.Published) (study.Result,
	error) {
	total, _, err := c.Total(of, r)
	if err != nil {
		return study.Result{}, err
	}
	return study.NewResult(total.Values, nil)
}

// counts is the statistic: the number of records of each class.
type counts struct{ study.Plan }

func (c counts) classes() int { return len(c.Schema.Classes()) }
func (c counts) Local(in study.Inputs) (vector []int64, weight int64) {
	vector = make([]int64, c.classes())
	for _, y := range in.Records.Y {
		vector[max(y, 0)]++ // a record without a label counts in the first class
	}
	return vector, int64(in.Records.Len())
}
func (c counts) AppendClear(v []int64, weight int64) ([]byte, error) {
	return bodies.AppendFixed(nil, append(v, weight)), nil
}
func (c counts) ParseClear(b []byte) ([]int64, int64, error) {
	v, err := bodies.ParseFixed(b, c.classes()+1)
	if err != nil {
		return nil, 0, err
	}
	return v[:c.classes()], v[c.classes()], nil
}
func (c counts) Cells() int                   { return c.classes() }
func (c counts) ReleasedCells() int           { return c.classes() }
func (c counts) Weights() (least, most int64) { return 0, 1 << 40 }
func (c counts) Terms(int64) (study.ReleaseTerms, error) {
	b := privacy.CountBound(privacy.Record, c.classes())
	m, err := privacy.CalibrateLaplace(b, c.Epsilon)
	return study.ReleaseTerms{Output: "counts", Bound: b, Mechanism: m}, err
}
func (c counts) Sensitive(v []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive, error) {
	return privacy.NewSensitive(v, t.Bound)
}
func (c counts) Noise(float64, int) (fitting.Noise, error) { return fitting.Noise{}, nil }

// A new kind runs through the real machine: each party charges its ledger and releases its counts;
// the coordinator adds them, seals the study and makes the release.
func Example() {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	schema, err := dataset.ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
`))
	must(err)
	table, err := dataset.NewTable([]string{"age"}, [][]string{{"20"}, {"80"}})
	must(err)
	pool, _, err := auxdata.New(schema, dataset.Identity(schema), table)
	must(err)
	p := study.Plan{
		Name: "how many are ill", Kind: "counting", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"north", "south"}, Minimum: 2, Records: 1000, Epsilon: 2,
	}
	kind := counting{}
	must(kind.Complete(&p, study.Proposal{}))
	must(p.CheckCommon())
	must(kind.Check(p))
	task, err := kind.New(p, pool)
	must(err)

	s := life.New(p, task.Hash())
	_, err = s.Step(life.StudyOpened{})
	must(err)
	sum, err := task.NewSum()
	must(err)
	for i, party := range p.Roster {
		records := &dataset.Records{Y: make([]int, 1000)}
		for j := range 200 + 200*i { // 200 are ill in the north, 400 in the south
			records.Y[j] = 1
		}
		c, err := task.Contribute(study.NewInputs(records, []byte("key")))
		must(err)
		// the party's ledger
		ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
		must(err)
		released, err := study.ReleaseRequests(ctx, ledger, s.Hash, c.Requests)
		must(err)
		body, err := c.Body(released)
		must(err)
		_, err = s.Step(life.ContributionReceived{Party: party, Plan: s.Hash,
			Body: sha256.Sum256(body)})
		must(err)
		must(sum.Add(body))
	}
	_, err = s.Step(life.SumDone{Contributions: len(s.Received)})
	must(err)
	// the coordinator's ledger, charged nothing
	ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	must(err)
	release, err := life.Conclude(ctx, s, countingFinisher{task.(countingTask)},
		study.Contributions{Sum: sum}, ledger)
	must(err)

	var counted []float64
	must(release.Result.DecodeBody(&counted))
	// The sum of two discrete Laplace noises of scale 1 reaches ±50 with probability below 1e-19.
	fmt.Printf("about %.0f well, %.0f ill\n", 100*math.Round(counted[0]/100),
		100*math.Round(counted[1]/100))
	fmt.Println(release.Parties, "parties, each", release.Unit, "hidden at epsilon",
		release.Costs[0].Cost.Pure.RatString())
	// Output:
	// about 1400 well, 600 ill
	// 2 parties, each record hidden at epsilon 2
}
