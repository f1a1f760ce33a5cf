package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

func newKey(t *testing.T) *protocol.Signer {
	t.Helper()
	k, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// twoPersons makes a rig whose policy requires two of alice, bob and carol.
func twoPersons(t *testing.T) (*rig, map[string]*protocol.Signer) {
	r := newRig(t, nil)
	keys := map[string]*protocol.Signer{"alice": newKey(t), "bob": newKey(t), "carol": newKey(t)}
	r.Config.Policy.Approval, r.Config.Policy.Approvers = policy.ApproveByTwo,
		map[string]protocol.SignerKey{}
	for name, k := range keys {
		r.Config.Policy.Approvers[name] = k.Key()
	}
	return r, keys
}

// TestTwoPersons: a study takes place once two of the named persons have approved this plan with
// their own keys.
func TestTwoPersons(t *testing.T) {
	ctx := context.Background()
	r, keys := twoPersons(t)
	a := r.agent(t)
	round(t, a)
	refused := func(what string, who desk.Approver) {
		t.Helper()
		if _, err := a.Approve(ctx, "illness", who); err == nil {
			t.Errorf("%s: approved", what)
		}
		round(t, a)
		if len(r.bodies) != 0 {
			t.Fatalf("%s: something was sent", what)
		}
	}
	refused("a stranger", desk.Approver{Name: "mallory", Key: newKey(t)})
	refused("no key", desk.Approver{Name: "alice", Key: nil})
	refused("another's key", desk.Approver{Name: "alice", Key: keys["bob"]})
	for range 2 { // alice twice is one person
		got, err := a.Approve(ctx, "illness", desk.Approver{Name: "alice", Key: keys["alice"]})
		if err != nil || got.Approved || !slices.Equal(got.ApprovedBy, []string{"alice"}) ||
			got.Progress != desk.ProgressWaiting {
			t.Fatalf("after alice: %v, %+v", err, got)
		}
		round(t, a)
	}
	d := a.site.Studies.Folder(r.hash)
	forge := func(what string, yes site.Approval, file string) {
		t.Helper()
		if err := d.WriteJSON(site.ApprovalFile(file), yes); err != nil {
			t.Fatal(err)
		}
		round(t, a)
		if len(r.bodies) != 0 {
			t.Fatalf("%s: something was sent", what)
		}
		os.Remove(filepath.Join(d.Dir, site.ApprovalFile(file)))
	}
	other := newRig(t, func(p *study.Proposal) { p.Epsilon = 0.5 })
	shown := shownNow(t, a)
	forge("signed for another declaration",
		site.Approval{Name: "bob", DeclarationDigest: shown,
			Signature: keys["bob"].Sign(protocol.ApprovalDocument,
				site.ApprovalText(r.hash, shown[1:]+"0", "bob"))}, "bob")
	forge("another declaration",
		site.Approval{Name: "bob", DeclarationDigest: shown[1:] + "0",
			Signature: keys["bob"].Sign(protocol.ApprovalDocument,
				site.ApprovalText(r.hash, shown[1:]+"0", "bob"))}, "bob")
	forge("no signature", site.Approval{Name: "bob", DeclarationDigest: shown}, "bob")
	forge("signed for another plan",
		site.Approval{Name: "bob", DeclarationDigest: shown,
			Signature: keys["bob"].Sign(protocol.ApprovalDocument,
				site.ApprovalText(other.hash, shown, "bob"))}, "bob")
	forge("another kind of document",
		site.Approval{Name: "bob", DeclarationDigest: shown,
			Signature: keys["bob"].Sign(protocol.PlanDocument,
				site.ApprovalText(r.hash, shown, "bob"))}, "bob")
	forge("alice under another name",
		site.Approval{Name: "bob", DeclarationDigest: shown,
			Signature: keys["alice"].Sign(protocol.ApprovalDocument,
				site.ApprovalText(r.hash, shown, "alice"))}, "bob")
	forge("alice in another file",
		site.Approval{Name: "alice", DeclarationDigest: shown,
			Signature: keys["alice"].Sign(protocol.ApprovalDocument,
				site.ApprovalText(r.hash, shown, "alice"))}, "bob")
	got, err := a.Approve(ctx, "illness", desk.Approver{Name: "carol", Key: keys["carol"]})
	if err != nil || !got.Approved || !slices.Equal(got.ApprovedBy, []string{"alice", "carol"}) {
		t.Fatalf("after carol: %v, %+v", err, got)
	}
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads, want 1; log:\n%s", len(r.bodies), r.Log)
	}
}

