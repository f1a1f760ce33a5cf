package life

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"caucus/privacy"
	"caucus/study"
)

// Conclude settles the requests of the folded sum through the aggregator's ledger, and makes the
// release document. For a study.BodyKeeper it releases nothing, and returns study.ErrBodiesChanged
// if the stored bodies are not those in the receipts. A second call after a crash gives the same
// publications at no further cost. The caller fills in plan bytes and software.
func Conclude(ctx context.Context, s *Study, t study.Finisher, of study.Contributions,
	ledger *privacy.Ledger) (study.Release, error) {
	fail := func(err error) (study.Release, error) {
		return study.Release{}, fmt.Errorf("conclude study: %w", err)
	}
	if t.Hash() != s.Hash {
		return fail(fmt.Errorf("the task is of plan %s, the study of plan %s", t.Hash(), s.Hash))
	}
	of, err := s.gathered(t, of)
	if err != nil {
		return fail(err)
	}
	var requests []study.Request
	var published []privacy.Published
	if of.Sum != nil {
		if requests, published, err = s.MakeReleases(ctx, of.Sum, ledger); err != nil {
			return fail(err)
		}
	}
	result, err := t.Finish(of, published)
	if err != nil {
		return fail(err)
	}
	r := s.claimed(t, of, result)
	for i, p := range published {
		if p.Simulated != s.Plan.Simulated {
			return fail(fmt.Errorf("a simulated ledger and a real plan do not go together"))
		}
		r.Costs = append(r.Costs,
			study.CostOf(requests[i].Output, p.Mechanism, p.Parameters, p.Bound, p.Cost, s.Plan))
	}
	// the coordinator made no publication of the whole sum
	if len(published) == 0 || s.Plan.Noise.Shared() {
		r.Costs = nil
		if r.Costs, err = study.CostsOf(t, r.Weight); err != nil {
			return fail(err)
		}
	}
	if !s.Plan.Simulated {
		if err := support(ctx, &r, t, of, published, ledger); err != nil {
			return fail(err)
		}
	}
	return r, nil
}

func (s *Study) claimed(t study.Task, of study.Contributions, result study.Result) study.Release {
	r := study.Release{Manifest: study.Claim(t), Result: result}
	r.Parties, r.Weight = of.Contributions, of.Weight
	r.Contributed, r.Missing = s.Contributors()
	r.Senders = of.Senders
	r.Sealed = s.Reason
	r.Result.Warnings = append(r.Result.Warnings,
		study.ConcludingWarnings(s.Plan, t.Pool(), r.Missing)...)
	return r
}

// gathered checks that of has what the task needs: the sum or, for a study.BodyKeeper, exactly the
// received bodies.
func (s *Study) gathered(t study.Task, of study.Contributions) (study.Contributions, error) {
	of.Contributions = len(s.Received)
	_, keeps := t.(study.BodyKeeper)
	switch {
	case keeps && of.Sum == nil && of.Bodies != nil:
		of.Weight, of.Bodies = 0, s.ReceivedBodies(of.Bodies)
		if t.Words().ShownByName {
			of.Senders = s.ContributorsByBody()
		}
	case !keeps && of.Sum != nil && of.Bodies == nil:
		of.Weight = of.Sum.Weight()
	default:
		return of, fmt.Errorf("a task that keeps bodies takes them, and another one a sum")
	}
	return of, nil
}

// MakeReleases makes the releases that the sum requests. Each request has a digest of all
// contributions (contents). Suppose that a coordinator restored from an old backup has only seven
// of eight contributions, and that its ledger has already released their sum. Because the digest
// differs, the ledger returns privacy.ErrConflict. Otherwise its answer about eight parties would
// be taken for an answer about seven.
func (s *Study) MakeReleases(ctx context.Context, sum study.Sum,
	ledger *privacy.Ledger) ([]study.Request,
	[]privacy.Published, error) {
	requests, err := sum.Requests(len(s.Received))
	if err != nil {
		return nil, nil, err
	}
	for i, r := range requests {
		requests[i].SourceDigest = s.contents(r.SourceDigest)
	}
	published, err := study.ReleaseRequests(ctx, ledger, s.Hash, requests)
	return requests, published, err
}

