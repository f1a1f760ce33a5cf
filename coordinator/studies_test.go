package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/records"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestPoolResumes: a download continues where it stopped. A damaged part is fetched again.
func TestPoolResumes(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(2)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(80_000) // several chunks
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	if s.PoolBytes != uint64(len(pool)) || len(pool) < 2*protocol.ChunkSize {
		t.Fatalf("pool of %d bytes, said to be %d", len(pool), s.PoolBytes)
	}
	p0 := w.parties["p0"]
	if got := must(p0.Pool(ctx, s, "")); !bytes.Equal(got, pool) {
		t.Error("the pool arrived changed")
	}
	for _, have := range []int{0, 1, protocol.ChunkSize, protocol.ChunkSize + 9, len(pool) - 1,
		len(pool)} {
		folder := t.TempDir()
		whole := filepath.Join(folder, "pool-"+s.Plan.Pool.String()+".csv")
		must(0, os.WriteFile(whole+".part", pool[:have], 0o600))
		if got, err := p0.Pool(ctx, s, folder); err != nil || !bytes.Equal(got, pool) {
			t.Errorf("from byte %d: %v", have, err)
		}
		if stored := must(os.ReadFile(whole)); !bytes.Equal(stored, pool) {
			t.Errorf("from byte %d: the file has %d bytes", have, len(stored))
		}
		if _, err := os.Stat(whole + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("from byte %d: the part is left: %v", have, err)
		}
	}
	for _, part := range [][]byte{[]byte("damage"), append(bytes.Clone(pool), 'x')} {
		folder := t.TempDir()
		must(0, os.WriteFile(filepath.Join(folder, "pool-"+s.Plan.Pool.String()+".csv.part"), part,
			0o600))
		if _, err := p0.Pool(ctx, s, folder); !errors.Is(err, protocol.ErrDamaged) {
			t.Errorf("damaged part: %v", err)
		}
		if got, err := p0.Pool(ctx, s, folder); err != nil || !bytes.Equal(got, pool) {
			t.Errorf("after a damaged part: %v", err)
		}
	}
}

// TestNoiseAtTheSite: if parties add the noise through their own ledgers, the coordinator's ledger
// is not charged. Only named readers may read the release.
func TestNoiseAtTheSite(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(3)
	for _, p := range append(names(3), "reader") {
		w.enrol(string(p))
	}
	pool := poolOf(50)
	p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	p.Unit, p.Mechanism, p.Noise, p.Epsilon, p.Readers = privacy.Record, "cross", study.NoiseSite,
		1, []string{"reader", "p0"}
	p.Records = 3
	p = withTerms(p, pool)
	s := w.open(p, pool)
	checker := must(newStudyChecker(p, pool))
	for _, party := range roster {
		table := must(dataset.ReadCSV(strings.NewReader("a,b,y\n1,0.5,no\n9,0.1,yes\n8,0.9,yes\n"),
			dataset.Format{}))
		records, _, err := p.Schema.EncodeLabelled(table)
		if err != nil {
			t.Fatal(err)
		}
		draft := must(checker.task.Contribute(study.NewInputs(records, []byte("k"))))
		ledger := must(privacy.Open(privacy.NewMemoryJournal(), privacy.Config{}))
		body := must(draft.Body(must(study.ReleaseRequests(ctx, ledger, s.Hash, draft.Requests))))
		must(w.parties[string(party)].Contribute(ctx, s.Hash, body))
	}
	w.wait("trial", study.Released)
	r := must(w.parties["reader"].Release(ctx, "trial")).Release
	if r.Parties != 3 || len(r.Costs) != 1 || r.Costs[0].Rho <= 0 || !holdsClassifier(r) {
		t.Errorf("release of %d parties, costs %v", r.Parties, r.Costs)
	}
	for _, who := range []*admin.Client{w.parties["p1"], w.operator} {
		if _, err := who.Release(ctx, "trial"); !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("read by one who is not named: %v", err)
		}
	}
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[privacy.Record].Charges != 0 {
		t.Errorf("the coordinator spent %+v", totals[privacy.Record])
	}
}

// TestDecline: a party of an open study may decline. Operators see that, and the party may still
// change its mind.
func TestDecline(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(3)
	stranger := w.enrol("stranger")
	p0, p1, p2 := w.parties["p0"], w.parties["p1"], w.parties["p2"]
	for range 2 {
		must(0, p0.Decline(ctx, s.Hash))
	}
	if n := strings.Count(w.log.String(), "study declined"); n != 1 {
		t.Errorf("saying it twice is %d lines of the log", n)
	}
	must(0, p1.Decline(ctx, s.Hash))
	if err := stranger.Decline(ctx, s.Hash); !errors.Is(err, study.ErrNotEnrolled) {
		t.Errorf("a stranger declines: %v", err)
	}
	if err := p0.Decline(ctx, study.Hash{1}); !errors.Is(err, study.ErrDifferentPlan) {
		t.Errorf("decline no study: %v", err)
	}
	if err := w.operator.Decline(ctx, s.Hash); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("an operator declines: %v", err)
	}
	if got := must(w.operator.Study(ctx, "trial")); len(got.Declined) != 2 ||
		got.Declined[0] != "p0" || len(got.Missing) != 3 || got.State != study.Open {
		t.Errorf("declined %v, missing %v, %s", got.Declined, got.Missing, got.State)
	}
	must(p0.Contribute(ctx, s.Hash, ballotFor(0, 3))) // p0 changed its mind
	if got := must(w.operator.Study(ctx, "trial")); len(got.Declined) != 1 ||
		len(got.ContributedBy) != 1 {
		t.Errorf("declined %v, contributed %v", got.Declined, got.ContributedBy)
	}
	must(p1.Contribute(ctx, s.Hash, ballotFor(1, 3)))
	must(p2.Contribute(ctx, s.Hash, ballotFor(2, 3)))
	w.wait("trial", study.Released)
	if err := p0.Decline(ctx, s.Hash); !errors.Is(err, study.ErrNotOpen) {
		t.Errorf("decline after the end: %v", err)
	}
}

// TestLargePlan: a plan and a roster that are larger than a message are sent in parts, and arrive
// unchanged.
func TestLargePlan(t *testing.T) {
	const parties = 10_000
	ctx := context.Background()
	w := newWorld(t, nil)
	var roster []study.PartyID
	must(0, w.server.store.Update(ctx, func(tx records.Tx) error {
		for i := range parties {
			name := fmt.Sprintf("party-%050d", i)
			roster = append(roster, study.PartyID(name))
			must(0, tx.AddMember(name, protocol.RoleParty))
			must(0, tx.AddCertificate(records.Certificate{Serial: name, Name: name,
				Expires: w.clock.Now().Add(time.Hour)}))
		}
		return nil
	}))
	pool := poolOf(10)
	p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	canonical := must(p.Canonical())
	if len(canonical) < protocol.MaxMessage {
		t.Fatalf("the plan has %d bytes: the test shows nothing", len(canonical))
	}
	s := w.open(p, pool)
	if !bytes.Equal(s.PlanBytes, canonical) || len(s.Missing) != parties ||
		s.Missing[parties-1] != string(roster[parties-1]) || len(s.ContributedBy) != 0 {
		t.Errorf("the plan has %d bytes, %d are missing", len(s.PlanBytes), len(s.Missing))
	}
	if _, err := w.operator.CreateStudy(ctx, canonical, nil); err != nil { // refused by its header
		t.Errorf("again: %v", err)
	}
}