// TestRefusedStaysRefused: a person's refusal outlasts approvals before and after, a restart, and a
// policy that requires nobody; nothing is charged.
func TestRefusedStaysRefused(t *testing.T) {
	ctx := context.Background()
	r, keys := twoPersons(t)
	a := r.agent(t)
	if _, err := a.Approve(ctx, "illness",
		desk.Approver{Name: "alice", Key: keys["alice"]}); err != nil {
		t.Fatal(err)
	}
	got, err := a.Refuse(ctx, "illness", desk.Approver{Name: "bob"}, "not in this form")
	if err != nil || got.Progress != desk.ProgressDeclined ||
		!strings.Contains(got.RefusedBy, "bob") {
		t.Fatalf("refuse: %v, %+v", err, got)
	}
	for name, key := range keys {
		if _, err := a.Approve(ctx, "illness", desk.Approver{Name: name, Key: key}); err == nil ||
			!strings.Contains(err.Error(), "new plan") {
			t.Errorf("%s approves what was refused: %v", name, err)
		}
	}
	round(t, a)
	a.Close()
	r.Config.Policy.Approval = policy.ApproveByPolicy
	a = r.agent(t)
	round(t, a)
	if n := charges(t, a, privacy.Record); len(r.bodies) != 0 || n != 0 {
		t.Errorf("%d uploads, %d charges of a refused study", len(r.bodies), n)
	}
}

// refusedPrepared makes a site whose contribution was made, could not be sent, and was then
// refused. Now it could be sent.
func refusedPrepared(t *testing.T) (*rig, *Agent) {
	t.Helper()
	ctx := context.Background()
	r := newRig(t, nil)
	r.refuse = protocol.ErrUnavailable
	a := r.agent(t)
	_ = a.PollOnce(ctx) // prepared, not sent
	if _, err := a.Refuse(ctx, "illness", desk.Approver{}, ""); err != nil {
		t.Fatal(err)
	}
	r.refuse = nil
	return r, a
}

