package site_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"caucus/agent/site"
	"caucus/auxdata"
	"caucus/internal/testsite"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify/evidence"
)

// after is a site that contributed one study by votes, with the coordinator's receipt, and the
// release.
func after(t *testing.T) (r *testsite.Site, e *site.Evidence, signer *protocol.Signer,
	release study.Release,
	receipt protocol.Receipt) {
	t.Helper()
	r = testsite.New(t.TempDir(), testsite.SchemaYAML, func(p *study.Proposal) {
		p.Mechanism, p.Noise = "tally", study.NoiseCoordinator
	})
	at := r.Open(t)
	d, body := r.StorePlan(t, at), []byte("what this site sent")
	task, err := at.Task(r.StudyPlan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	charges, err := task.Charges(0)
	if err == nil {
		err = study.ChargeAll(t.Context(), at.Ledger, r.StudyPlan.Hash, charges)
	}
	if err == nil {
		err = errors.Join(d.Write(site.FileUpload, body), at.StoreLedgerHead(t.Context(), d))
	}
	if err != nil {
		t.Fatal(err)
	}
	at.Close()
	if signer, err = protocol.NewSigner(); err != nil {
		t.Fatal(err)
	}
	e = at.Evidence(keysOf(signer.Key()))
	receipt = protocol.Receipt{
		Plan: r.StudyPlan.Hash, Party: "site", Body: sha256.Sum256(body), Size: len(body),
		Received: time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC), Ledger: privacy.Head{Sequence: 4, Hash: privacy.Digest{4}},
	}
	release = study.Release{Plan: r.StudyPlan.Canonical, Manifest: study.Manifest{
		PlanHash: r.StudyPlan.Hash, Unit: privacy.Record, Contributed: []study.PartyID{"other", "site"}, Missing: []study.PartyID{"third"},
		Ledger: []privacy.Line{{Sequence: 5}},
	}}
	return r, e, signer, release, receipt
}

