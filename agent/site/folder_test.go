package site_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/aggregator/uploading"
	"caucus/internal/folder"
	"caucus/internal/testsite"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

func newSite(t *testing.T, change func(*study.Proposal)) *testsite.Site {
	t.Helper()
	return testsite.New(t.TempDir(), testsite.SchemaYAML, change)
}

// write writes files of a study's folder.
func write(t *testing.T, d site.StudyFolder, files ...string) {
	t.Helper()
	for _, file := range files {
		if err := d.Write(file, []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharedFolder: a state folder in which others may write is not opened, and the error says what
// to do.
func TestSharedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // its access lists decide
	}
	r := newSite(t, nil)
	r.Open(t).Close()
	for _, dir := range []string{r.Config.State, filepath.Join(r.Config.State, "studies")} {
		for _, mode := range []os.FileMode{0o777, 0o720, 0o702} {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := site.Open(r.Config, "site"); !errors.Is(err, folder.ErrOthersMayWrite) ||
				!strings.Contains(err.Error(), "run chmod go-w "+dir) {
				t.Errorf("%s, mode %o: %v", dir, mode, err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.Open(t).Close()
	}
}

// TestLedgerMissing: a folder that holds contributions is not opened with an empty ledger,
// whichever of their files is left; a new folder is.
func TestLedgerMissing(t *testing.T) {
	for _, file := range []string{site.FileUpload, site.FileReceipt} {
		r := newSite(t, nil)
		s := r.Open(t)
		write(t, s.Studies.Folder(study.Hash{1}), file)
		s.Close()
		r.Open(t).Close()
		removeLedger(t, r.Config)
		if _, err := site.Open(r.Config, "site"); err == nil ||
			!strings.Contains(err.Error(), "ledger is missing") ||
			!strings.Contains(err.Error(), "backup") {
			t.Errorf("%s without a ledger: %v, want a refusal that says what to do", file, err)
		}
		if _, err := os.Stat(site.LedgerFile(r.Config)); err == nil {
			t.Error("the refusal made an empty ledger")
		}
		if err := s.Studies.Folder(study.Hash{1}).Remove(file); err != nil {
			t.Fatal(err)
		}
		r.Open(t)
	}
}

func removeLedger(t *testing.T, c site.Config) {
	t.Helper()
	files, err := filepath.Glob(site.LedgerFile(c) + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShardKey: a site's key never changes, and a damaged key is not replaced. With another key,
// the site would send other bytes for a study that it has answered already.
func TestShardKey(t *testing.T) {
	r := newSite(t, nil)
	first := r.Open(t)
	if again := r.Open(t); !bytes.Equal(first.ShardKey, again.ShardKey) ||
		len(first.ShardKey) != 32 {
		t.Errorf("keys %x, %x", first.ShardKey, again.ShardKey)
	}
	if other := newSite(t, nil).Open(t); bytes.Equal(first.ShardKey, other.ShardKey) {
		t.Error("two sites have one key")
	}
	file := filepath.Join(r.Config.State, "shard.key")
	if err := os.WriteFile(file, first.ShardKey[:31], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Open(r.Config, "site"); err == nil ||
		!strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("a damaged key: %v", err)
	}
}

// TestPools: a study's task is made of its plan and the whole pool that the plan names. If the
// plan's map does not take the schema's columns, the plan is refused before the pool is read.
func TestPools(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	p := r.StudyPlan.Plan
	if _, err := s.Task(p); !errors.Is(err, fs.ErrNotExist) || s.HasPool(p.Pool) {
		t.Errorf("without its pool: %v", err)
	}
	d := r.StorePlan(t, s)
	task, err := s.Task(p)
	if err != nil || task.Hash() != r.StudyPlan.Hash || !s.HasPool(p.Pool) {
		t.Fatalf("%v, %v", task, err)
	}
	if read, err := d.Plan(); err != nil || read.Name != "illness" {
		t.Errorf("the plan is read as %q, %v", read.Name, err)
	}
	narrow := p
	narrow.Schema.Features = p.Schema.Features[:1]
	if err := site.CheckMap(narrow); !errors.Is(err, study.ErrPlan) {
		t.Errorf("a map of other columns: %v", err)
	}
	if err := os.WriteFile(s.PoolFile(p.Pool), r.StudyPlan.PoolBytes[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Task(p); err == nil || s.HasPool(p.Pool) {
		t.Error("a damaged pool is taken")
	}
	write(t, d, site.FilePlan)
	if _, err := d.Plan(); err == nil || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("a plan that was changed: %v", err)
	}
}

// TestDossiers: studies are found by name, by hash, or by the beginning of a hash, and listed with
// the files that they have. A folder with any other name is ignored.
func TestDossiers(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	all := s.Studies
	one, two := study.HashOf([]byte(`{"name":"one"}`)), study.HashOf([]byte(`{"name":"two"}`))
	if err := all.Folder(one).Write(site.FilePlan, []byte(`{"name":"one"}`)); err != nil {
		t.Fatal(err)
	}
	if err := all.Folder(two).Write(site.FilePlan, []byte(`{"name":"two"}`)); err != nil {
		t.Fatal(err)
	}
	write(t, all.Folder(study.Hash{9}), site.FileUpload) // without a plan
	if err := os.Mkdir(filepath.Join(r.Config.State, "studies", "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	if known, err := all.All(); err != nil || len(known) != 2 {
		t.Errorf("%v, %v", known, err)
	}
	if folders, err := all.Folders(); err != nil || len(folders) != 3 {
		t.Errorf("%v, %v", folders, err)
	}
	for name, want := range map[string]study.Hash{"one": one, one.String(): one,
		two.String()[:6]: two} {
		if h, err := all.Find(name); err != nil || h != want {
			t.Errorf("%s is found as %s, %v", name, h, err)
		}
	}
	for name, says := range map[string]string{"three": "there is no study",
		one.String()[:5]: "there is no study"} {
		if _, err := all.Find(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := all.Folder(study.Hash{9}).Write(site.FilePlan, []byte(`{"name":"one"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Find("one"); err == nil ||
		!strings.Contains(err.Error(), "2 studies are called") {
		t.Errorf("a name of two: %v", err)
	}
	write(t, all.Folder(two), site.FileRelease)
	write(t, all.Folder(one), site.FileRelease)
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(all.Folder(two).Dir, site.FileRelease), past,
		past); err != nil {
		t.Fatal(err)
	}
	if released, err := all.Released(); err != nil ||
		!slices.Equal(released, []study.Hash{one, two}) {
		t.Errorf("released are %v, %v", released, err)
	}
	none := site.Config{State: filepath.Join(t.TempDir(), "none")}.Studies()
	if known, err := none.All(); err != nil || known != nil {
		t.Errorf("without a folder: %v, %v", known, err)
	}
}

// TestFacts: numbers and times in a study's folder are read as they were written. A damaged file
// counts as missing.
func TestFacts(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	d := s.Studies.Folder(r.StudyPlan.Hash)
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	if d.DeclaredRecords() != 0 || d.TooEarly(now) || d.AmendmentsAtEnd() != study.MaxAmendments+1 {
		t.Error("facts are read where none is written")
	}
	for _, f := range []struct{ file, text string }{{site.FileRecords, "61\n"},
		{site.FileEnded, "2\n"}} {
		if err := d.Write(f.file, []byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	span := site.WindowTimes{Prepare: time.Minute, DrawNoise: time.Second}
	if err := d.WriteJSON(site.FileSchedule, span.StartingAt(now)); err != nil {
		t.Fatal(err)
	}
	if d.DeclaredRecords() != 61 || d.AmendmentsAtEnd() != 2 || d.TooEarly(now.Add(-time.Hour)) ||
		!d.TooEarly(now.Add(time.Minute)) || d.TooEarly(now.Add(span.Total())) {
		t.Errorf("%d records, %d amendments, early %t", d.DeclaredRecords(), d.AmendmentsAtEnd(),
			d.TooEarly(now.Add(time.Minute)))
	}
	for _, text := range []string{"-1", "many", ""} {
		if err := d.Write(site.FileRecords, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if n := d.DeclaredRecords(); n != 0 {
			t.Errorf("%q is read as %d records", text, n)
		}
	}
	if err := errors.Join(d.Remove(site.FileEnded), d.Remove(site.FileEnded)); err != nil ||
		d.Has(site.FileEnded) {
		t.Errorf("removed twice: %v", err)
	}
	info, err := os.Stat(filepath.Join(d.Dir, site.FileRecords))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a fact has mode %v, %v", info.Mode(), err)
	}
}

// TestLedgerEntry: the ledger must have reached the furthest head of any upload, whatever version
// wrote the head. A file without a head is an error.
func TestLedgerEntry(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	if last, charged, err := s.Studies.LastLedgerEntry(); last != 0 || charged || err != nil {
		t.Errorf("before any: %d, %t, %v", last, charged, err)
	}
	cost := privacy.PureCost(privacy.Record, 0, big.NewRat(1, 10))
	if err := s.Ledger.Spend(t.Context(), "a", cost); err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLedgerHead(t.Context(), s.Studies.Folder(study.Hash{1})); err != nil {
		t.Fatal(err)
	}
	if err := s.Studies.Folder(study.Hash{2}).Write("ledger.seq", []byte("7\n")); err != nil {
		t.Fatal(err)
	}
	if last, charged, err := s.Studies.LastLedgerEntry(); last != 7 || !charged || err != nil {
		t.Errorf("entry %d, %t, %v", last, charged, err)
	}
	heads, err := s.Evidence(protocol.Keys{}).LedgerHeads()
	if err != nil || len(heads) != 2 || heads[0].Sequence != 1 || heads[1].Sequence != 7 ||
		heads[0].Hash == (privacy.Digest{}) {
		t.Errorf("remembered %v, %v", heads, err)
	}
	s.Close()
	behind := r.Open(t)
	if err := behind.Ledger.Spend(t.Context(), "b", cost); !errors.Is(err, privacy.ErrBehind) {
		t.Errorf("a ledger that lacks entries charges: %v", err)
	}
	if err := s.Studies.Folder(study.Hash{2}).Write("ledger.seq", []byte("-7")); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Open(r.Config, "site"); err == nil {
		t.Error("a damaged head is read")
	}
}

// TestTidy: files of interrupted writes are removed, and all finished files stay. Unfinished files
// of an approval stay too, because another process may be writing them.
func TestTidy(t *testing.T) {
	s := newSite(t, nil).Open(t)
	d := s.Studies.Folder(study.Hash{1})
	stay := []string{site.FileUpload, site.ApprovalFile("a"), "." + site.ApprovalFile("a") + "-5"}
	go1 := []string{"." + site.FileUpload + "-123", "." + site.FileReceipt + "-9"}
	write(t, d, slices.Concat(stay, go1)...)
	if err := s.Studies.RemoveTemporary(); err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(stay, go1) {
		if d.Has(file) != slices.Contains(stay, file) {
			t.Errorf("%s is there: %t", file, d.Has(file))
		}
	}
	left := filepath.Join(s.Config.State, "scratch", "voter-1")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveScratch(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a killed program's files: %v", err)
	}
}

// TestApprovers: an approval counts for one plan, one declaration and one name. If the policy names
// approvers, it counts only with their key. After a new declaration it has lapsed.
func TestApprovers(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	d, p := r.StorePlan(t, s), r.StudyPlan.Plan
	source, err := s.Sources.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	key, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	shown := source.ApprovedDigest()
	signed := func(h study.Hash, name string) []byte {
		return key.Sign(protocol.ApprovalDocument, site.ApprovalText(h, shown, name))
	}
	for _, a := range []site.Approval{{Name: "alice", DeclarationDigest: shown,
		Signature: signed(r.StudyPlan.Hash, "alice")},
		{Name: "李 / 明", DeclarationDigest: shown},
		{Name: "bob", DeclarationDigest: shown, Signature: signed(study.Hash{1}, "bob")},
		{Name: "carol", DeclarationDigest: "before"}} {
		if err := d.WriteJSON(site.ApprovalFile(a.Name), a); err != nil {
			t.Fatal(err)
		}
	}
	// A file with another person's name counts for nobody.
	if err := d.WriteJSON(site.ApprovalFile("mallory"),
		site.Approval{Name: "alice", DeclarationDigest: shown}); err != nil {
		t.Fatal(err)
	}
	wants := func(when string, names, lapsed []string) {
		t.Helper()
		by, old := s.Approvers(d, r.StudyPlan.Hash, p)
		slices.Sort(by)
		if !slices.Equal(by, names) || !slices.Equal(old, lapsed) {
			t.Errorf("%s: %q and lapsed %q, want %q and %q", when, by, old, names, lapsed)
		}
	}
	wants("anybody", []string{"alice", "bob", "李 / 明"}, []string{"carol"})
	s.Config.Policy.Approvers = map[string]protocol.SignerKey{"alice": key.Key(), "bob": key.Key()}
	wants("by keys", []string{"alice"}, nil)
	r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 70))
	if err := r.Declare(); err != nil {
		t.Fatal(err)
	}
	wants("declared anew", nil, []string{"alice"})
}

// TestRefusedByPerson: a refusal is read as it was written. A damaged refusal is still a refusal.
func TestRefusedByPerson(t *testing.T) {
	s := newSite(t, nil).Open(t)
	d := s.Studies.Folder(study.Hash{1})
	if no := s.Refused(d); no != nil {
		t.Errorf("refused by %+v", no)
	}
	if err := d.WriteJSON(site.FileRefused, site.Refusal{Name: "bob", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if no := s.Refused(d); no == nil || no.Name != "bob" || no.Reason != "no" {
		t.Errorf("refused by %+v", no)
	}
	if err := d.Write(site.FileRefused, nil); err != nil {
		t.Fatal(err)
	}
	if no := s.Refused(d); no == nil || no.Name != "somebody" {
		t.Errorf("a damaged refusal: %+v", no)
	}
}

// TestHelperIsKept: the coordinator passes on the helper's acceptance. The site keeps it until its
// shares are sealed, also if it arrives after the plan. Only studies with secret shares ask for it.
func TestHelperIsKept(t *testing.T) {
	r := newSite(t, func(p *study.Proposal) { p.Noise = study.NoiseAggregators })
	s := r.Open(t)
	d, p := r.StorePlan(t, s), r.StudyPlan.Plan
	of := func(text string) protocol.Study {
		return protocol.Study{Plan: p, Helper: protocol.Signed{Document: []byte(text)}}
	}
	kept := func() string {
		t.Helper()
		a, err := d.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Document)
	}
	inClear := of("x")
	inClear.Plan.Noise = study.NoiseSite
	for _, no := range []protocol.Study{inClear, {Plan: p}} {
		if err := d.WriteHelperAcceptance(no); err != nil || kept() != "" {
			t.Errorf("kept %q, %v", kept(), err)
		}
	}
	for _, text := range []string{"first", "second"} {
		if err := d.WriteHelperAcceptance(of(text)); err != nil || kept() != text {
			t.Errorf("kept %q, %v, want %q", kept(), err, text)
		}
	}
	task, err := s.Task(p)
	if err != nil {
		t.Fatal(err)
	}
	if words, agreed := s.HelperText(d, task); words != "" || agreed {
		t.Errorf("a helper that no policy names: %q", words)
	}
	sealing, err := server.NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Policy.Helper = policy.Helper{Name: "Data Trust", Signing: protocol.SignerKey{1},
		Sealing: protocol.SealingPin(sealing.Public())}
	if words, agreed := s.HelperText(d, task); agreed ||
		!strings.Contains(words, "nothing is charged or sent before it agreed") {
		t.Errorf("before it agreed: %q", words)
	}
	write(t, d, site.FileUpload)
	if err := d.WriteHelperAcceptance(of("third")); err != nil || kept() != "second" {
		t.Errorf("after the shares were sealed, %q is kept: %v", kept(), err)
	}
	if words, agreed := s.HelperText(d, task); agreed ||
		!strings.Contains(words, "an earlier helper's key") {
		t.Errorf("with other keys than were sealed to: %q", words)
	}
	if _, err := uploading.UploadDigest("site", []byte("{}")); err == nil {
		t.Error("shares are read from no shares")
	}
	if err := d.Write("helper.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Helper(); err == nil {
		t.Error("a damaged acceptance is read")
	}
}

// TestSpeaking: several processes may call the coordinator at once, but none may while one of them
// prepares a contribution on the folder.
func TestSpeaking(t *testing.T) {
	r := newSite(t, nil)
	r.Open(t)
	one, err := site.LockCalls(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	two, err := site.LockCalls(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	one()
	two()
	speaks, err := folder.LockFile(site.CallLockFile(r.Config))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.LockCalls(r.Config); !errors.Is(err, site.ErrCallsLocked) {
		t.Errorf("while a contribution is prepared: %v", err)
	}
	speaks()
	if again, err := site.LockCalls(r.Config); err != nil {
		t.Error(err)
	} else {
		again()
	}
}

// TestIdentityOfASite: an agent belongs to one party. Without an identity, the error says what to
// do.
func TestIdentityOfASite(t *testing.T) {
	r := newSite(t, nil)
	r.Config.State = t.TempDir()
	if _, _, err := site.Identity(r.Config); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "caucus agent enrol") {
		t.Errorf("without one: %v", err)
	}
	if _, err := site.ReadEvidence(r.Config); err == nil {
		t.Error("evidence is read of no party")
	}
	id, signer := r.Enrol(t, time.Now())
	if _, party, err := site.Identity(r.Config); err != nil || party != "site" {
		t.Errorf("party %q, %v", party, err)
	}
	if e, err := site.ReadEvidence(r.Config); err != nil || e.Party != "site" ||
		e.Keys.Newest() != signer.Key() {
		t.Errorf("evidence of %v, %v", e, err)
	}
	if c, err := site.Dial(r.Config, id); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	operator, _ := testsite.Certified(t, protocol.RoleOperator, time.Now())
	if err := operator.Save(site.IdentityFile(r.Config)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := site.Identity(r.Config); err == nil ||
		!strings.Contains(err.Error(), "a party's invitation") {
		t.Errorf("an operator's: %v", err)
	}
}