// TestRefusedTooLate: a received contribution cannot be refused; a prepared one can until it
// leaves, and then does not leave.
func TestRefusedTooLate(t *testing.T) {
	r, a := refusedPrepared(t)
	round(t, a)
	round(t, a)
	r.state = study.Sealed
	round(t, a)
	d := a.site.Studies.Folder(r.hash)
	if len(r.bodies) != 0 || r.declined != 1 || !d.Has(site.FileClosed) {
		t.Errorf("%d uploads of what was refused, declined %d times, closed %v", len(r.bodies), r.declined, d.Has(site.FileClosed))
	}
	for written := range 2 { // no refusal reaches a file that is carried
		if written == 1 {
			if err := errors.Join(d.Write(site.FileUpload, nil),
				d.Write(site.FileAnswer, []byte("{}"))); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := a.ReviewWithoutRecords(context.Background(), r.hash); err != nil ||
			strings.Contains(got.RefusedBy, "get it back") != (written == 1) {
			t.Errorf("with %d answers in files it is %q, %v", written, got.RefusedBy, err)
		}
	}
	r = newRig(t, nil)
	a = r.agent(t)
	round(t, a)
	if _, err := a.Refuse(context.Background(), "illness", desk.Approver{}, ""); err == nil ||
		!strings.Contains(err.Error(), "taken back") {
		t.Errorf("refuse what was received: %v", err)
	}
}

// TestRefusedWhateverIsSaid: a coordinator that claims to have the contribution does not get a
// refused one.
func TestRefusedWhateverIsSaid(t *testing.T) {
	r, a := refusedPrepared(t)
	r.stored = []byte{1}
	round(t, a)
	r.state = study.Sealed
	round(t, a)
	if d := a.site.Studies.Folder(r.hash); len(r.bodies) != 0 || !d.Has(site.FileClosed) {
		t.Errorf("%d uploads of what was refused, closed %v", len(r.bodies), d.Has(site.FileClosed))
	}
}

// TestRefusedAndHandedIn: if a person refused a contribution that was already carried and handed
// in, the agent does not claim that nothing counts.
func TestRefusedAndHandedIn(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	r.refuse = study.ErrNotOpen
	round(t, a)
	d := a.site.Studies.Folder(r.hash)
	if _, err := a.Refuse(t.Context(), "illness", desk.Approver{Name: "ann"}, "no"); err != nil ||
		!d.Has(site.FileUpload) {
		t.Fatalf("prepared %v, refused: %v", d.Has(site.FileUpload), err)
	}
	r.stored, r.state = []byte{1}, study.Sealed
	round(t, a)
	if why, err := d.Read(site.FileClosed); err != nil ||
		!strings.Contains(string(why), "says that this site's contribution is in it") {
		t.Errorf("it is said to have ended because %s, %v", why, err)
	}
}

// TestYear: a year has a limit in addition to the total; the next year starts anew; a clock that is
// set back, or ahead of the coordinator's, gains nothing.
func TestYear(t *testing.T) {
	r := newRig(t, nil)
	now := time.Date(2030, 12, 30, 12, 0, 0, 0, time.UTC)
	r.Config.Clock.Now = func() time.Time { return now }
	// One study per year, three in all.
	r.Config.Policy.YearLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1.1, Delta: 1e-5}}
	r.Config.Policy.TotalLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 4, Delta: 1e-4}}
	n := 0
	try := func(what string, skew time.Duration, want int) {
		t.Helper()
		n++
		s := newRig(t, func(p *study.Proposal) { p.Name = strings.Repeat("x", n) })
		s.Config, s.skew = r.Config, skew
		s.Config.Log = nil
		a, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		round(t, a)
		round(t, a)
		if len(s.bodies) != want {
			t.Errorf("%s: %d uploads, want %d", what, len(s.bodies), want)
		}
		preview, _, err := a.Preview(context.Background(), strings.Repeat("x", n))
		if err != nil || len(preview.Budgets) != 2 || preview.Allowed != (want == 1) {
			t.Errorf("%s: preview %v, allowed %v, %+v", what, err, preview.Allowed, preview.Budgets)
		}
		all, _, err := a.Studies(context.Background())
		for _, s := range all {
			if refused := s.Progress == desk.ProgressRefused; err != nil ||
				s.Study == strings.Repeat("x", n) && refused != (want == 0) {
				t.Errorf("%s: among the studies it is %q, %v", what, s.Progress, err)
			}
		}
	}
	try("first of 2030", 0, 1)
	try("second of 2030", 0, 0)
	now = now.AddDate(0, 0, 3)
	r.Config.Policy.YearLimit[privacy.Record] = privacy.Budget{Epsilon: 1.1, Delta: 1e-5}
	try("first of 2031", 0, 1)
	now = now.AddDate(-1, 0, 0)
	try("the clock is put back to 2030", 0, 0)
	now = now.AddDate(-20, 0, 0)
	try("the clock is put back to 2010", 0, 0)
}