func keep(t *testing.T, r *testsite.Site, h study.Hash, signer *protocol.Signer,
	said protocol.Receipt) {
	t.Helper()
	said, err := said.Sign(signer)
	if err == nil {
		err = r.Config.Studies().Folder(h).WriteJSON(site.FileReceipt,
			site.Receipt{UploadDigest: said.Body.String(), Received: said.Received,
				Signed:    said.Document,
				Signature: said.Signature})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWitness: a release that contradicts what the coordinator signed for this site is not
// believed.
func TestWitness(t *testing.T) {
	at, e, signer, release, good := after(t)
	stranger, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(r *study.Release, rec *protocol.Receipt)
		signer  *protocol.Signer
		verdict evidence.Verdict
		says    string
	}{
		"as it was":       {nil, signer, evidence.Holds, "the release counts it"},
		"left out":        {func(r *study.Release, _ *protocol.Receipt) { r.Contributed = r.Contributed[:1] }, signer, evidence.Fails, "does not count it"},
		"forged":          {nil, stranger, evidence.Fails, "not the coordinator's"},
		"another plan's":  {func(_ *study.Release, rec *protocol.Receipt) { rec.Plan[0] ^= 1 }, signer, evidence.Fails, "not for this study"},
		"another party's": {func(_ *study.Release, rec *protocol.Receipt) { rec.Party = "other" }, signer, evidence.Fails, "not for this study"},
		"other bytes":     {func(_ *study.Release, rec *protocol.Receipt) { rec.Body[0] ^= 1 }, signer, evidence.Fails, "other bytes"},
		"put back":        {func(r *study.Release, _ *protocol.Receipt) { r.Ledger[0].Sequence = 4 }, signer, evidence.Fails, "put back to an older state"},
	} {
		r, rec := release, good
		r.Contributed = append([]study.PartyID{}, release.Contributed...)
		r.Ledger = append([]privacy.Line{}, release.Ledger...)
		if c.change != nil {
			c.change(&r, &rec)
		}
		keep(t, at, release.PlanHash, c.signer, rec)
		found := e.OfStudy(context.Background(), r).CheckReceipt(r)
		if len(found) != 1 || found[0].Verdict != c.verdict ||
			!strings.Contains(found[0].Text, c.says) {
			t.Errorf("%s: %v, want %s: …%s…", name, found, c.verdict, c.says)
		}
	}
	if err := os.Remove(at.Config.Studies().Folder(release.PlanHash).Dir + "/" +
		site.FileReceipt); err != nil {
		t.Fatal(err)
	}
	if found := e.OfStudy(context.Background(),
		release).CheckReceipt(release); found[0].Verdict != evidence.CoordinatorsWord {
		t.Errorf("counted, but the receipt was lost: %v", found)
	}
	release.PlanHash[0] ^= 1
	if found := e.OfStudy(context.Background(),
		release).CheckReceipt(release); found[0].Verdict != evidence.Fails ||
		!strings.Contains(found[0].Text, "has sent nothing") {
		t.Errorf("counted without having sent anything: %v", found)
	}
}

// TestCharged: the site's ledger holds exactly the charges that plan and pool declare.
func TestCharged(t *testing.T) {
	ctx := context.Background()
	r, e, _, release, _ := after(t)
	p, err := kinds.PlanOf(release)
	if err != nil {
		t.Fatal(err)
	}
	table, err := auxdata.ReadCSV(r.StudyPlan.PoolBytes, p.Pool)
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(p.Schema, p.Map, table)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want evidence.Verdict, says string) {
		t.Helper()
		found := e.OfStudy(ctx, release).CheckCharges(release, pool)
		if len(found) != 1 || found[0].Verdict != want || !strings.Contains(found[0].Text, says) {
			t.Errorf("%v, want %s: …%s…", found, want, says)
		}
	}
	check(evidence.Holds, "exactly what plan and pool declare")

	// Another ledger, with fewer entries.
	for _, name := range []string{"", "-wal", "-shm"} {
		os.Remove(site.LedgerFile(r.Config) + name)
	}
	j, _, err := openSiteAnew(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	check(evidence.Fails, "holds no charge for tally")
	release.Contributed = nil
	check(evidence.Holds, "the release does not count it")
	j, ledger, err := openSiteAnew(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	cheap := privacy.PureCost(privacy.Record, 0, big.NewRat(1, 1000))
	if err := ledger.Spend(ctx, study.ReleaseID(release.PlanHash, "tally"), cheap); err != nil {
		t.Fatal(err)
	}
	j.Close()
	check(evidence.Fails, "ε = 0.001 for a record")
}

// openSiteAnew opens a ledger without comparing it with a remembered one.
func openSiteAnew(c site.Config) (*journal.Journal, *privacy.Ledger, error) {
	j, err := journal.OpenSQLite(site.LedgerFile(c))
	if err != nil {
		return nil, nil, err
	}
	l, err := privacy.Open(j, privacy.Config{})
	return j, l, err
}

// TestCoordinatorGoesBack: receipts that quote the coordinator's ledger reveal that it was restored
// or rewritten.
func TestCoordinatorGoesBack(t *testing.T) {
	r, e, signer, release, first := after(t)
	keep(t, r, r.StudyPlan.Hash, signer, first)
	heads, err := e.CoordinatorHeads()
	if err != nil || len(heads) != 1 || heads[0].Sequence != 4 {
		t.Fatalf("%v, %v", heads, err)
	}
	second := first
	second.Received = first.Received.Add(time.Hour)
	for name, c := range map[string]struct {
		head privacy.Head
		want string
	}{
		"further":  {privacy.Head{Sequence: 6, Hash: privacy.Digest{6}}, ""},
		"the same": {first.Ledger, ""},
		"back":     {privacy.Head{Sequence: 3, Hash: privacy.Digest{3}}, "went back from entry 4 to 3"},
		"anew":     {privacy.Head{Sequence: 4, Hash: privacy.Digest{9}}, "two different entries 4"},
	} {
		second.Ledger = c.head
		keep(t, r, study.Hash{7}, signer, second)
		_, err := e.CoordinatorHeads()
		if (err == nil) != (c.want == "") ||
			(err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}

	// A release may reveal it too.
	keep(t, r, study.Hash{7}, signer, first)
	release.Ledger = []privacy.Line{{Sequence: 4, Hash: privacy.Digest{5}}}
	document, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(protocol.SignedRelease{Document: document,
		Signature: signer.Sign(protocol.ReleaseDocument, document), Signer: signer.Key()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Config.Studies().Folder(r.StudyPlan.Hash).Write(site.FileRelease,
		file); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CoordinatorHeads(); err == nil ||
		!strings.Contains(err.Error(), "two different entries 4") {
		t.Errorf("a release that names another entry: %v", err)
	}
}

func keysOf(first protocol.SignerKey) protocol.Keys {
	k, err := protocol.FollowKeys(first, nil)
	if err != nil {
		panic(err)
	}
	return k
}
