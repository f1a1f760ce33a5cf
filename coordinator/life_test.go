package coordinator

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestLife: a study from draft to release, with contributions, receipts, repeated contributions,
// access rights, and the files that remain.
func TestLife(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(4)
	for _, p := range roster {
		w.enrol(string(p))
	}
	outsider := w.enrol("outsider")
	pool := poolOf(6)
	plan := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	must(0, w.operator.UploadPool(ctx, plan.Pool, pool))
	must(0, w.operator.UploadPool(ctx, plan.Pool, pool)) // again: harmless
	if _, err := w.operator.CreateStudy(ctx, must(plan.Canonical()),
		make([]byte, protocol.MaxForecastBytes+1)); !errors.Is(err, protocol.ErrTooLarge) {
		t.Errorf("a forecast of any size: %v", err)
	}
	forecast := []byte(`{"helps":"perhaps"}`)
	draft := must(w.operator.CreateStudy(ctx, must(plan.Canonical()), forecast))
	if again := must(w.operator.CreateStudy(ctx, must(plan.Canonical()),
		[]byte("another"))); again.Hash != draft.Hash || draft.State != study.Draft {
		t.Errorf("created %v in %s, then %v", draft.Hash, draft.State, again.Hash)
	}
	p0 := w.parties["p0"]
	if l := must(p0.Studies(ctx)); len(l.Studies) != 0 || l.Skew.Abs() > time.Minute {
		t.Errorf("a party sees a draft, or a skew of %v: %+v", l.Skew, l.Studies)
	}
	if _, err := p0.Contribute(ctx, draft.Hash, ballotFor(0, 6)); !errors.Is(err,
		study.ErrNotOpen) {
		t.Errorf("contributed to a draft: %v", err)
	}
	opened := must(w.operator.Open(ctx, draft.Hash.String()[:10]))
	if stated := must(p0.Study(ctx, draft.Hash.String())).Forecast; !bytes.Equal(stated.Document,
		forecast) || w.server.keys.Verify(protocol.ForecastDocument, stated.Document,
		stated.Signature) != nil {
		t.Errorf("the operator's forecast reaches a party as %q", stated.Document)
	}
	if l := must(p0.Studies(ctx)); len(l.Studies) != 1 || l.Studies[0].Hash != draft.Hash ||
		l.Studies[0].CallerContributed || l.Studies[0].Roster != 4 {
		t.Errorf("party's list: %+v", l.Studies)
	}
	if l := must(outsider.Studies(ctx)); len(l.Studies) != 0 {
		t.Errorf("an outsider sees %+v", l.Studies)
	}
	for ref, who := range map[string]*admin.Client{"trial": outsider, "nothing": w.operator,
		draft.Hash.String()[:7]: w.operator} {
		if _, err := who.Study(ctx, ref); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("show %q: %v", ref, err)
		}
	}
	at := t.TempDir()
	if got := must(p0.Pool(ctx, opened, at)); !bytes.Equal(got, pool) {
		t.Errorf("pool is %q", got)
	}
	if _, err := p0.Release(ctx, "trial"); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("release of an open study: %v", err)
	}

	body := ballotFor(0, 6)
	receipt := must(p0.Contribute(ctx, draft.Hash, body))
	if again := must(p0.Contribute(ctx, draft.Hash, body)); !bytes.Equal(again.Document,
		receipt.Document) || !bytes.Equal(again.Signature, receipt.Signature) {
		t.Error("a resend got another receipt")
	}
	for what, c := range map[string]struct {
		who  *admin.Client
		plan study.Hash
		body []byte
		want error
	}{
		"other bytes":    {p0, draft.Hash, ballotFor(1, 6), study.ErrDifferentUpload},
		"outsider":       {outsider, draft.Hash, body, study.ErrNotEnrolled},
		"other plan":     {w.parties["p1"], study.Hash{1}, body, study.ErrDifferentPlan},
		"operator":       {w.operator, draft.Hash, body, protocol.ErrDenied},
		"too large":      {w.parties["p1"], draft.Hash, make([]byte, 1<<20), protocol.ErrTooLarge},
		"no ballot":      {w.parties["p1"], draft.Hash, []byte("no ballot"), study.ErrContribution},
		"nothing":        {w.parties["p1"], draft.Hash, nil, study.ErrContribution},
		"votes for rows": {w.parties["p1"], draft.Hash, ballotFor(1, 70), study.ErrContribution},
	} {
		if _, err := c.who.Contribute(ctx, c.plan, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	for i, p := range roster[1:3] {
		must(w.parties[string(p)].Contribute(ctx, draft.Hash, ballotFor(i+1, 6)))
	}
	if s := must(w.operator.Study(ctx, "trial")); s.Contributed != 3 ||
		!slices.Equal(s.Missing, []string{"p3"}) {
		t.Errorf("contributed %v, missing %v", s.ContributedBy, s.Missing)
	}

	w.clock.add(2 * time.Hour)
	if _, err := w.parties["p3"].Contribute(ctx, draft.Hash, ballotFor(3, 6)); !errors.Is(err,
		study.ErrNotOpen) {
		t.Errorf("contributed after the deadline: %v", err)
	}
	w.wait("trial", study.Released)
	released := must(p0.Release(ctx, "trial"))
	r := released.Release
	if r.Parties != 3 || !slices.Equal(r.Missing, []study.PartyID{"p3"}) || len(r.Costs) != 1 ||
		!holdsClassifier(r) {
		t.Errorf("release: %d parties, missing %v, costs %v", r.Parties, r.Missing, r.Costs)
	}
	if again := must(p0.Contribute(ctx, draft.Hash, body)); !bytes.Equal(again.Document,
		receipt.Document) {
		t.Error("a resend after the release got another receipt")
	}
	if _, err := outsider.Release(ctx, draft.Hash.String()); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("an outsider reads the release: %v", err)
	}
	if _, err := w.operator.CancelStudy(ctx, "trial", ""); !errors.Is(err, study.ErrNotOpen) {
		t.Errorf("cancelled a released study: %v", err)
	}
	w.stop()
	agree(t, w.config.Dir, plan, pool, [][]byte{ballotFor(0, 6), ballotFor(1, 6), ballotFor(2, 6)},
		r)
	// No file of the folder contains a ballot or a sum without noise.
	store := must(records.Open(filepath.Join(w.config.Dir, folder.StoreFile)))
	defer store.Close()
	must(0, store.View(ctx, func(tx records.Tx) error {
		if sum, n, err := tx.Sum(draft.Hash); sum != nil || n != 0 || err != nil {
			t.Errorf("sum of %d is left (%v)", n, err)
		}
		if left := must(tx.UnsummedContributions(draft.Hash, "", 9)); len(left) != 0 {
			t.Errorf("%d ballots are left", len(left))
		}
		return nil
	}))
}

