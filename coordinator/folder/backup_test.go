package folder

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/records"
	"caucus/dataset"
	"caucus/internal/database"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// made makes the folder of a coordinator that has never run.
func made(t *testing.T) Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0", Address: "127.0.0.1:7443"}))
	return must(LoadConfig(filepath.Join(dir, ConfigFile)))
}

// charge makes a charge in a folder's ledger, as a coordinator does: it stores the ledger's head
// before it answers.
func charge(t *testing.T, c Config, ids ...string) (lines []privacy.Line) {
	t.Helper()
	ctx := t.Context()
	stores := must(OpenStoresAsLeader(ctx, c, nil))
	defer stores.Close()
	head, last, err := OpenLedgerHead(ctx, c.HeadFile(), stores.Journal)
	must(0, err)
	l := must(privacy.Open(stores.Journal, privacy.Config{LastSequence: last}))
	for _, id := range ids {
		must(0, l.Spend(ctx, id, privacy.PureCost(privacy.Party, 0, big.NewRat(1, 10))))
		must(head.Advance(ctx, stores.Journal))
		line, found, err := l.FindLine(ctx, id)
		if !found || err != nil {
			t.Fatal(found, err)
		}
		lines = append(lines, line)
	}
	if now := head.Current(); now.Sequence != int64(len(lines))+last {
		t.Errorf("the head is %s after %d charges", now, len(lines))
	}
	return lines
}

// TestBackup: a backup is made beside a running coordinator and contains no head file. It is
// restored exactly, and only to a new folder. The report says how many ledger entries the backup
// lacks.
func TestBackup(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	charge(t, c, "a")
	running := must(Lock(c.Dir))
	out := filepath.Join(t.TempDir(), "backup")
	report := must(Backup(ctx, c.Dir, out, time.Now()))
	running()
	if report.Ledger.Sequence != 1 || report.Files[StoreFile] == "" ||
		report.Files[LedgerFile] == "" || report.Files[SignerFile] == "" {
		t.Errorf("the backup holds %v at %s", report.Files, report.Ledger)
	}
	for _, e := range must(os.ReadDir(out)) {
		if info := must(e.Info()); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", e.Name(), info.Mode().Perm())
		}
		if strings.HasSuffix(e.Name(), "-wal") || e.Name() == "lock" ||
			strings.HasSuffix(e.Name(), ".head") {
			t.Errorf("%s is in the backup", e.Name())
		}
	}
	if _, err := Backup(ctx, c.Dir, out, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "there already") {
		t.Errorf("over an earlier backup: %v", err)
	}
	charge(t, c, "b", "c")
	if report := must(CheckBackup(ctx, out, c.Dir)); report.NewerEntries != 2 {
		t.Errorf("the backup is %d entries behind", report.NewerEntries)
	}
	if report := must(CheckBackup(ctx, out, "")); report.NewerEntries != 0 {
		t.Errorf("of no folder, the backup is %d entries behind", report.NewerEntries)
	}
	if _, err := Restore(ctx, out, c.Dir); err == nil ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("restored over a folder: %v", err)
	}
	must(0, os.Rename(c.Dir, c.Dir+".away"))
	if report := must(Restore(ctx, out, c.Dir)); report.NewerEntries != 2 {
		t.Errorf("the restored folder is %d entries behind", report.NewerEntries)
	}
	stores := must(OpenStores(c))
	defer stores.Close()
	_, last, err := OpenLedgerHead(ctx, c.HeadFile(), stores.Journal)
	if err != nil || last != 3 {
		t.Errorf("the ledger must have reached %d, %v", last, err)
	}
	l := must(privacy.Open(stores.Journal, privacy.Config{LastSequence: last}))
	if err := l.Spend(ctx, "d", privacy.PureCost(privacy.Party, 0,
		big.NewRat(1, 10))); !errors.Is(err,
		privacy.ErrBehind) {
		t.Errorf("a ledger that was put back charges: %v", err)
	}
}

