package verify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/verify/evidence"
)

// AboutSimulated is the subject of the finding that a release is simulated, which always fails.
const AboutSimulated = "simulated"

type findings []evidence.Finding

func (f *findings) add(v evidence.Verdict, about, format string, args ...any) {
	*f = append(*f, evidence.Finding{Subject: about, Verdict: v,
		Text: fmt.Sprintf(format, args...)})
}

func (f *findings) claims(about string, ok bool, format string, args ...any) bool {
	if !ok {
		f.add(evidence.Fails, about, format, args...)
	}
	return ok
}

// CheckClaims recomputes every claim of a release from plan and pool: the plan's hash; the terms,
// bound, noise and cost of each publication; the totals; the parties that count; and the ledger's
// lines. Then it makes the whole release from these and the published numbers, and compares all
// fields, so that nothing is left unchecked. pool is the public pool under the plan's schema and
// map. CheckClaims checks no signature (protocol.SignedRelease does), reads no clock and draws no
// random numbers.
func CheckClaims(r study.Release, pool *auxdata.Pool) []evidence.Finding {
	var f findings
	if err := r.CheckForm(); err != nil {
		f.add(evidence.Fails, "manifest", "%v", err)
		return f
	}
	p, err := kinds.PlanOf(r)
	if err != nil {
		f.add(evidence.Fails, "plan", "%v", err)
		return f
	}
	f.add(evidence.Holds, "plan", "its bytes have the hash %s, and the program has a proof of what it promises", r.PlanHash)
	if r.Simulated || p.Simulated {
		f.add(evidence.Fails, AboutSimulated, "this release is simulated: anyone can repeat its noise, and it protects nobody. It is for trying out")
	}
	f.terms(r, p)
	f.roster(r, p)
	if !f.claims("pool", pool.Digest == p.Pool, "the pool given has digest %s, the plan is about pool %s: it is another pool, or its rows or their order were changed", pool.Digest, p.Pool) {
		return f
	}
	f.add(evidence.Holds, "pool", "its %d rows have the digest that the plan names", pool.Rows())
	t, err := results.NewTask(p, pool)
	if err != nil {
		f.add(evidence.Fails, "bound", "plan and pool give none: %v", err)
		return f
	}
	f.body(r)
	f.bound(r, t)
	published := f.published(r, p)
	f.totals(r, study.Claim(t).Totals)
	if !r.Simulated && !p.Simulated && !evidence.AnyFails(f) {
		f.whole(r, t, published)
	}
	f.words(r, p)
	return f
}

func (f *findings) terms(r study.Release, p study.Plan) {
	start := len(*f)
	same := func(about string, ok bool, said, planned any) {
		f.claims(about, ok, "the manifest says %v, the plan it names says %v", said, planned)
	}
	same("kind", r.Kind == p.Kind, r.Kind, p.Kind)
	same("mechanism", r.Mechanism == p.Mechanism, r.Mechanism, p.Mechanism)
	same("where", r.Where == p.Where, r.Where, p.Where)
	same("unit", r.Unit == p.Unit, r.Unit, p.Unit)
	same("epsilon", r.Epsilon == p.Epsilon, r.Epsilon, p.Epsilon)
	same("delta", r.Delta == p.Delta, r.Delta, p.Delta)
	same("noise", r.Noise == p.Noise, r.Noise, p.Noise)
	same("pool", r.Pool == p.Pool, r.Pool, p.Pool)
	var weights *study.Hash
	if p.Weights != nil {
		weights = &p.Weights.Plan
	}
	f.claims("pool", reflect.DeepEqual(r.WeightsPlan, weights), "the manifest and the plan name different studies as the source of the pool's weights")
	f.claims("neighbours", r.Neighbours == kinds.Explain(p).Neighbours, "the manifest describes other neighbours than unit %s of this plan has: %q", p.Unit, r.Neighbours)
	if want := study.NotProtected(p, kinds.Explain(p)); !slices.Equal(r.NotProtected, want) {
		why := "the manifest's list of what is not protected is not the plan's"
		for _, w := range want {
			if !slices.Contains(r.NotProtected, w) {
				why += fmt.Sprintf("; it leaves out %q", w)
				break
			}
		}
		f.add(evidence.Fails, "not protected", "%s", why)
	}
	f.claims(AboutSimulated, r.Simulated == p.Simulated, "the manifest says simulated: %t, the plan says %t", r.Simulated, p.Simulated)
	if len(*f) == start {
		f.add(evidence.Holds, "terms", "kind, mechanism, unit, ε, δ, neighbours, where noise is added and what is not protected are the plan's")
	}
}