// TestBallotsAreWiped: once a study is over, released or cancelled, no file of the folder contains
// bytes of a contribution.
func TestBallotsAreWiped(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(3)
	pool := poolOf(4000)
	for _, p := range roster {
		w.enrol(string(p))
	}
	// 500 bytes, which no file contains by chance.
	body := ballotFor(0, 4000)
	for i := 16; i < len(body)-1; i++ {
		body[i] = byte(i*i*31>>3) ^ byte(i)
	}
	needle := body[100:400]
	inFiles := func() (in []string) {
		for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir,
			folder.StoreFile+"*"))) {
			if bytes.Contains(must(os.ReadFile(path)), needle) {
				in = append(in, filepath.Base(path))
			}
		}
		return in
	}
	for _, end := range []study.State{study.Released, study.Failed} {
		p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		p.Name = "end-" + string(end)
		s := w.open(p, pool)
		must(w.parties["p0"].Contribute(ctx, s.Hash, body))
		if len(inFiles()) == 0 {
			t.Fatal("the ballot is not found while the study is open: the test finds nothing")
		}
		if end == study.Released {
			must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 4000)))
			must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 4000)))
		} else {
			must(w.operator.CancelStudy(ctx, s.Hash.String(), "the protocol was amended"))
		}
		if s := w.wait(p.Name, end); end == study.Failed && !strings.Contains(s.Reason, "amended") {
			t.Errorf("reason %q", s.Reason)
		}
		for until := time.Now().Add(5 * time.Second); len(inFiles()) > 0 &&
			time.Now().Before(until); {
			time.Sleep(5 * time.Millisecond) // scrubbing comes after the last state
		}
		if left := inFiles(); len(left) > 0 {
			t.Errorf("%s: the ballot is left in %v", end, left)
		}
	}
}