// TestOldYears: a coordinator whose clock is years behind or ahead cannot open one year after
// another, each with its budget; once the clocks agree, the one study of the year is made.
func TestOldYears(t *testing.T) {
	r := newRig(t, nil)
	now := time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)
	r.Config.Clock.Now = func() time.Time { return now }
	r.Config.Policy.YearLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1.1, Delta: 1e-5}}
	r.Config.Policy.TotalLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 60, Delta: 1e-2}}
	sent, declined := 0, 0
	try := func(n int, at time.Time) *rig {
		s := newRig(t, func(p *study.Proposal) { p.Name = strings.Repeat("x", n) })
		s.Config, s.skew = r.Config, at.Sub(now)
		s.Config.Log = slog.New(slog.NewTextHandler(s.Log, nil))
		a, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		round(t, a)
		round(t, a)
		sent, declined = sent+len(s.bodies), declined+s.declined
		return s
	}
	for i := range 13 {
		s := try(i+1, now.AddDate(i-13, 0, 0))
		if n := strings.Count(s.Log.String(), "clock and the coordinator's are"); n != 1 {
			t.Errorf("why it waits is said %d times:\n%s", n, s.Log)
		}
	}
	try(14, now.AddDate(1, 0, 0))
	if sent != 0 || declined != 0 {
		t.Errorf("a coordinator with another clock got %d contributions and was told no %d times in a day, want none: it waits", sent, declined)
	}
	try(15, now)
	try(16, now)
	if sent != 1 || declined != 1 {
		t.Errorf("when the clocks agree: %d contributions, %d declined, want one of each", sent, declined)
	}
}

func decisions(t *testing.T, c site.Config) (what []string, lines []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(site.AuditFile(c))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v in line %q", err, line)
		}
		for _, key := range []string{"time", "level", "msg", "party", "study", "name"} {
			if m[key] == nil && (m["source"] == nil || key == "time" || key == "msg") {
				t.Errorf("no %s in %s", key, line)
			}
		}
		lines, what = append(lines, m), append(what, m["msg"].(string))
	}
	return what, lines
}

// TestAuditLog: each decision is a line with its person, syslog gets the same lines, and no line
// holds anything of the records.
func TestAuditLog(t *testing.T) {
	r, keys := twoPersons(t)
	socket := filepath.Join(t.TempDir(), "log")
	syslog, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer syslog.Close()
	r.Config.Audit.Syslog = filepath.Join(t.TempDir(), "nobody")
	a := r.agent(t)
	a.Close() // it starts anyway
	r.Config.Audit.Syslog = socket
	a = r.agent(t)
	round(t, a)
	for _, name := range []string{"alice", "bob"} {
		if _, err := a.Approve(context.Background(), "illness",
			desk.Approver{Name: name, Key: keys[name]}); err != nil {
			t.Fatal(err)
		}
	}
	round(t, a)
	round(t, a)
	r.state = study.Released
	round(t, a)
	got, lines := decisions(t, r.Config)
	want := []string{site.AuditApproved, site.AuditApproved, site.AuditAllowed, site.AuditCharged,
		site.AuditSending, site.AuditReceipt, site.AuditReleased}
	if !slices.Equal(got, want) {
		t.Errorf("audit log says %q, want %q", got, want)
	}
	if lines[2]["by"] != "alice, bob" || lines[0]["by"] != "alice" || lines[0]["signed"] != true {
		t.Errorf("by whom: %v %v", lines[0], lines[2])
	}
	file, _ := os.ReadFile(site.AuditFile(r.Config))
	for _, never := range []string{planted, "martian", "61"} { // 61 records
		if bytes.Contains(undated(file), []byte(never)) {
			t.Errorf("%q is in the audit log:\n%s", never, file)
		}
	}
	packet := make([]byte, 4096)
	for line := range bytes.Lines(file) {
		syslog.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, err := syslog.Read(packet)
		if err != nil || !bytes.Contains(packet[:n], bytes.TrimSpace(line)) ||
			!bytes.Contains(packet[:n], []byte("caucus-agent")) {
			t.Fatalf("syslog got %q (%v), want %s", packet[:n], err, line)
		}
	}
	syslog.Close() // it ends: the file still has everything, and nothing stops
	if err := a.site.Audit.Record(site.AuditClosed, r.hash, "illness"); err != nil ||
		!strings.Contains(r.Log.String(), "syslog does not take") {
		t.Errorf("without syslog: %v, log:\n%s", err, r.Log)
	}
}