// body checks that the kind's result is canonically encoded, so that no other data can hide there.
func (f *findings) body(r study.Release) {
	kind, err := results.FindResults(r.Kind)
	if err == nil {
		err = r.Result.DecodeBody(kind.Body())
	}
	f.claims("result", err == nil, "%v", err)
}

func (f *findings) roster(r study.Release, p study.Plan) {
	roster := map[study.PartyID]int{}
	for _, party := range p.Roster {
		roster[party] = 1
	}
	start := len(*f)
	for _, party := range slices.Concat(r.Contributed, r.Missing) {
		f.claims("roster", roster[party] == 1, "%s is named twice, or is not on the plan's roster", party)
		roster[party]--
	}
	var hidden []string
	for _, party := range p.Roster {
		if roster[party] == 1 {
			hidden = append(hidden, string(party))
		}
	}
	f.claims("roster", len(hidden) == 0, "on the plan's roster, but neither among those that contributed nor among the missing: %s", strings.Join(hidden, ", "))
	f.claims("parties", r.Parties == len(r.Contributed), "the manifest says M = %d, but names %d parties that contributed", r.Parties, len(r.Contributed))
	least := p.Minimum
	if chain, err := evidence.ChainOf(r, p); err == nil { // an invalid chain is reported elsewhere
		least = chain.Ending().Minimum
	}
	f.claims("parties", r.Parties >= least, "%d parties contributed, the plan demands %d",
		r.Parties, least)
	if len(*f) == start {
		f.add(evidence.Holds, "roster", "%d of the plan's %d parties contributed and %d were missing; none is named twice or left out", r.Parties, len(p.Roster), len(r.Missing))
	}
}

func (f *findings) bound(r study.Release, t study.Task) {
	p := t.Plan()
	start := len(*f)
	want := study.Claim(t)
	f.claims("bound", r.Inputs == want.Inputs, "its public inputs are said to be %+v, plan and pool give %+v", r.Inputs, want.Inputs)
	costs, err := study.CostsOf(t, r.Weight)
	if err != nil && p.Simulated && errors.Is(err, privacy.ErrSimulationOnly) {
		f.add(evidence.Unchecked, "noise", "mechanism %s has no proof, so there is no bound to recompute", p.Mechanism)
		return
	}
	if err != nil {
		f.add(evidence.Fails, "bound", "plan and pool give none: %v", err)
		return
	}
	if !f.claims("costs", len(costs) == len(r.Costs), "the manifest lists %d publications, the plan makes %d", len(r.Costs), len(costs)) {
		return
	}
	for i, w := range costs {
		f.cost(r.Costs[i], w)
	}
	if !p.Simulated {
		err := study.CheckTerms(t)
		f.claims("terms", err == nil, "%v", err)
	}
	for _, c := range costs {
		f.budget(c, p)
	}
	if len(*f) > start {
		return
	}
	for _, c := range costs {
		f.add(evidence.Holds, "bound", "%s", boundWords(c, r.Inputs))
		f.add(evidence.Holds, "noise", "%s: %s %s, recomputed from plan and pool; it costs a %s %s", c.Output, c.Mechanism, parameterWords(c.Parameters), p.Unit, costWords(c, p))
	}
}

// budgetRounding allows for rounding where a budget is converted.
const budgetRounding = 1 + 1e-9

