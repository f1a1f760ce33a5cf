package bodies_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/shares"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// answers counts the records of each of three classes. It is the least statistic that shows all
// that package bodies does with one.
type answers struct {
	plan   study.Plan
	matrix *shares.Matrix
	saw    *study.Hash // of the inputs
}

const most = 20 // records that a party may have

func (a answers) Local(in study.Inputs) (vector []int64, weight int64) {
	if a.saw != nil {
		*a.saw = in.Study
	}
	vector = make([]int64, 3)
	for _, y := range in.Records.Y {
		vector[y]++
	}
	return vector, int64(in.Records.Len())
}

func (answers) Additive(records int64) bool { return records > 0 }

func (answers) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendSums(vector, weight), nil
}

func (a answers) ParseClear(body []byte) ([]int64, int64, error) {
	return bodies.ParseSums("answers", body, a)
}

func (answers) Cells() int                    { return 3 }
func (answers) Weights() (least, most_ int64) { return 1, most }

func (a answers) ReleasedCells() int {
	if a.matrix != nil {
		return a.matrix.Width
	}
	return 3
}

func (a answers) Terms(int64) (study.ReleaseTerms, error) {
	b := privacy.Bound{Unit: privacy.Record, L1: 2, L2sq: 2, Cells: 2}
	if a.matrix != nil {
		b = privacy.Bound{Unit: privacy.Record, L1: 4, L2sq: 8, Cells: 2}
	}
	m, err := a.plan.CalibratePure(b, a.ReleasedCells())
	return study.ReleaseTerms{Output: "answers", Bound: b, Mechanism: m}, err
}

func (a answers) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}

func (answers) Form(weight int64) shares.VectorForm { return shares.CountForm(3, weight) }
func (a answers) Matrix() *shares.Matrix            { return a.matrix }

// silent is a kind that has no words.
type silent struct{ study.Kind }

func (silent) Words(study.Plan) study.Words { return study.Words{} }

// planWith is a plan of four sites at unit record.
func planWith(noise study.Noise, change func(*study.Plan)) study.Plan {
	p := study.Plan{Name: "asked", Kind: "answers", Form: study.FormCommitted,
		Roster: []study.PartyID{"a", "b", "c", "d"}, Unit: privacy.Record, Epsilon: 1,
		Mechanism: "laplace", Noise: noise, Minimum: 2}
	if change != nil {
		change(&p)
	}
	return p
}

// taskOf is a plan's task.
func taskOf(p study.Plan, matrix *shares.Matrix) bodies.Task {
	return bodies.Task{TaskBase: study.NewTaskBase(silent{}, p, nil),
		Statistic: answers{plan: p, matrix: matrix}}
}

// answered are records of these classes.
func answered(classes ...int) *dataset.Records { return &dataset.Records{Y: classes} }