// undated is an audit log without random values and dates.
func undated(file []byte) []byte {
	var out []byte
	for line := range bytes.Lines(file) {
		var m map[string]any
		_ = json.Unmarshal(line, &m)
		delete(m, "time")
		delete(m, "study")
		delete(m, "received")
		b, _ := json.Marshal(m)
		out = append(out, b...)
	}
	return out
}

// TestAuditFirst: a decision that cannot be recorded has no effect: no charge, no upload. The error
// is logged once.
func TestAuditFirst(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	a.site.Audit.Close()
	for range 3 {
		round(t, a)
	}
	if n := charges(t, a, privacy.Record); n != 0 || len(r.bodies) != 0 {
		t.Errorf("%d charges, %d uploads without a record", n, len(r.bodies))
	}
	if n := strings.Count(r.Log.String(), "write audit log"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, r.Log)
	}
}

// TestSameTroubleSameWords: a file that cannot be made or moved fails with the same words each
// time, so that a full disk is logged once.
func TestSameTroubleSameWords(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "taken", "x"))
	for _, path := range []string{filepath.Join(dir, "gone", "file"), filepath.Join(dir, "taken")} {
		first, second := protocol.WriteSecret(path, nil), protocol.WriteSecret(path, nil)
		var file *fs.PathError
		if first == nil || second == nil || first.Error() != second.Error() ||
			!errors.As(first, &file) || file.Path != path {
			t.Errorf("the same trouble twice: %v; %v", first, second)
		}
	}
}

// TestOtherTerms: a plan made with other constants than this machine computes is refused before any
// charge.
func TestOtherTerms(t *testing.T) {
	r := newRig(t, nil)
	p := r.study.Plan
	if p.TermsDigest == "" {
		t.Fatal("the plan does not say its terms")
	}
	p.TermsDigest = strings.Repeat("0", 64)
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	r.study.Plan, r.study.PlanBytes, r.hash = p, canonical, study.HashOf(canonical)
	r.study.Hash = r.hash
	a := r.agent(t)
	round(t, a)
	round(t, a)
	if n := charges(t, a, privacy.Record); n != 0 || len(r.bodies) != 0 ||
		strings.Count(r.Log.String(), "plan refused: terms") != 1 {
		t.Errorf("%d charges, %d uploads; log:\n%s", n, len(r.bodies), r.Log)
	}
}

func shownNow(t *testing.T, a *Agent) string {
	t.Helper()
	d, err := a.site.Sources.Of(study.Plan{SourceName: "ward"})
	if err != nil {
		t.Fatal(err)
	}
	return d.ApprovedDigest()
}

