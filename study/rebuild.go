package study

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"caucus/aggregation"
	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/privacy"
)

// rebuilt is the release that plan, pool, roster and published numbers give, with
// what is the coordinator's word alone taken from r, and nothing else: who of the
// roster contributed, how many records a sum is over, the lines of its ledger, the
// program's version, and numbers that were fitted to features which readers do not
// get (see restater). A field that is filled in neither here nor in Conclude is
// empty, so a release that has anything in it is another one.
func (r Release) rebuilt(p Plan, pool *auxdata.Pool, published []privacy.Published) (Release, error) {
	fail := func(err error) (Release, error) { return Release{}, err }
	want := Release{Manifest: claim(p, r.PlanHash, pool)}
	var err error
	if want.Plan, err = p.Canonical(); err != nil {
		return fail(err)
	}
	want.Software = r.Software
	want.Contributed, want.Missing = partition(p.Roster, r.Contributed)
	want.Parties = len(want.Contributed)

	kind, err := KindNamed(p.Kind)
	if err != nil {
		return fail(err)
	}
	sum, err := kind.NewSum(p, pool)
	if err != nil {
		return fail(err)
	}
	_, clear := sum.(*clearSum)
	withheld := !clear && !sum.Public()
	switch s := sum.(type) {
	case *clearSum:
		s.weight = r.Weight
		if err := plausible(s.q, p, r.Weight, want.Parties); err != nil {
			return fail(err)
		}
	default:
		if withheld {
			break
		}
		if want.Sum, err = canonicalSum(sum, r.Sum); err != nil {
			return fail(err)
		}
		if n := contributionsOf(sum); n != want.Parties {
			return fail(fmt.Errorf("the sum is of %d contributions, the manifest says M = %d", n, want.Parties))
		}
		if s, ok := sum.(*releasedSum); ok {
			if err := plausible(s.q, p, s.weight, want.Parties); err != nil {
				return fail(err)
			}
		}
	}
	if want.Weight = weightOf(sum); want.Weight != r.Weight {
		return fail(fmt.Errorf("the sum is over %d ballots or records, the manifest says %d", want.Weight, r.Weight))
	}
	if want.Costs, err = costsOf(p, pool, want.Weight); err != nil {
		return fail(err)
	}
	for _, x := range published {
		b, err := x.MarshalBinary()
		if err != nil {
			return fail(err)
		}
		want.Published = append(want.Published, b)
	}
	want.Ledger = r.Ledger[:len(published):len(published)] // held against what was published already
	if want.Forecast, err = ForecastOf(p, pool, p.Size(want.Parties)); err != nil {
		want.Forecast = nil // this mechanism has none
	}
	if withheld {
		want.Result, err = restated(kind, p, pool, want.Parties, r.Result)
	} else {
		want.Result, err = kind.Finish(p, pool, want.Parties, sum, published)
	}
	if err != nil {
		return fail(err)
	}
	want.Result.Warnings = append(want.Result.Warnings, concludingWarnings(p, pool, want.Missing)...)
	if w := want.Result.Weights; w != nil {
		// The digest names the weights as the release writes them. Made again they
		// may differ in their last bits, and would have another one.
		if w.WeightedPool, err = weightedDigest(pool, r.Result.Weights); err != nil {
			return fail(err)
		}
	}
	return want, nil
}

// partition divides a roster, sorted, into those who are said to have contributed
// and the others.
func partition(roster, said []PartyID) (contributed, missing []PartyID) {
	for _, party := range slices.Sorted(slices.Values(roster)) {
		if slices.Contains(said, party) {
			contributed = append(contributed, party)
		} else {
			missing = append(missing, party)
		}
	}
	return contributed, missing
}

// plausible refuses a weight that so many contributions cannot have.
func plausible(q question, p Plan, weight int64, parties int) error {
	switch q.(type) {
	case *votes, *output:
		if want := int64(parties) * int64(p.Shards); weight != want {
			return fmt.Errorf("the sum is over %d ballots, but M = %d parties of %d ballots each cast %d", weight, parties, p.Shards, want)
		}
	case *means:
		if weight != int64(parties) {
			return fmt.Errorf("the sum is over %d directions, but M = %d parties have one each", weight, parties)
		}
	}
	if most := int64(parties) * q.maxWeight(); weight < 0 || weight > most {
		return fmt.Errorf("the sum is over %d records, %d parties can declare at most %d", weight, parties, most)
	}
	return nil
}

// canonicalSum reads a public sum and writes it again: bytes that say the same in
// another way could hold something else besides.
func canonicalSum(sum Sum, b []byte) ([]byte, error) {
	if err := sum.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	if s, ok := sum.(*ratioSum); ok {
		for _, body := range s.bodies {
			if err := s.Check(body.bytes); err != nil {
				return nil, err
			}
		}
	}
	again, err := sum.MarshalBinary()
	if err == nil && !bytes.Equal(again, b) {
		err = fmt.Errorf("the sum is not written in the canonical way")
	}
	return again, err
}

// weightedDigest is the digest of a pool under a release's own weights.
func weightedDigest(pool *auxdata.Pool, said *Weights) (auxdata.Digest, error) {
	if said == nil {
		return auxdata.Digest{}, fmt.Errorf("the release holds no weights")
	}
	weighted, err := pool.Weighted(said.Weight)
	if err != nil {
		return auxdata.Digest{}, err
	}
	return weighted.Digest, nil
}

