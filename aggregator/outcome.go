package aggregator

import (
	"context"
	"errors"
	"fmt"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Outcome is a released study: both shares and their set.
type Outcome struct {
	Acceptances     [2]Signed
	Set             Signed // signed by the coordinator
	HelperSignature []byte // the helper's signature of the set
	Shares          [2]Signed
	Published       [2]privacy.Published
	Contributions   study.Contributions
	Contributors    Contributors
}

// Document returns the outcome in the form of a release, with each server's signing key.
func (o Outcome) Document(keys [2]protocol.SignerKey) study.TwoServerProof {
	a := study.TwoServerProof{Set: o.Set.Document, Members: o.Contributors.Digests,
		Refused: o.Contributors.Refused}
	a.Sets = [2][]byte{o.Set.Signature, o.HelperSignature}
	for r := range keys {
		a.Keys[r], a.Shares[r] = keys[r].String(), o.Shares[r].Signature
		a.Acceptances[r] = o.Acceptances[r]
	}
	var said AggregateShare
	// this never fails, because readShare has decoded the document before
	if study.DecodeStrictJSON(o.Shares[shares.Helper].Document, &said) == nil {
		a.HelperLine, a.Step = said.Line, said.Step
	}
	return a
}

// Contributors lists the contributors of a study, each list ordered by name.
type Contributors struct {
	// Accepted are the parties in the sum. Digests identify their contributions at both servers.
	Accepted []study.PartyID
	Digests  []Digest
	// Refused are the parties whose contributions both servers refused.
	Refused []study.PartyID
	// Waiting are the parties whose contributions are not checked yet.
	Waiting []study.PartyID
}

func (s *Server) membersOf(ctx context.Context, h study.Hash) (m Contributors, err error) {
	err = s.view(ctx, h, func(t *transaction) error {
		return t.each(func(p study.PartyID, d Digest, v verdict) {
			switch v {
			case accepted:
				m.Accepted, m.Digests = append(m.Accepted, p), append(m.Digests, d)
			case refused:
				m.Refused = append(m.Refused, p)
			default:
				m.Waiting = append(m.Waiting, p)
			}
		})
	})
	return m, err
}

// Contributors reads who is in the sum, at either server. It is final once the set is sealed.
func (s *Server) Contributors(ctx context.Context, plan study.Hash) (Contributors, error) {
	if err := s.current(ctx); err != nil {
		return Contributors{}, err
	}
	return s.membersOf(ctx, plan)
}

// Progress is a study's state at a server. Reading it needs no plan.
type Progress struct {
	// Acceptance is the helper's acceptance. It has no document until parties may contribute.
	Acceptance Signed
	// Failed is the reason why the study ended here without a release.
	Failed string
	// Closed reports that a coordinator takes no more contributions.
	Closed bool
}

// Progress returns a study's state, the zero Progress for an unknown study.
func (s *Server) Progress(ctx context.Context, plan study.Hash) (at Progress, err error) {
	if err := s.current(ctx); err != nil {
		return at, err
	}
	var r record
	err = s.view(ctx, plan, func(t *transaction) error { r, err = t.record(); return err })
	if errors.Is(err, errNone) {
		return at, nil
	}
	if at.Failed, at.Closed = r.Failed, r.Closed; r.keyed() {
		if at.Acceptance = r.Theirs; s.config.Role == shares.Helper {
			at.Acceptance = r.Own
		}
	}
	return at, err
}

// IsRestored reports whether the server's files were restored to an older state. The server then
// answers nothing until Reconcile.
func (s *Server) IsRestored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind
}

// Released returns the outcome of a study. It returns an error until both shares are stored.
func (s *Server) Released(ctx context.Context, plan study.Hash) (o Outcome, err error) {
	t, r, unlock, err := s.coordinator(ctx, plan)
	defer unlock()
	if err != nil {
		return o, err
	}
	if r.ShareOther.Document == nil {
		return o, fmt.Errorf("study %s: %w: it is not released", plan, ErrStepOrder)
	}
	o = Outcome{Acceptances: [2]Signed{r.Own, r.Theirs}, Set: r.Set, HelperSignature: r.SetTheirs,
		Shares: [2]Signed{r.Share, r.ShareOther}}
	var set ContributionSet
	if err := protocol.ReadSigned(r.Set, s.config.Signer.Key(), protocol.SetDocument,
		&set); err != nil {
		return o, err
	}
	o.Contributions = study.Contributions{Contributions: int(set.Contributions), Weight: set.Weight}
	for role, by := range []protocol.SignerKey{s.config.Signer.Key(), s.config.OtherKey} {
		if o.Published[role], err = readShare(t, o.Shares[role], by, shares.Role(role),
			r.Set); err != nil {
			return o, err
		}
	}
	o.Contributors, err = s.membersOf(ctx, plan)
	return o, err
}

// StudyCounts are a server's numbers of studies and contributions, by state.
type StudyCounts struct {
	Accepted, Open, Sealed, Released, Failed int // studies
	// contributions not yet checked, accepted, refused
	ContributionsWaiting, ContributionsAccepted, ContributionsRefused int
}

// Counts counts studies by state and contributions by verdict, over the whole store, in one
// snapshot.
func (s *Server) Counts(ctx context.Context) (n StudyCounts, err error) {
	err = s.view(ctx, study.Hash{}, func(t *transaction) error {
		err := t.records(func(_ study.Hash, r record) error {
			*map[string]*int{"failed": &n.Failed, "released": &n.Released, "sealed": &n.Sealed,
				"open": &n.Open, "accepted": &n.Accepted}[r.state()]++
			return nil
		})
		if err != nil {
			return err
		}
		return t.tx.QueryRowContext(ctx, "SELECT count(*) FILTER (WHERE verdict = $1), count(*) FILTER (WHERE verdict = $2), count(*) FILTER (WHERE verdict = $3) FROM contributions", waiting, accepted, refused).Scan(&n.ContributionsWaiting, &n.ContributionsAccepted, &n.ContributionsRefused)
	})
	return n, err
}