// TestBackupReport: if a report's files or head differ from the backup's, the report counts as
// changed, and nothing is restored with it.
func TestBackupReport(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	out := filepath.Join(t.TempDir(), "backup")
	further := must(Backup(ctx, c.Dir, out, time.Now()))
	further.Ledger.Sequence = 4
	report := string(must(os.ReadFile(filepath.Join(out, BackupFile))))
	for name, test := range map[string]struct {
		file, text string // "" takes the file away
		says       string
	}{
		"no report":     {BackupFile, "", "it is no backup"},
		"fewer files":   {BackupFile, strings.Replace(report, `"`+LedgerFile+`"`, `"other"`, 1), LedgerFile + " is not in it"},
		"another entry": {BackupFile, string(must(json.Marshal(further))), "its ledger is at"},
		"no JSON":       {BackupFile, "{", "check backup"},
	} {
		path := filepath.Join(out, test.file)
		before := must(os.ReadFile(path))
		if must(0, os.Remove(path)); test.text != "" {
			must(0, os.WriteFile(path, []byte(test.text), 0o600))
		}
		if _, err := CheckBackup(ctx, out, ""); err == nil ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want …%s…", name, err, test.says)
		}
		if _, err := Restore(ctx, out, filepath.Join(t.TempDir(), "new")); err == nil {
			t.Errorf("%s: it is restored", name)
		}
		must(0, os.WriteFile(path, before, 0o600))
	}
	must(CheckBackup(ctx, out, ""))
}