// must returns x, or ends the test.
func must[T any](t testing.TB) func(x T, err error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// bodyOf is what a site sends: its ledger releases what the contribution asks for.
func bodyOf(t testing.TB, task bodies.Task, l *privacy.Ledger, records *dataset.Records,
	key string) []byte {
	t.Helper()
	c := must[study.Contribution](t)(task.Contribute(study.NewInputs(records, []byte(key))))
	released := must[[]privacy.Published](t)(study.ReleaseRequests(t.Context(), l, task.Hash(),
		c.Requests))
	return must[[]byte](t)(c.Body(released))
}

func ledger(t testing.TB) *privacy.Ledger {
	return must[*privacy.Ledger](t)(privacy.Open(privacy.NewMemoryJournal(), privacy.Config{}))
}

// sumOf adds bodies, half of them in a sum that is stored, read again and merged.
func sumOf(t testing.TB, task bodies.Task, all ...[]byte) study.Contributions {
	t.Helper()
	sum, half, read := must[study.Sum](t)(task.NewSum()), must[study.Sum](t)(task.NewSum()),
		must[study.Sum](t)(task.NewSum())
	for i, b := range all {
		to := []study.Sum{sum, half}[i%2]
		if err := errors.Join(to.Check(b), to.Add(b)); err != nil {
			t.Fatal(err)
		}
	}
	stored := must[[]byte](t)(half.MarshalBinary())
	if err := errors.Join(read.UnmarshalBinary(stored), sum.Merge(read)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, stored[:1], stored[:len(stored)-1], append(stored, 0)} {
		if read.UnmarshalBinary(bad) == nil {
			t.Errorf("a sum is read of %x", bad)
		}
	}
	if again := must[[]byte](t)(read.MarshalBinary()); !bytes.Equal(again, stored) {
		t.Errorf("after refusals the sum is %x, before them %x", again, stored)
	}
	return study.Contributions{Sum: sum, Contributions: len(all), Weight: sum.Weight()}
}

// TestClearSums: with noise at the coordinator, exact numbers add up to one request, and the total
// is what was released of it.
func TestClearSums(t *testing.T) {
	task := taskOf(planWith(study.NoiseCoordinator, nil), nil)
	none := ledger(t)
	a := bodyOf(t, task, none, answered(0, 0, 2), "a")
	b := bodyOf(t, task, none, answered(1, 2), "b")
	c := bodyOf(t, task, none, answered(2), "c")
	of := sumOf(t, task, a, b, c)
	if of.Weight != 6 || of.Sum.ReadersMaySee() || of.Sum.Contributions() != -1 {
		t.Errorf("the sum: %d records, public %t, of %d", of.Weight, of.Sum.ReadersMaySee(),
			of.Sum.Contributions())
	}
	exact := must[[]byte](t)(of.Sum.MarshalBinary())
	if want := []byte{2 * 6, 2 * 2, 2 * 1, 2 * 3}; !bytes.Equal(exact, want) {
		t.Errorf("the sum is %v, want %v as varints", exact, want)
	}
	requests := must[[]study.Request](t)(of.Sum.Requests(3))
	released := must[[]privacy.Published](t)(study.ReleaseRequests(t.Context(), none, task.Hash(),
		requests))
	total, _, err := task.Total(of, released)
	if err != nil || total.Draws != 1 || total.Weight != 6 || len(total.Values) != 3 ||
		total.Values[1] != float64(released[0].Values[1]) {
		t.Errorf("the total is %v, %v", total, err)
	}
	if charges := must[[]study.Charge](t)(task.Charges(6)); len(charges) != 1 ||
		charges[0].Cost.Pure.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("charges %v", charges)
	}
	if r := must[[]study.Reservation](t)(task.Reservations(6)); r != nil {
		t.Errorf("a site reserves %v, and releases nothing", r)
	}
	if len(a) > task.MaxBody() {
		t.Errorf("%d bytes, at most %d", len(a), task.MaxBody())
	}

	unlike := taskOf(planWith(study.NoiseSite, nil), nil)
	if err := of.Sum.Merge(must[study.Sum](t)(unlike.NewSum())); err == nil {
		t.Error("a sum with noise is merged into one without")
	}
	for name, wrong := range map[string]struct {
		of study.Contributions
		r  []privacy.Published
	}{
		"no release":                 {of, nil},
		"two releases":               {of, slices.Repeat(released, 2)},
		"a release of fewer numbers": {of, []privacy.Published{{Values: []int64{1, 2}}}},
		"a share":                    {of, []privacy.Published{{Residues: [][2]uint64{{1, 1}}}}},
		"more records than can be": {
			study.Contributions{Sum: of.Sum, Contributions: 3, Weight: 3*most + 1}, released},
		"fewer records than can be": {study.Contributions{Sum: of.Sum, Contributions: 7, Weight: 6}, released},
	} {
		if _, _, err := task.Total(wrong.of, wrong.r); err == nil {
			t.Errorf("%s: a total is made", name)
		}
	}
}