func (f *findings) budget(c study.ReleaseCost, p study.Plan) {
	if c.Cost.Pure != nil {
		e, _ := c.Cost.Pure.Float64()
		f.claims("epsilon", e <= p.Epsilon*budgetRounding, "%s: its noise proves ε = %g, the plan's budget is %g", c.Output, e, p.Epsilon)
	} else if c.Cost.Rho != nil && c.Mechanism == (privacy.DiscreteGaussian{}).Name() {
		e := privacy.EpsilonOf(c.Rho, p.Delta)
		f.claims("epsilon", e <= p.Epsilon*budgetRounding, "%s: its noise proves ε = %g at δ = %g, the plan's budget is %g", c.Output, e, p.Delta, p.Epsilon)
	}
}

func (f *findings) cost(got, want study.ReleaseCost) {
	f.claims("noise", got.Output == want.Output && got.Mechanism == want.Mechanism, "the manifest says that %s was released by %s, plan and pool give %s by %s", got.Output, got.Mechanism, want.Output, want.Mechanism)
	f.claims("noise", maps.Equal(got.Parameters, want.Parameters),
		"%s: the manifest says %s, plan and pool give %s", got.Output,
		parameterWords(got.Parameters), parameterWords(want.Parameters))
	f.claims("bound", got.Bound.Equal(want.Bound),
		"%s: the manifest says %s, plan and pool give %s", got.Output, boundOf(got.Bound),
		boundOf(want.Bound))
	f.claims("bound", reflect.DeepEqual(got.Weights, want.Weights), "%s: its noise is not spread over the numbers as the pool says", got.Output)
	f.claims("cost", got.Cost.Equal(want.Cost) && got.Rho == want.Rho, "%s: the manifest says %s, the noise and bound cost %s", got.Output, got.Cost, want.Cost)
	f.claims("epsilon", got.Epsilon == want.Epsilon && got.Delta == want.Delta, "%s: the manifest's costs say ε = %g, δ = %g, the plan's budget for it is ε = %g, δ = %g", got.Output, got.Epsilon, got.Delta, want.Epsilon, want.Delta)
}

func (f *findings) published(r study.Release, p study.Plan) []privacy.Published {
	if r.Simulated || p.Simulated {
		f.claims("published", r.Aggregated == nil && len(r.Published) == 0 && len(r.Sum) == 0 && len(r.Ledger) == 0, "a simulated release carries a ledger's publications: it was put together from two")
		return nil
	}
	if p.Noise.AddedAtSite() {
		f.claims("ledger", len(r.Published) == 0 && len(r.Ledger) == 0 && r.Aggregated == nil, "each party released its own part, but the release names entries of a ledger of the coordinator")
		return nil
	}
	if p.Noise.Shared() {
		return f.shared(r, p)
	}
	f.claims("servers", r.Aggregated == nil, "it says what two servers signed, of a study that one server or each site released")
	if !f.claims("published", len(r.Published) == len(r.Costs) && len(r.Ledger) == len(r.Costs), "of %d publications the release holds %d, with %d lines of the coordinator's ledger: what was published cannot be checked", len(r.Costs), len(r.Published), len(r.Ledger)) {
		return nil
	}
	start := len(*f)
	var out []privacy.Published
	for i, b := range r.Published {
		x, err := privacy.ParsePublished(b)
		if err != nil {
			f.add(evidence.Fails, "published", "publication %d: %v", i+1, err)
			continue
		}
		want := r.Costs[i]
		f.claims("published", x.ID == study.ReleaseID(r.PlanHash, want.Output),
			"publication %d is of another study or output", i+1)
		f.cost(study.CostOf(want.Output, x.Mechanism, x.Parameters, x.Bound, x.Cost, p), want)
		line := r.Ledger[i]
		if err := line.Check(); err != nil {
			f.add(evidence.Fails, "ledger", "line %d: %v", line.Sequence, err)
		} else if err := line.CheckResult(x); err != nil {
			f.add(evidence.Fails, "ledger", "%v", err)
		}
		out = append(out, x)
	}
	if len(*f) > start {
		return nil
	}
	for i, l := range r.Ledger {
		f.add(evidence.Holds, "published", "%s: %d noisy integers, whose cost is what their noise proves under their bound", r.Costs[i].Output, out[i].Len())
		f.add(evidence.Holds, "ledger", "the coordinator's ledger charged them in entry %d, whose hash covers them, their cost and the coordinator's totals: %s", l.Sequence, l.Hash)
	}
	return out
}