// TestApprovalLapses: an approval is for one declaration of the source. After another declaration,
// even of the same file, or another mapping, persons are asked again; a changed file alone does not
// matter.
func TestApprovalLapses(t *testing.T) {
	ctx := context.Background()
	for name, test := range map[string]struct {
		between func(*testing.T, *rig, *Agent)
		want    int // uploads before somebody approves again
	}{
		"nothing": {func(*testing.T, *rig, *Agent) {}, 1},
		"the file changed": {func(t *testing.T, r *rig, _ *Agent) {
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 20))
		}, 1},
		"declared anew, the same": {func(t *testing.T, r *rig, a *Agent) {
			if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "bob"},
				source.DeclareOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 0},
		"another mapping": {func(t *testing.T, r *rig, a *Agent) {
			r.SetMapping(source.MappingSource{Inline: mapped(t, "decimal: \",\"")})
			a.site.Config = r.Config
			if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "bob"},
				source.DeclareOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Config.Policy.Approval = policy.ApproveByPerson
			a := r.agent(t)
			round(t, a)
			before, err := a.Approve(ctx, "illness", desk.Approver{Name: "alice"})
			if err != nil || !before.Approved || before.DeclarationDigest != shownNow(t, a) {
				t.Fatalf("%v, %+v", err, before)
			}
			test.between(t, r, a)
			round(t, a)
			if len(r.bodies) != test.want || charges(t, a, privacy.Record) != int64(test.want) {
				t.Fatalf("%d uploads, want %d; log:\n%s", len(r.bodies), test.want, r.Log)
			}
			if test.want == 1 {
				return
			}
			review, _, err := a.Preview(ctx, "illness")
			if err != nil || review.Progress != desk.ProgressWaiting ||
				!slices.Equal(review.LapsedApprovals, []string{"alice"}) ||
				len(review.ApprovedBy) != 0 {
				t.Errorf("%v, %q, lapsed %v", err, review.Progress, review.LapsedApprovals)
			}
			if !strings.Contains(r.Log.String(), "again since its source was declared anew") {
				t.Errorf("the log does not say so:\n%s", r.Log)
			}
			if _, err := a.Approve(ctx, "illness",
				desk.Approver{Name: "alice", DeclarationDigest: before.DeclarationDigest[:16]}); err == nil ||
				!strings.Contains(err.Error(), "declared anew") {
				t.Errorf("approved as it was shown before: %v", err)
			}
			if _, err := a.Approve(ctx, "illness",
				desk.Approver{Name: "alice", DeclarationDigest: review.DeclarationDigest[:16]}); err != nil {
				t.Fatal(err)
			}
			round(t, a)
			if len(r.bodies) != 1 || charges(t, a, privacy.Record) != 1 {
				t.Errorf("%d uploads after another yes; log:\n%s", len(r.bodies), r.Log)
			}
		})
	}
}

// TestLapsesBetweenChargeAndUpload: if a source is declared anew after a study was charged, before
// or while its records are read, nothing unapproved leaves; once approved, it is not charged again.
func TestLapsesBetweenChargeAndUpload(t *testing.T) {
	ctx := context.Background()
	for _, while := range []bool{false, true} {
		r := newRig(t, nil)
		r.Config.Policy.Approval = policy.ApproveByPerson
		a := r.agent(t)
		anew := func() {
			if _, err := a.DeclareSource(context.Background(), "ward", desk.Approver{Name: "bob"},
				source.DeclareOptions{}); err != nil {
				t.Error(err)
			}
		}
		round(t, a)
		if _, err := a.Approve(ctx, "illness", desk.Approver{Name: "alice"}); err != nil {
			t.Fatal(err)
		}
		if err := a.PollOnce(ctx); err != nil { // charged
			t.Fatal(err)
		}
		if prepare := a.preparation.prepare; while {
			a.preparation.prepare = func(ctx context.Context, w window) draft {
				anew()
				a.preparation.prepare = prepare
				return prepare(ctx, w)
			}
		} else {
			anew()
		}
		a.SendCharged(ctx)
		round(t, a)
		if len(r.bodies) != 0 || a.site.Studies.Folder(r.hash).Has(site.FileUpload) {
			t.Fatalf("while %v: something that nobody approved was made", while)
		}
		if review, _, err := a.Preview(ctx, "illness"); err != nil ||
			review.Progress != desk.ProgressWaiting {
			t.Errorf("while %v: %v, %q", while, err, review.Progress)
		}
		if _, err := a.Approve(ctx, "illness", desk.Approver{Name: "alice"}); err != nil {
			t.Fatal(err)
		}
		round(t, a)
		if len(r.bodies) != 1 || charges(t, a, privacy.Record) != 1 {
			t.Errorf("while %v: %d uploads and %d charges; log:\n%s", while, len(r.bodies),
				charges(t, a, privacy.Record), r.Log)
		}
	}
}

// TestNothingShownNothingApproved: a study whose source is not declared cannot be approved yet.
func TestNothingShownNothingApproved(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.Approval = policy.ApproveByPerson
	os.RemoveAll(filepath.Join(r.Config.State, "sources"))
	a := r.agent(t)
	if _, err := a.Approve(context.Background(), "illness",
		desk.Approver{Name: "alice"}); err == nil ||
		!strings.Contains(err.Error(), "caucus agent source declare ward") {
		t.Errorf("approve = %v, want what to do first", err)
	}
}