// TestBodiesInClear: bodies that are cut, too long or of a weight that no site has are refused, and
// a body of a plan without commitments is only its numbers.
func TestBodiesInClear(t *testing.T) {
	task := taskOf(planWith(study.NoiseCoordinator, nil), nil)
	before := taskOf(planWith(study.NoiseCoordinator, func(p *study.Plan) { p.Form = 0 }), nil)
	body := bodyOf(t, task, ledger(t), answered(0, 1, 1), "a")
	numbers := bodyOf(t, before, ledger(t), answered(0, 1, 1), "a")
	if !bytes.Equal(body[32:], numbers) || len(body) != 32+len(numbers) {
		t.Errorf("beyond the commitment the body is %x, want %x", body[32:], numbers)
	}
	sum := must[study.Sum](t)(task.NewSum())
	heavy := slices.Clone(body)
	heavy[32] = 2 * (most + 1)
	for _, bad := range [][]byte{nil, body[:1], body[:31], body[:32], numbers, body[1:],
		append(slices.Clone(body), 0), heavy} {
		if err := sum.Add(bad); !errors.Is(err, study.ErrContribution) {
			t.Errorf("a body of %d bytes: %v", len(bad), err)
		}
	}
	if sum.Weight() != 0 {
		t.Errorf("refused bodies weigh %d", sum.Weight())
	}
}

// TestCommitmentOfASite: the first 32 bytes follow from the site's key and the plan alone.
func TestCommitmentOfASite(t *testing.T) {
	task := taskOf(planWith(study.NoiseCoordinator, nil), nil)
	other := taskOf(planWith(study.NoiseCoordinator,
		func(p *study.Plan) { p.Name = "another" }), nil)
	head := func(task bodies.Task, key string, classes ...int) string {
		return string(bodyOf(t, task, ledger(t), answered(classes...), key)[:32])
	}
	a := head(task, "a", 0)
	if a != head(task, "a", 2, 2) {
		t.Error("the commitment tells of the records")
	}
	if a == head(task, "b", 0) || a == head(other, "a", 0) {
		t.Error("two sites, or two plans, have one commitment")
	}
	// Package keyed assigns records by HMAC(K, "study\0" ‖ plan): the coordinator must not get it.
	if a == string(assigns(task.Hash(), "a")) {
		t.Error("the coordinator gets the key by which the site assigns records")
	}
}

// TestReleasedSums: with noise at the sites, what sites released adds up, and the noise with it.
func TestReleasedSums(t *testing.T) {
	task := taskOf(planWith(study.NoiseSite, nil), nil)
	var all [][]byte
	var want [3]float64
	for i := range 3 {
		l := ledger(t)
		c := must[study.Contribution](t)(task.Contribute(study.NewInputs(answered(i, i),
			[]byte("key"))))
		r := must[[]privacy.Published](t)(study.ReleaseRequests(t.Context(), l, task.Hash(),
			c.Requests))
		for j, v := range r[0].Values {
			want[j] += float64(v)
		}
		all = append(all, must[[]byte](t)(c.Body(r)))
		if len(all[i]) != task.MaxBody() {
			t.Errorf("%d bytes: a body has %d, whatever is in it", len(all[i]), task.MaxBody())
		}
	}
	of := sumOf(t, task, all...)
	if !of.Sum.ReadersMaySee() || of.Sum.Contributions() != 3 || of.Weight != 6 {
		t.Errorf("the sum: %d records of %d", of.Weight, of.Sum.Contributions())
	}
	if requests := must[[]study.Request](t)(of.Sum.Requests(3)); requests != nil {
		t.Errorf("the coordinator adds noise too: %v", requests)
	}
	total, _, err := task.Total(of, nil)
	if err != nil || total.Draws != 3 || !slices.Equal(total.Values, want[:]) {
		t.Errorf("the total is %v, %v, want %v", total, err, want)
	}
	reserved := must[[]study.Reservation](t)(task.Reservations(2))
	if len(reserved) != 1 || reserved[0].Output != "answers" || reserved[0].Terms.Length != 3 {
		t.Errorf("a site reserves %v", reserved)
	}
	other := taskOf(planWith(study.NoiseSite, func(p *study.Plan) { p.Name = "another" }), nil)
	if err := of.Sum.Merge(must[study.Sum](t)(other.NewSum())); err == nil {
		t.Error("sums of two plans are merged")
	}
}