// TestBelowMinimum: if there are too few contributions at the deadline, the study fails and spends
// nothing.
func TestBelowMinimum(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(3)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(4)
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	w.clock.add(2 * time.Hour)
	if s := w.wait("trial", study.Failed); s.Reason != "minimum 2, have 1; the coordinator spent nothing; the party that contributed was charged ε = 8, δ = 1e-06 (unit party) by its own ledger" {
		t.Errorf("reason %q", s.Reason)
	}
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[s.Plan.Unit].Charges != 0 {
		t.Errorf("spent %+v", totals[s.Plan.Unit])
	}
}

// TestPlansRefused: a plan that can never be released is refused before any party contributes.
func TestPlansRefused(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(3)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(4)
	must(0, w.operator.UploadPool(ctx, planOf(roster, pool, w.clock.Now()).Pool, pool))
	for what, c := range map[string]struct {
		change func(*study.Plan)
		words  string
		want   error
	}{
		"simulated":    {func(p *study.Plan) { p.Simulated = true }, "simulated", study.ErrPlan},
		"delta":        {func(p *study.Plan) { p.Delta = 0.5 }, "the 3 units (party)", study.ErrPlan},
		"minimum":      {func(p *study.Plan) { p.Minimum = 1 }, "less than 2", study.ErrPlan},
		"floor":        {func(p *study.Plan) { p.Minimum, p.Floor = 3, 1 }, "less than 2", study.ErrPlan},
		"no terms":     {func(p *study.Plan) { p.TermsDigest = "" }, "terms: say what releases are made under", study.ErrPlan},
		"a format":     {func(p *study.Plan) { p.Schema.Comment = "F" }, "how a file is read is the site's to say", study.ErrPlan},
		"an escape":    {func(p *study.Plan) { p.Schema.Features[1].Column = "b\x1b[2J" }, "control character", study.ErrPlan},
		"deadline":     {func(p *study.Plan) { p.Deadline = w.clock.Now().Add(-time.Hour).UTC().Truncate(time.Second) }, "over", study.ErrPlan},
		"no deadline":  {func(p *study.Plan) { p.Deadline = time.Time{} }, "deadline", study.ErrPlan},
		"roster":       {func(p *study.Plan) { p.Roster = append(slices.Clone(p.Roster), "stranger") }, "stranger", study.ErrPlan},
		"no roster":    {func(p *study.Plan) { p.Roster = nil }, "roster", study.ErrPlan},
		"operator":     {func(p *study.Plan) { p.Roster = append(slices.Clone(p.Roster), "operator") }, "operator", study.ErrPlan},
		"name":         {func(p *study.Plan) { p.Name = "a b" }, "name", study.ErrPlan},
		"unknown pool": {func(p *study.Plan) { p.Pool[0]++ }, "upload it first", protocol.ErrNotFound},
		"unit":         {func(p *study.Plan) { p.Mechanism = "cross" }, "cannot hide", study.ErrPlan},
	} {
		p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		c.change(&p)
		if _, err := w.operator.CreateStudy(ctx, must(p.Canonical()), nil); !errors.Is(err,
			c.want) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %v saying %q", what, err, c.want, c.words)
		}
	}
	first := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	must(w.operator.CreateStudy(ctx, must(first.Canonical()), nil))
	first.Epsilon++
	first = withTerms(first, pool)
	if _, err := w.operator.CreateStudy(ctx, must(first.Canonical()), nil); !errors.Is(err,
		protocol.ErrExists) {
		t.Errorf("a second plan of that name: %v", err)
	}
	if _, err := w.parties["p0"].CreateStudy(ctx, must(first.Canonical()), nil); !errors.Is(err,
		protocol.ErrDenied) {
		t.Errorf("a party creates a study: %v", err)
	}
}