// TestCheckBackup: a check refuses a backup that is damaged, cut off, or no backup at all. The
// check changes nothing in the backup.
func TestCheckBackup(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	charge(t, c, "a")
	out := filepath.Join(t.TempDir(), "backup")
	must(Backup(ctx, c.Dir, out, time.Now()))
	before := must(digests(out))
	if report := must(CheckBackup(ctx, out, c.Dir)); report.Ledger.Sequence != 1 ||
		report.NewerEntries != 0 {
		t.Errorf("the backup: %+v", report)
	}
	for _, file := range []string{StoreFile, LedgerFile, ConfigFile,
		SignerFile} {
		path := filepath.Join(out, file)
		good := must(os.ReadFile(path))
		bad := append([]byte{}, good...)
		bad[len(bad)/2] ^= 1
		for what, text := range map[string][]byte{"damaged": bad, "cut off": good[:len(good)/2],
			"empty": nil} {
			must(0, os.WriteFile(path, text, 0o600))
			if _, err := CheckBackup(ctx, out, ""); err == nil ||
				!strings.Contains(err.Error(), file) {
				t.Errorf("%s is %s: %v", file, what, err)
			}
			if _, err := Restore(ctx, out, c.Dir+".new"); err == nil {
				t.Errorf("restored although %s is %s", file, what)
			}
		}
		must(0, os.Remove(path))
		if _, err := CheckBackup(ctx, out, ""); err == nil {
			t.Errorf("%s is missing", file)
		}
		must(0, os.WriteFile(path, good, 0o600))
	}
	manifest := must(os.ReadFile(filepath.Join(out, BackupFile)))
	must(0, os.WriteFile(filepath.Join(out, BackupFile),
		[]byte(strings.Replace(string(manifest), SignerFile, "../"+SignerFile, 1)),
		0o600))
	if _, err := CheckBackup(ctx, out, ""); err == nil ||
		!strings.Contains(err.Error(), "it was changed") {
		t.Errorf("a manifest that points elsewhere: %v", err)
	}
	if _, err := CheckBackup(ctx, c.Dir, ""); err == nil ||
		!strings.Contains(err.Error(), "it is no backup") {
		t.Errorf("a coordinator's own folder: %v", err)
	}
	must(0, os.WriteFile(filepath.Join(out, BackupFile), manifest, 0o600))
	after := must(digests(out))
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s was changed", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// TestRestoreElsewhere: if a configuration names its own folder, its backup is not restored to
// another folder, because a coordinator would use the named one.
func TestRestoreElsewhere(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	charge(t, c, "a")
	dir := c.Dir
	file := c.Path(ConfigFile)
	must(0, os.WriteFile(file, append(must(os.ReadFile(file)), "dir: "+dir+"\n"...), 0o600))
	out := filepath.Join(t.TempDir(), "backup")
	must(Backup(ctx, dir, out, time.Now()))
	if _, err := Restore(ctx, out, dir+".new"); err == nil ||
		!strings.Contains(err.Error(), "says dir: "+dir) {
		t.Errorf("restored elsewhere: %v", err)
	}
	must(0, os.Rename(dir, dir+".away"))
	must(Restore(ctx, out, dir))
}

// TestReconcileOnce: a ledger lost entries and gave their numbers to other entries. Each lost entry
// is charged once, however often and in whatever order the entries are shown, and none is charged
// without the entries before it.
func TestReconcileOnce(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	charge(t, c, "a")
	dir := c.Dir

	history := func(costs ...int64) (lines []privacy.Line) {
		l := must(privacy.Open(privacy.NewMemoryJournal(), privacy.Config{}))
		for i, c := range costs {
			id := fmt.Sprintf("release %d of %v", i, costs)
			must(0, l.Spend(ctx, id, privacy.PureCost(privacy.Party, 0, big.NewRat(c, 10))))
			line, found, err := l.FindLine(ctx, id)
			if !found || err != nil {
				t.Fatal(found, err)
			}
			lines = append(lines, line)
		}
		return lines
	}
	first, second, third := history(1), history(2), history(3, 4)
	for _, c := range []struct {
		known []privacy.Line
		want  int
	}{
		{first, 1}, {first, 0}, {append(first, second...), 1}, {append(second, first...), 0}, {third, 2}, {append(third, third...), 0},
	} {
		charged := must(Reconcile(ctx, dir, c.known, nil))
		if len(charged) != c.want {
			t.Errorf("charged %v, want %d costs", charged, c.want)
		}
	}
	// This line alone shows that an entry came before it.
	fourth := history(5, 6)
	if _, err := Reconcile(ctx, dir, fourth[1:], nil); err == nil ||
		!strings.Contains(err.Error(), "1 entries were published and are lost") {
		t.Errorf("an entry whose forerunner nobody knows: %v", err)
	}
	if charged := must(Reconcile(ctx, dir, fourth, nil)); len(charged) != 2 {
		t.Errorf("charged %v, want 2 costs", charged)
	}
	charge(t, c) // the head file outside the folder knows this charge
}

// TestReconcile: each lost ledger entry is charged again once, however often it is shown: entries
// in the head file, entries that releases name, and plain costs. Nothing is charged while a
// coordinator runs, or while it is unknown what was lost.
func TestReconcile(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	if charged := must(Reconcile(ctx, c.Dir, nil, nil)); charged != nil {
		t.Errorf("of a whole ledger is charged %v", charged)
	}
	backup := must(os.ReadFile(c.Path(LedgerFile)))
	lines := charge(t, c, "a", "b")
	must(0, os.WriteFile(c.Path(LedgerFile), backup, 0o600))
	running := must(Lock(c.Dir))
	if _, err := Reconcile(ctx, c.Dir, lines, nil); err == nil ||
		!strings.Contains(err.Error(), "another coordinator runs") {
		t.Errorf("under a running coordinator: %v", err)
	}
	running()
	if _, err := Reconcile(ctx, c.Dir, lines[1:], nil); err == nil ||
		!strings.Contains(err.Error(), "1 entries were published and are lost") {
		t.Errorf("an entry that nobody knows: %v", err)
	}
	e := must(ReadEvidence(ctx, c.Dir))
	if e.StoredHead.Sequence != 2 || e.HeadFile != c.HeadFile() ||
		e.Keys.Newest() == (protocol.SignerKey{}) ||
		len(e.Lines) != 0 || e.Last != 0 {
		t.Errorf("the folder proves %+v", e)
	}
	if charged := must(Reconcile(ctx, c.Dir, lines, nil)); len(charged) != 2 {
		t.Errorf("charged %v, want 2 costs", charged)
	}
	if charged := must(Reconcile(ctx, c.Dir, lines, nil)); charged != nil {
		t.Errorf("charged twice: %v", charged)
	}
	charge(t, c) // the head file knows this charge

	// An operator may know only an entry's cost.
	c = made(t)
	backup = must(os.ReadFile(c.Path(LedgerFile)))
	lines = charge(t, c, "a")
	must(0, os.WriteFile(c.Path(LedgerFile), backup, 0o600))
	if charged := must(Reconcile(ctx, c.Dir, nil, lines[0].Costs)); len(charged) != 1 {
		t.Errorf("charged %v, want the cost that was named", charged)
	}
	charge(t, c)
}

// TestHeadFile: a ledger is not opened without its head file, or with that of another ledger. The
// coordinator counts from the further one of ledger and head file. A standby stores the heads that
// it is told.
func TestHeadFile(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	lines := charge(t, c, "a", "b")
	stores := must(OpenStores(c))
	defer stores.Close()
	head := must(os.ReadFile(c.HeadFile()))
	if h := must(privacy.ParseHead(string(head))); h != lines[1].Head() {
		t.Errorf("the file says %s, want %s", h, lines[1].Head())
	}
	for name, test := range map[string]struct{ text, says string }{
		"gone":    {"", "it remembers how far the ledger was"},
		"another": {"1:" + strings.Repeat("0", 64), "remembers another entry 1"},
		"damaged": {"one", "read ledger head"},
	} {
		if must(0, os.Remove(c.HeadFile())); test.text != "" {
			must(0, os.WriteFile(c.HeadFile(), []byte(test.text), 0o600))
		}
		if _, _, err := OpenLedgerHead(ctx, c.HeadFile(), stores.Journal); err == nil ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want …%s…", name, err, test.says)
		}
		must(0, os.WriteFile(c.HeadFile(), head, 0o600))
	}
	if h, last, err := OpenLedgerHead(ctx, "", stores.Journal); err != nil || last != 0 ||
		h.Current() != lines[1].Head() {
		t.Errorf("without a file: %v, %d", err, last)
	}
	if e := must(HeadAt(ctx, stores.Journal, 1)); e != lines[0].Head() {
		t.Errorf("entry 1 is %s", e)
	}
	if e := must(HeadAt(ctx, stores.Journal, 3)); e != (privacy.Head{}) {
		t.Errorf("entry 3 is %s", e)
	}
	further := privacy.Head{Sequence: 9, Hash: privacy.Digest{9}}
	must(0, StoreReplicaHead(c, further.String()))
	must(0, StoreReplicaHead(c, lines[0].Head().String()))
	if kept := must(privacy.ParseHead(string(must(os.ReadFile(c.HeadFile()))))); kept != further {
		t.Errorf("the file says %s, want %s", kept, further)
	}
	if err := StoreReplicaHead(c, "nine"); err == nil {
		t.Error("what is no head is kept")
	}
	h, last, err := OpenLedgerHead(ctx, c.HeadFile(), stores.Journal)
	if err != nil || last != 9 {
		t.Errorf("the ledger must have reached %d, %v", last, err)
	}
	told := privacy.Head{}
	h.Announce = func(now privacy.Head) { told = now }
	must(h.Advance(ctx, stores.Journal))
	if kept := must(privacy.ParseHead(string(must(os.ReadFile(c.HeadFile()))))); kept != further ||
		told != lines[1].Head() {
		t.Errorf("a ledger that was put back makes the file say %s, and tells %s", kept, told)
	}
}