func (f *findings) totals(r study.Release, want []study.UnitTotal) {
	if !f.claims("totals", len(r.Totals) == len(want), "the manifest has totals for %d units, the plan gives them for %d", len(r.Totals), len(want)) {
		return
	}
	start := len(*f)
	for i, w := range want {
		if got := r.Totals[i]; !sameTotal(got, w) {
			f.add(evidence.Fails, "totals", "the manifest states the %s; the plan gives the %s", got, w)
		}
	}
	if len(*f) == start {
		for _, w := range want {
			f.add(evidence.Holds, "totals", "%s (%s)", w, w.Reason)
		}
	}
}

// whole compares every field with a release made again from plan, pool, roster and published
// numbers.
func (f *findings) whole(r study.Release, t study.Finisher, published []privacy.Published) {
	want, unseen, err := rebuilt(r, t, published)
	if err != nil {
		f.add(evidence.Fails, "result", "it cannot be made of what was published: %v", err)
		return
	}
	if err := study.CheckText(r.Software); err != nil {
		f.add(evidence.Fails, "software", "its version: %v", err)
		return
	}
	if where := difference(want, r); where != "" {
		about, _, _ := strings.Cut(where, ".")
		f.add(evidence.Fails, about, "made again from plan, pool, roster and what was published, the release differs at %s: it was changed, or made by another version (%s)", where, r.Software)
		return
	}
	f.add(evidence.Holds, "release", "this program made the release again from plan, pool, roster and published numbers: every field agrees, and nothing else is in it")
	if len(r.Senders) > 0 {
		f.add(evidence.CoordinatorsWord, "senders", "which of the numbers are whose: each party can check its own, with its agent.yaml")
	}
	if unseen != "" {
		f.add(evidence.Unchecked, "result", "it was fitted to features that only the coordinator has: %s. Their places and shapes are checked, and what follows from them; the numbers cannot be", unseen)
	} else {
		f.add(evidence.Holds, "result", "made again from the published integers, it is the same: all in it is post-processing")
	}
}

// words adds findings for the claims that no computation can prove.
func (f *findings) words(r study.Release, p study.Plan) {
	if r.Simulated || p.Simulated {
		return
	}
	trust := p.Noise.Trust()
	if trust.NoiseClaim != "" {
		f.add(evidence.CoordinatorsWord, "noise", "%s", trust.NoiseClaim)
	}
	f.add(evidence.CoordinatorsWord, "parties", trust.SumClaim, r.Parties)
	f.add(evidence.NotProvable, trust.BelievedTopic, "%s", trust.BelievedClaim)
	if p.Weights != nil {
		f.add(evidence.CoordinatorsWord, "weights", "that the pool's weights cost what the plan says, ε = %g, δ = %g for a %s: verify the release of the study that made them, plan %s", p.Weights.Epsilon, p.Weights.Delta, p.Weights.Unit, p.Weights.Plan)
	}
	f.add(evidence.CoordinatorsWord, "software", "that version %q of the program made it",
		r.Software)
	f.add(evidence.NotProvable, "pool", "that the pool was public before the study, and not chosen by looking at private records")
	f.add(evidence.NotProvable, "proofs", "that the proofs are right, and that this program and machine compute what they say: they are in the source code, in folders privacy, aggregation and study")
}

// sameTotal compares two totals. It allows for the last bits, in which processors differ.
func sameTotal(t, o study.UnitTotal) bool {
	close := func(x, y float64) bool {
		return math.Abs(x-y) <= wordTolerance*math.Max(math.Abs(x), math.Abs(y))
	}
	return t.Unit == o.Unit && t.Reason == o.Reason && close(t.Delta, o.Delta) &&
		(t.Epsilon == nil) == (o.Epsilon == nil) &&
		(t.Epsilon == nil || close(*t.Epsilon, *o.Epsilon))
}