// restater is a kind whose result is fitted to features in clear, which are for
// the coordinator alone. Readers cannot make it again.
type restater interface {
	// restate makes of a claimed result all that does not take the features: its
	// form, what plan and pool say, and what follows from the fitted numbers. Those
	// it takes from the claim, each at the place and in the shape that it must have,
	// so that nothing else fits in. unseen are those places, for people.
	restate(p Plan, pool *auxdata.Pool, parties int, claimed Result) (Result, error)
	unseen() string
}

func restated(kind Kind, p Plan, pool *auxdata.Pool, parties int, claimed Result) (Result, error) {
	k, ok := kind.(restater)
	if !ok {
		return Result{}, fmt.Errorf("kind %q does not say what its results look like", p.Kind)
	}
	return k.restate(p, pool, parties, claimed)
}

// errForm: a fitted result is not of the form that the plan gives it.
var errForm = errors.New("its fitted numbers are not of the form that the plan gives them")

func (labels) unseen() string {
	return "the classifier's weights, its ridge and the search for it, the number of records, and the classes' shares before projection"
}

func (labels) restate(p Plan, _ *auxdata.Pool, parties int, claimed Result) (Result, error) {
	c, l := claimed.Classifier, claimed.Labels
	classes := len(p.Schema.Label.Classes)
	if c == nil || l == nil || len(c.Weights) != p.Map.Dim() || len(l.Shares.Share) != classes ||
		l.Records < 1 || l.Records > parties*p.Labels.MaxRecords {
		return Result{}, errForm
	}
	model, err := c.Linear()
	if err != nil || len(c.Classes) != classes {
		return Result{}, errForm
	}
	response, err := labelResponse(p)
	if err != nil {
		return Result{}, err
	}
	o, err := labelOptions(p, response)
	if err != nil {
		return Result{}, err
	}
	lambda, path := p.Lambda, []aggregation.LabelPoint(nil)
	if lambda == 0 {
		ridges := aggregation.LabelRidges()
		if len(l.Path) > len(ridges) {
			return Result{}, errForm
		}
		lambda = ridges[0] // of too few records for a search
		for i, point := range l.Path {
			point.Lambda = ridges[i]
			path = append(path, point)
			if point.Lambda == c.Lambda {
				lambda = c.Lambda
			}
		}
	}
	r := classifierResult(p, aggregation.Fit{Model: model, Lambda: lambda})
	r.Labels = &LabelResult{
		Records: l.Records, Keep: o.Channel.Keep, Loss: p.Labels.Loss, Risk: p.Labels.Risk, Correction: p.Labels.Correction,
		Shares: aggregation.LabelSharesOf(l.Shares.Share, float64(l.Records), o.Channel), Path: path,
	}
	r.Warnings = append(r.Warnings, labelWarnings(p, o, r.Labels, lambda)...)
	return r, nil
}

func (ratioKind) unseen() string {
	return "the model, the width of its kernel where the plan leaves it open, or why there is none; and where there is none, the sets"
}

func (ratioKind) restate(p Plan, pool *auxdata.Pool, parties int, claimed Result) (Result, error) {
	c := claimed.Ratio
	if c == nil || (c.Model == nil) == (c.Refusal == nil) {
		return Result{}, errForm
	}
	d, err := ratioTerms(p)
	if err != nil {
		return Result{}, err
	}
	out := &RatioResult{Gamma: p.Ratio.Gamma, Sets: []RatioSetResult{}, Model: c.Model, Refusal: c.Refusal}
	if p.Ratio.Gamma == 0 {
		if err := out.width(pool, c); err != nil {
			return Result{}, err
		}
	}
	result := Result{Ratio: out}
	if c.Model == nil {
		out.Sets = c.Sets
		for _, s := range c.Sets {
			if s.Records < 2 || len(s.Shares) != d.classes || len(s.SD) > d.classes {
				return Result{}, errForm
			}
		}
	} else {
		d.fourier.Gamma = c.Gamma // held against out.Gamma with all else
		if o := c.Model.Options(); o.Fourier == nil || *o.Fourier != d.fourier || o.Estimator != p.Ratio.Estimator || c.Model.Classes() != d.classes {
			return Result{}, errForm
		}
		for _, set := range c.Model.Sets() {
			out.Sets = append(out.Sets, setResult(set))
		}
	}
	small := parties*p.Ratio.sets(d.classes) - len(out.Sets)
	if small < 0 {
		return Result{}, errForm
	}
	result.Warnings = out.conclude(small)
	texts := slices.Clone(result.Warnings)
	if c.Refusal != nil {
		texts = append(texts, string(c.Refusal.Reason), c.Refusal.Advice)
	}
	for _, text := range texts {
		if CheckText(text) != nil {
			return Result{}, errForm
		}
	}
	return result, nil
}

// width takes a claimed search for the kernel's width, and the width, which is one
// of those tried, or the public scale's where no set can be held out.
func (r *RatioResult) width(pool *auxdata.Pool, claimed *RatioResult) error {
	scale, err := RatioScale(pool)
	if err != nil {
		return err
	}
	tried := ratio.Widths(scale)
	if len(claimed.Widths) == 0 {
		r.Gamma = 1 / scale
		return nil
	}
	if len(claimed.Widths) != len(tried) {
		return errForm
	}
	for i, point := range claimed.Widths {
		if point.Gamma == claimed.Gamma {
			r.Gamma = tried[i]
		}
		point.Gamma = tried[i]
		r.Widths = append(r.Widths, point)
	}
	return nil
}

// withheld says whether a plan's contributions hold features that readers do not
// get.
func (r Release) withheld(p Plan, pool *auxdata.Pool) bool {
	sum, err := kinds[p.Kind].NewSum(p, pool)
	if err != nil {
		return true
	}
	_, clear := sum.(*clearSum)
	return !clear && !sum.Public()
}