// TestRotate: keys can be changed as often as callers can follow. The old key signs the new one,
// and earlier secrets are deleted. A folder whose keyring leads to other keys is refused.
func TestRotate(t *testing.T) {
	c := made(t)
	now := time.Now()
	first := must(LoadKeyring(c))
	running := must(Lock(c.Dir))
	if _, err := Rotate(c.Dir, now); err == nil {
		t.Error("keys of a running coordinator are changed")
	}
	running()
	for i := range protocol.MaxSuccessions {
		key := must(Rotate(c.Dir, now))
		ring := must(LoadKeyring(c))
		if ring.Keys.Newest() != key || ring.Signer.Key() != key ||
			ring.Keys.First() != first.Signer.Key() ||
			len(ring.Keys.Successions()) != i+1 {
			t.Fatalf("after %d changes: %+v", i+1, ring.Keys)
		}
	}
	if _, err := Rotate(c.Dir, now); err == nil ||
		!strings.Contains(err.Error(), "make a new coordinator") {
		t.Errorf("once more: %v", err)
	}
	for _, file := range keyFiles {
		if _, err := os.Stat(c.Path(file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
	operator := must(NewOperator(t.Context(), c.Dir, "second", now))
	if keys := must(operator.Keys()); keys.Newest() != must(LoadKeyring(c)).Signer.Key() ||
		operator.Coordinator != "127.0.0.1:7443" {
		t.Errorf("a profile of %s follows to %v", operator.Coordinator, keys.Newest())
	}
	if _, err := NewOperator(t.Context(), c.Dir, "SECOND", now); !errors.Is(err,
		protocol.ErrExists) {
		t.Errorf("a name that differs in case: %v", err)
	}
	text := must(os.ReadFile(c.Path(KeyringFile)))
	must(0, os.Remove(c.Path(KeyringFile)))
	if _, err := LoadKeyring(c); err == nil {
		t.Error("keys are read without their keyring")
	}
	must(0, os.WriteFile(c.Path(KeyringFile), text[:len(text)/2], 0o600))
	if _, err := LoadKeyring(c); err == nil {
		t.Error("a damaged keyring is read")
	}
}

// TestMembersAreOnce: a member is added once, with one role. No two names differ only in case. A
// name from a token belongs to its holder for as long as that member may call.
func TestMembersAreOnce(t *testing.T) {
	c := made(t)
	now := time.Now()
	stores := must(OpenStores(c))
	defer stores.Close()
	ensure := func(name string, role protocol.Role) error {
		return stores.Store.Update(t.Context(), func(tx records.Tx) error {
			return EnsureMember(tx, name, role, now)
		})
	}
	must(0, ensure("clinic", protocol.RoleParty))
	must(0, ensure("clinic", protocol.RoleParty))
	for name, role := range map[string]protocol.Role{"Clinic": protocol.RoleParty,
		"clinic": protocol.RoleOperator} {
		if err := ensure(name, role); !errors.Is(err, protocol.ErrExists) {
			t.Errorf("%s as %s: %v", name, role, err)
		}
	}
	must(0, stores.Store.Update(t.Context(), func(tx records.Tx) error {
		return errors.Join(tx.AddToken(records.Token{ID: "t1", Quota: 1, Created: now,
			Expires: now.Add(time.Hour)}),
			tx.AddMember("joined", protocol.RoleParty), tx.Join("t1", [32]byte{1}, "joined",
				[]byte("x")),
			tx.AddCertificate(records.Certificate{Serial: "5", Name: "joined",
				Expires: now.Add(time.Hour)}))
	}))
	if err := ensure("joined", protocol.RoleParty); !errors.Is(err, protocol.ErrExists) ||
		!strings.Contains(err.Error(), "join token t1") {
		t.Errorf("a name that came by a token: %v", err)
	}
	must(0, stores.Store.Update(t.Context(), func(tx records.Tx) error {
		return tx.Revoke("joined")
	}))
	must(0, ensure("joined", protocol.RoleParty))
}

// TestMakeHelper: keys for a helper are made once. A helper is named by its key while the
// coordinator is stopped, and an invalid key is refused. Shares that were restored from a backup
// are reconciled.
func TestMakeHelper(t *testing.T) {
	c := made(t)
	if _, err := ReconcileShares(t.Context(), c.Dir); err == nil ||
		!strings.Contains(err.Error(), "names no helper") {
		t.Errorf("without a helper: %v", err)
	}
	first := must(MakeHelper(c.Dir, "", ""))
	if again := must(MakeHelper(c.Dir, "", "")); again.Key != first.Key || first.Helper != nil ||
		first.Code != protocol.KeyCode(first.Key[:]) {
		t.Errorf("made %+v, then %+v", first, again)
	}
	other := must(protocol.NewSigner()).Key()
	for says, at := range map[string][2]string{"is none": {"127.0.0.1:7444", "key"},
		"own": {"127.0.0.1:7444", first.Key.String()}, "HOST:PORT": {"nowhere", other.String()},
		"not given": {"127.0.0.1:7444", ""}} {
		if _, err := MakeHelper(c.Dir, at[0], at[1]); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want …%s…", at, err, says)
		}
	}
	running := must(Lock(c.Dir))
	if _, err := MakeHelper(c.Dir, "127.0.0.1:7444", other.String()); err == nil {
		t.Error("a helper is named under a running coordinator")
	}
	running()
	must(MakeHelper(c.Dir, "127.0.0.1:7443", other.String()))
	if r := must(MakeHelper(c.Dir, "127.0.0.1:7444", other.String())); r.Key != first.Key ||
		r.Helper == nil || r.Helper.Key != other {
		t.Errorf("named %+v", r)
	}
	c = must(LoadConfig(c.Path(ConfigFile)))
	if c.Helper.Address != "127.0.0.1:7444" || c.Helper.Key != other || c.SharesHead() == "" ||
		strings.Count(string(must(os.ReadFile(c.Path(ConfigFile)))), "helper:") != 1 {
		t.Errorf("the configuration names %+v", c.Helper)
	}
	if behind := must(ReconcileShares(t.Context(), c.Dir)); behind {
		t.Error("new shares are behind")
	}
	out := filepath.Join(t.TempDir(), "backup")
	if report := must(Backup(t.Context(), c.Dir, out, time.Now())); report.Files[SharesFile] == "" {
		t.Errorf("the backup has no shares: %v", report.Files)
	}
}

// TestPutBack: a release that the store lost makes its study released again, completely or not at
// all. A release that this coordinator did not sign is refused.
func TestPutBack(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	now := time.Now()
	if all := must(RestoreReleases(ctx, c.Dir, nil, now)); all != nil {
		t.Errorf("of none, %v is put back", all)
	}
	ring := must(LoadKeyring(c))
	schema := must(dataset.ParseSchema(strings.NewReader(`
label: {column: y, classes: [no, yes]}
features:
  - {column: a, kind: numeric, min: 0, max: 10}
`)))
	plan := study.Plan{Name: "trial", Kind: "classify", Schema: schema,
		Map:      dataset.Identity(schema),
		Deadline: now.UTC().Truncate(time.Second), Roster: []study.PartyID{"p0", "p1"},
		Unit: privacy.Party, Epsilon: 1, Delta: 1e-6, KindTerms: []byte(`{"shards":1}`), Mechanism: "tally", Noise: study.NoiseCoordinator, Minimum: 2}
	signed := func(name string, by *protocol.Signer) protocol.SignedRelease {
		p := plan
		p.Name = name
		r := study.Release{Plan: must(p.Canonical()),
			Manifest: study.Manifest{Form: study.ManifestForm, Kind: "classify",
				Unit:        privacy.Party,
				Contributed: []study.PartyID{"p0", "p1"}, Ledger: []privacy.Line{{Sequence: 4}},
				Sealed: "all contributed"}}
		r.PlanHash = study.HashOf(r.Plan)
		document := must(json.Marshal(r))
		return protocol.SignedRelease{Release: r, Document: document,
			Signature: by.Sign(protocol.ReleaseDocument, document), Signer: by.Key()}
	}
	stranger := must(protocol.NewSigner())
	if _, err := RestoreReleases(ctx, c.Dir, []protocol.SignedRelease{signed("trial", ring.Signer),
		signed("other", stranger)}, now); err == nil {
		t.Error("a stranger's release is put back")
	}
	first := signed("trial", ring.Signer)
	for _, was := range []study.State{"", study.Released} {
		all := must(RestoreReleases(ctx, c.Dir, []protocol.SignedRelease{first}, now))
		if len(all) != 1 || all[0].Name != "trial" || all[0].StateBefore != was ||
			all[0].Why != "" {
			t.Errorf("put back %+v, it was %q", all, was)
		}
	}
	e := must(ReadEvidence(ctx, c.Dir))
	if e.Last != 4 || len(e.Lines) != 1 {
		t.Errorf("the store knows entry %d", e.Last)
	}
	plan.Purpose = "another plan of the same name"
	if all := must(RestoreReleases(ctx, c.Dir,
		[]protocol.SignedRelease{signed("trial", ring.Signer)},
		now)); len(all) != 1 ||
		!strings.Contains(all[0].Why, "another study has its name") {
		t.Errorf("a second study of one name: %+v", all)
	}
}

// TestStores: missing or empty databases are refused, only one process leads, and a folder's ledger
// is found.
func TestStores(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	lead := must(OpenStoresAsLeader(ctx, c, nil))
	if _, err := OpenStoresAsLeader(ctx, c, nil); err == nil ||
		!strings.Contains(err.Error(), "another coordinator") {
		t.Errorf("two lead: %v", err)
	}
	must(0, lead.RequestBallotsAgain(ctx, c))
	must(0, lead.Close())
	if at := must(LedgerAt(c.Dir)); at != c.Path(LedgerFile) {
		t.Errorf("the ledger is at %s", at)
	}
	if at := must(LedgerAt(t.TempDir())); filepath.Base(at) != LedgerFile {
		t.Errorf("a helper's ledger is at %s", at)
	}
	if all := MigrationCounts(); len(all) != 3 || len(all) != len(Databases()) || all[0] < 1 {
		t.Errorf("%v migrations are known", all)
	}
	for _, file := range []string{StoreFile, LedgerFile} {
		text := must(os.ReadFile(c.Path(file)))
		must(0, os.WriteFile(c.Path(file), nil, 0o600))
		if s, err := OpenStores(c); err == nil {
			s.Close()
			t.Errorf("an empty %s is opened", file)
		}
		must(0, os.Remove(c.Path(file)))
		if s, err := OpenStores(c); err == nil {
			s.Close()
			t.Errorf("without %s: it is opened", file)
		}
		must(0, os.WriteFile(c.Path(file), text, 0o600))
	}
	for _, to := range []string{"", "nowhere", "postgres://"} {
		if _, err := MoveToPostgreSQL(ctx, c.Dir, to); err == nil {
			t.Errorf("moved to %q", to)
		}
	}
}

// TestLeader: after a move to PostgreSQL, one process leads at a time. A former leader writes to
// none of the databases.
func TestLeader(t *testing.T) {
	ctx := t.Context()
	c := made(t)
	charge(t, c, "a")
	to := testserver.Database(t)
	if rows := must(MoveToPostgreSQL(ctx, c.Dir, to)); rows < 2 {
		t.Errorf("%d rows", rows)
	}
	must(MoveToPostgreSQL(ctx, c.Dir, to)) // again, as after a kill
	if _, err := MoveToPostgreSQL(ctx, c.Dir, testserver.Database(t)); err == nil {
		t.Error("it was moved a second time")
	}
	c = must(LoadConfig(c.Path(ConfigFile)))
	if at := must(LedgerAt(c.Dir)); at != to {
		t.Error("the ledger is not where it was moved to")
	}
	if _, err := Backup(ctx, c.Dir, filepath.Join(t.TempDir(), "b"), time.Now()); !errors.Is(err,
		database.ErrServerCopy) {
		t.Errorf("a backup of PostgreSQL: %v", err)
	}
	if _, err := OpenStoresAsLeader(ctx, c, nil); err == nil ||
		!strings.Contains(err.Error(), "standby") {
		t.Errorf("it leads over one disk: %v", err)
	}
	c.AllowNoStandby = true
	refused := errors.New("not now")
	if _, err := OpenStoresAsLeader(ctx, c, func(*database.Lease) error {
		return refused
	}); !errors.Is(err, refused) {
		t.Errorf("it leads though it may not: %v", err)
	}
	old := must(OpenStoresAsLeader(ctx, c, nil))
	defer old.Close()
	must(0, old.RequestBallotsAgain(ctx, c))
	write := map[string]func() error{
		"store": func() error {
			return old.Store.Update(ctx, func(tx records.Tx) error {
				return tx.AddMember("late", protocol.RoleParty)
			})
		},
		"ledger": func() error {
			return old.Journal.Update(ctx, func(tx privacy.Tx) error {
				return tx.Append(privacy.Entry{Sequence: 9, ID: "late", Totals: []byte{}})
			})
		},
	}
	db := must(sql.Open("pgx", to))
	defer db.Close()
	// the session of its lock
	must(db.ExecContext(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"))
	next := must(database.AcquireLease(ctx, to, "next", true, func(error) {}))
	defer next.Release()
	for what, write := range write {
		if err := write(); !errors.Is(err, database.ErrLeaseLost) {
			t.Errorf("who led writes to the %s: %v", what, err)
		}
	}
	must(0, os.WriteFile(c.Path(LedgerFile), nil, 0o600))
	if _, err := OpenStores(c); err == nil || !strings.Contains(err.Error(), "in the folder too") {
		t.Errorf("a ledger in a file and one in PostgreSQL: %v", err)
	}
}