// TestPublications: a sum takes what a site's ledger released for the plan, on the plan's terms, at
// a weight that the plan allows, and nothing else.
func TestPublications(t *testing.T) {
	task := taskOf(planWith(study.NoiseSite, nil), nil)
	terms := must[study.ReleaseTerms](t)(task.Statistic.Terms(1))
	c := must[study.Contribution](t)(task.Contribute(study.NewInputs(answered(0, 1), []byte("a"))))
	sum := must[study.Sum](t)(task.NewSum())
	for name, change := range map[string]func(*study.ReleaseTerms){
		"the plan's":       func(*study.ReleaseTerms) {},
		"a smaller bound":  func(r *study.ReleaseTerms) { r.Bound.L2sq-- },
		"a bound on fewer": func(r *study.ReleaseTerms) { r.Bound.Cells-- },
		"a finer unit":     func(r *study.ReleaseTerms) { r.Bound.Unit = privacy.Label },
		"another output":   func(r *study.ReleaseTerms) { r.Output = "another" },
		"a bound with weights": func(r *study.ReleaseTerms) {
			r.Bound.Weight = []int64{1, 1, 1}
			r.Mechanism = privacy.DiscreteGaussian{Variance: big.NewRat(9, 1)}
		},
		"more noise": func(r *study.ReleaseTerms) {
			r.Mechanism = privacy.DiscreteLaplace{Scale: big.NewRat(99, 1)}
		},
	} {
		on, honest := terms, name == "the plan's"
		change(&on)
		s := must[privacy.Sensitive](t)(privacy.NewSensitive([]int64{1, 1, 0}, on.Bound))
		r := must[privacy.Published](t)(ledger(t).Release(t.Context(),
			study.ReleaseID(task.Hash(), on.Output), s, on.Mechanism))
		if _, err := c.Body([]privacy.Published{r}); (err == nil) != honest {
			t.Errorf("%s: a site sends it: %v", name, err)
		}
		writer := must[bodies.PartyReleases](t)(bodies.NewPartyReleases(task.Plan(), on))
		body := must[[]byte](t)(writer.Append(binary.BigEndian.AppendUint64(nil, 2), r))
		if err := sum.Check(body); (err == nil) != honest ||
			err != nil && !strings.Contains(err.Error(), "other terms") {
			t.Errorf("%s: a coordinator adds it: %v", name, err)
		}
		if !honest {
			continue
		}
		for what, change := range map[string]func([]byte) []byte{
			"simulated":                      func(b []byte) []byte { b[8]++; return b },
			"simulated by a literal sampler": func(b []byte) []byte { b[8] += 2; return b },
			"of another version":             func(b []byte) []byte { b[8]--; return b },
			"too heavy":                      func(b []byte) []byte { b[7] = most + 1; return b },
			"far too heavy":                  func(b []byte) []byte { b[0] = 0xff; return b },
			"of no records":                  func(b []byte) []byte { b[7] = 0; return b },
			"beyond all honest numbers":      func(b []byte) []byte { b[len(b)-8] = 0x70; return b },
			"cut":                            func(b []byte) []byte { return b[:len(b)-1] },
			"cut in its weight":              func(b []byte) []byte { return b[:7] },
		} {
			if err := sum.Add(change(slices.Clone(body))); !errors.Is(err, study.ErrContribution) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestSimulatedPublications: a simulated plan takes what a simulation drew, whole numbers or not.
func TestSimulatedPublications(t *testing.T) {
	task := taskOf(planWith(study.NoiseSite, func(p *study.Plan) { p.Simulated = true }), nil)
	of := sumOf(t, task, bodyOf(t, task, privacy.NewSimulation(1), answered(0, 1), "a"),
		bodyOf(t, task, privacy.NewSimulation(2), answered(2), "b"))
	if total, _, err := task.Total(of, nil); err != nil || total.Draws != 2 {
		t.Errorf("the total is %v, %v", total, err)
	}
	terms := must[study.ReleaseTerms](t)(task.Statistic.Terms(1))
	codec := must[bodies.PartyReleases](t)(bodies.NewPartyReleases(task.Plan(), terms))
	for _, x := range []float64{1.5, math.Inf(1), math.NaN()} {
		b := must[[]byte](t)(codec.Append(nil, privacy.Published{Simulated: true,
			Reals: []float64{x, 0, -.25}}))
		r, err := codec.Published(b, 3)
		if finite := x == 1.5; (err == nil) != finite || finite && r.Reals[0] != x {
			t.Errorf("%g is read as %v, %v", x, r.Reals, err)
		}
	}
	real := taskOf(planWith(study.NoiseSite, nil), nil)
	c := must[study.Contribution](t)(real.Contribute(study.NewInputs(answered(0), []byte("a"))))
	drawn := must[[]privacy.Published](t)(study.ReleaseRequests(t.Context(),
		privacy.NewSimulation(1),
		real.Hash(), c.Requests))
	if body, err := c.Body(drawn); err == nil &&
		must[study.Sum](t)(real.NewSum()).Check(body) == nil {
		t.Error("a real plan takes what a simulation drew")
	}
}

// TestShares: with noise at two servers nothing leaves in clear, each server releases its own share
// of the sum, multiplied by the public matrix where there is one, and the releases add up.
func TestShares(t *testing.T) {
	rows := [][]int64{{1, 0}, {2, -1}, {-3, 1}}
	matrix := &shares.Matrix{Rows: 3, Width: 2, Columns: 1,
		Row: func(i int) []int64 { return rows[i] }}
	for name, a := range map[string]*shares.Matrix{"the sum": nil, "its image": matrix} {
		task := taskOf(planWith(study.NoiseAggregators, func(p *study.Plan) { p.Epsilon = 16 }), a)
		q := task.Statistic.(bodies.Provable)
		in := study.NewInputs(answered(0, 0, 0, 0, 1, 1, 2), []byte("a"))
		if _, err := task.Contribute(in); err == nil {
			t.Errorf("%s: it leaves in clear", name)
		}
		weight, parts, err := task.Split(in, "a", rand.Reader)
		if err != nil || weight != 7 {
			t.Fatal(weight, err)
		}
		if n := len(parts[0]) + len(parts[1]); n > task.MaxBody() {
			t.Errorf("%s: parts of %d bytes, at most %d", name, n, task.MaxBody())
		}
		form := must[shares.VectorForm](t)(bodies.FormOf(q, weight, task.Plan().MostParties()))
		context := shares.NewProofContext(task.Hash(), "a")
		key := shares.Key{1}
		var at [2]*shares.Preparation
		for r := range at {
			at[r] = must[*shares.Preparation](t)(form.Prepare(key, context, shares.Role(r),
				parts[r]))
		}
		var released []privacy.Published
		ids := map[string]bool{}
		for r := range at {
			share := must[shares.SecretShare](t)(at[r].Finish(at[1-r].Message()))
			request := must[study.Request](t)(bodies.ShareRequest(task.Statistic, shares.Role(r),
				share, weight))
			p := must[[]privacy.Published](t)(study.ReleaseRequests(t.Context(), ledger(t),
				task.Hash(),
				[]study.Request{request}))
			released = append(released, p...)
			terms := must[study.ReleaseTerms](t)(task.Statistic.Terms(weight))
			if id := bodies.ShareID(task.Hash(), terms, shares.Role(r)); id != p[0].ID || ids[id] {
				t.Errorf("%s: %v's ledger knows it as %s, want %s", name, shares.Role(r), p[0].ID,
					id)
			}
			ids[p[0].ID] = true
		}
		of := study.Contributions{Contributions: 1, Weight: weight}
		total, _, err := task.Total(of, released)
		if err != nil || total.Draws != 2 {
			t.Fatalf("%s: %v, %v", name, total, err)
		}
		want := []float64{4, 2, 1}
		if a != nil {
			want = []float64{4 + 2*2 - 3, -2 + 1}
		}
		// Laplace noise of scale L1/ε ≤ 1/4 at each server. A number is off by 16 with a
		// probability of about e⁻⁶⁰.
		for j, v := range total.Values {
			if math.Abs(v-want[j]) > 16 {
				t.Errorf("%s: number %d is %g, want %g and noise", name, j, v, want[j])
			}
		}
		for what, wrong := range map[string][]privacy.Published{"one share": released[:1],
			"three":                     append(slices.Clone(released), released[0]),
			"one in clear":              {released[0], {Values: []int64{1, 2, 3}}},
			"one with too many numbers": {released[0], {Residues: make([][2]uint64, 4)}},
		} {
			if _, _, err := task.Total(of, wrong); err == nil {
				t.Errorf("%s, %s: a total is made", name, what)
			}
		}
		if few, many := task.SplitSteps(1), task.SplitSteps(most); few <= 0 || many < few ||
			many != task.SplitSteps(10*most) {
			t.Errorf("%s: a split takes %g steps of one record, %g of all", name, few, many)
		}
	}
	vast := &shares.Matrix{Rows: 3, Width: 1, Columns: 1,
		Row: func(int) []int64 { return []int64{1 << 62} }}
	if _, err := bodies.FormOf(answers{matrix: vast}, 1<<60, 16); err == nil {
		t.Error("a matrix by which sums wrap is taken")
	}
}

// unproven is a statistic of which shares have no proof.
type unproven struct{ bodies.Statistic }

// TestNothingProved: what has no proof is not split, and its shares have no size and no work.
func TestNothingProved(t *testing.T) {
	p := planWith(study.NoiseAggregators, nil)
	task := bodies.Task{TaskBase: study.NewTaskBase(silent{}, p, nil),
		Statistic: unproven{answers{plan: p}}}
	if _, _, err := task.Split(study.NewInputs(answered(0), []byte("a")), "a",
		rand.Reader); err == nil {
		t.Error("it is split")
	}
	if task.SplitSteps(3) != 0 || task.MaxBody() != 4096 {
		t.Errorf("%g steps, %d bytes", task.SplitSteps(3), task.MaxBody())
	}
}

// worked is a kind's task, as Of finds it.
type worked struct{ bodies.Task }

func (worked) Work(int) (study.Work, error) { return study.Work{}, nil }

// TestBlocks: a statistic that adds up over records is computed in blocks, each under the plan's
// hash, from which keys follow.
func TestBlocks(t *testing.T) {
	task := taskOf(planWith(study.NoiseCoordinator, nil), nil)
	var saw study.Hash
	task.Statistic = answers{plan: task.Plan(), saw: &saw}
	if !task.Blockwise(5) || task.Blockwise(0) {
		t.Error("Blockwise is not what the statistic says")
	}
	whole, n := task.Local(study.NewInputs(answered(0, 1, 1, 2, 2, 2), []byte("a")))
	if saw != task.Hash() {
		t.Errorf("the inputs are of study %s, want %s", saw, task.Hash())
	}
	in := study.NewInputs(nil, []byte("a"))
	in.Blocks = slices.Values([]*dataset.Records{answered(0, 1), answered(1, 2, 2), answered(2)})
	saw = study.Hash{}
	parts, m := task.Local(in)
	if !slices.Equal(whole, parts) || n != m || n != 6 || saw != task.Hash() {
		t.Errorf("in blocks %v of %d, at once %v of %d", parts, m, whole, n)
	}
	if of, ok := bodies.Of(worked{task}); !ok || of.Hash() != task.Hash() {
		t.Error("the task that a kind embeds is not found")
	}
	if _, ok := bodies.Of(study.Task(nil)); ok {
		t.Error("a task is found in none")
	}
}

// asValues is a Finisher whose result is the total's numbers.
type asValues struct{ study.Finisher }

func (asValues) FinishTotal(total bodies.Total, rng *mrand.Rand) (study.Result, error) {
	return study.Result{Body: fmt.Append(nil, total.Values, total.Weight, rng.Uint64())}, nil
}

// TestFinishBy: a result is made of the total, and of the public seed, so that all readers make the
// same.
func TestFinishBy(t *testing.T) {
	task := taskOf(planWith(study.NoiseCoordinator, nil), nil)
	sum := bodies.NewClearSum(task.Statistic)
	for _, b := range [][]int64{{4, 0, 1}, {1, 1, 1}} {
		if err := sum.Add(bodies.AppendSums(b, b[0]+b[1]+b[2])); err != nil {
			t.Fatal(err)
		}
	}
	of := study.Contributions{Sum: sum, Contributions: 2, Weight: sum.Weight()}
	r := []privacy.Published{{Values: []int64{5, 1, 2}}}
	one := must[study.Result](t)(task.FinishBy(asValues{}, of, r))
	two := must[study.Result](t)(task.FinishBy(asValues{}, of, r))
	if !bytes.Equal(one.Body, two.Body) || !strings.HasPrefix(string(one.Body), "[5 1 2] 8") {
		t.Errorf("made twice: %s, %s", one.Body, two.Body)
	}
	if exact := must[study.Result](t)(task.Unperturbed(sum, asValues{})); !bytes.Equal(exact.Body,
		one.Body) {
		t.Errorf("without noise %s, of the same numbers %s", exact.Body, one.Body)
	}
	if _, err := task.FinishBy(asValues{}, of, nil); err == nil {
		t.Error("a result is made of no release")
	}
}

// TestFeatures: features leave as two bytes each, clamped and rounded to 2⁻¹⁵.
func TestFeatures(t *testing.T) {
	x := mat.NewDense(2, 2, []float64{-1, .5, 1, 1e-9})
	b := bodies.AppendFeatures([]byte{7}, x)
	if len(b) != 1+8 {
		t.Fatalf("%d bytes", len(b))
	}
	got := bodies.ParseFeatures(b[1:], 2, 2)
	if want := mat.NewDense(2, 2, []float64{-1, .5, 1 - 1./bodies.FeatureScale, 0}); !mat.Equal(got,
		want) {
		t.Errorf("read %v, want %v", mat.Formatted(got), mat.Formatted(want))
	}
}

// TestSolved: a ridge that might be solved for days is refused.
func TestSolved(t *testing.T) {
	for lambda, fine := range map[float64]bool{0: true, 1e-6: false, bodies.MinSolvedRidge: true,
		1: true} {
		if err := bodies.CheckSolvedRidge(study.Plan{Lambda: lambda}); (err == nil) != fine ||
			err != nil && !errors.Is(err, study.ErrPlan) {
			t.Errorf("λ = %g: %v", lambda, err)
		}
	}
}

// assigns is the key by which a site assigns records under a plan: package keyed makes it.
func assigns(plan study.Hash, siteKey string) []byte {
	mac := hmac.New(sha256.New, []byte(siteKey))
	mac.Write(append([]byte("study\x00"), plan[:]...))
	return mac.Sum(nil)
}