// contents returns a digest of the contributions and of the matrix that multiplies their sum:
// SHA-256 of a label, the matrix and, for each party in sorted order, the length of its name, its
// name and its body's digest. If the coordinator adds the noise, bodies hold exact votes, so only a
// ledger may keep the digest.
func (s *Study) contents(matrix privacy.Digest) privacy.Digest {
	h := sha256.New()
	h.Write([]byte("caucus contributed set 1"))
	h.Write(matrix[:])
	for _, party := range slices.Sorted(maps.Keys(s.Received)) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(party))))
		h.Write([]byte(party))
		body := s.Received[party]
		h.Write(body[:])
	}
	return privacy.Digest(h.Sum(nil))
}

func support(ctx context.Context, r *study.Release, t study.Task, of study.Contributions,
	published []privacy.Published, ledger *privacy.Ledger) (err error) {
	for _, p := range published {
		b, err := p.MarshalBinary()
		if err != nil {
			return err
		}
		line, found, err := ledger.FindLine(ctx, p.ID)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("the ledger has no entry of publication %s", p.ID)
		}
		r.Published, r.Ledger = append(r.Published, b), append(r.Ledger, line)
	}
	if len(published) == 0 && public(of, t) {
		r.Sum, err = of.MarshalBinary()
	}
	return err
}

func public(s study.Contributions, t study.Task) bool {
	if k, ok := t.(study.BodyKeeper); ok {
		return k.PublicBodies()
	}
	return s.Sum.ReadersMaySee()
}

// ConcludeShares makes the release document from both servers' releases of their shares. It spends
// nothing. The caller fills in plan bytes and software.
func ConcludeShares(ctx context.Context, s *Study, t study.Finisher, of study.Contributions,
	published []privacy.Published, by study.TwoServerProof, ledger *privacy.Ledger) (study.Release,
	error) {
	fail := func(err error) (study.Release, error) {
		return study.Release{}, fmt.Errorf("conclude study: %w", err)
	}
	if t.Hash() != s.Hash {
		return fail(fmt.Errorf("the task is of plan %s, the study of plan %s", t.Hash(), s.Hash))
	}
	if len(published) != study.Servers || of.Contributions != len(s.Received) {
		return fail(fmt.Errorf("%d servers released a sum of %d contributions, %d were received", len(published), of.Contributions, len(s.Received)))
	}
	result, err := t.Finish(of, published)
	if err != nil {
		return fail(err)
	}
	r := s.claimed(t, of, result)
	if r.Costs, err = study.CostsOf(t, r.Weight); err != nil {
		return fail(err)
	}
	for _, p := range published {
		b, err := p.MarshalBinary()
		if err != nil {
			return fail(err)
		}
		r.Published = append(r.Published, b)
	}
	line, found, err := ledger.FindLine(ctx, published[0].ID)
	if err == nil && !found {
		err = fmt.Errorf("the ledger has no entry of publication %s", published[0].ID)
	}
	if err != nil {
		return fail(err)
	}
	r.Ledger, r.Aggregated = []privacy.Line{line}, &by
	return r, nil
}

// ReceivedBodies iterates over bodies. It fails with study.ErrBodiesChanged unless they are exactly
// the received bodies.
func (s *Study) ReceivedBodies(bodies study.Bodies) study.Bodies {
	want := slices.SortedFunc(maps.Values(s.Received), study.BodyDigest.Compare)
	return func(yield func([]byte, error) bool) {
		at := 0
		for body, err := range bodies {
			if err == nil && (at == len(want) || sha256.Sum256(body) != want[at]) {
				err = fmt.Errorf("%w: number %d of %d differs", study.ErrBodiesChanged, at+1,
					len(want))
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if at++; !yield(body, nil) {
				return
			}
		}
		if at < len(want) {
			yield(nil, fmt.Errorf("%w: %d of %d are there", study.ErrBodiesChanged, at, len(want)))
		}
	}
}

// ContributorsByBody lists the contributors in the order of their bodies (study.Bodies).
func (s *Study) ContributorsByBody() []study.PartyID {
	return slices.SortedFunc(maps.Keys(s.Received), func(a, b study.PartyID) int {
		return cmp.Or(s.Received[a].Compare(s.Received[b]), cmp.Compare(a, b))
	})
}
