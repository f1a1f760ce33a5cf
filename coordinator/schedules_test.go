package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// schedule is what happens to a coordinator with two studies, one line an
// operation. Its text can be read, kept and played again:
//
//	parties 3, head
//	open a
//	kill 1 after study.Contributed
//	contribute p0 a
//	settle all
type schedule struct {
	parties int
	head    bool // the ledger's head is kept in a file
	lines   []string
}

func (s schedule) String() string {
	first := fmt.Sprintf("parties %d", s.parties)
	if s.head {
		first += ", head"
	}
	return first + "\n" + strings.Join(s.lines, "\n") + "\n"
}

// parseSchedule reads a schedule; lines that begin with # are comments.
func parseSchedule(text string) (s schedule, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case line == "" || words[0] == "#":
		case words[0] == "parties" && s.parties == 0:
			_, err = fmt.Sscanf(line, "parties %d", &s.parties)
			s.head = strings.HasSuffix(line, ", head")
		case operations[words[0]].do == nil:
			err = fmt.Errorf("line %q: no such operation", line)
		default:
			s.lines = append(s.lines, line)
		}
		if err != nil {
			return s, err
		}
	}
	if stages[s.parties] == nil {
		err = fmt.Errorf("%d parties: give 2, 3 or 4", s.parties)
	}
	return s, err
}

// operation is one kind of line: how it is drawn, and what it does.
type operation struct {
	draw func(*rand.Rand, schedule) string // the words after the first
	do   func(*trial, []string)
}

// operations are all of them.
var operations = map[string]operation{
	"open":       {drawStudy, (*trial).open},
	"contribute": {func(r *rand.Rand, s schedule) string { return drawBoth(r, s) + pick(r, fates) }, (*trial).contribute},
	"together": {func(r *rand.Rand, s schedule) string {
		return drawStudy(r, s) + " " + drawParty(r, s) + pick(r, []string{"", " other"})
	}, (*trial).together},
	"other":   {drawBoth, (*trial).contributeOther},
	"decline": {drawBoth, (*trial).decline},
	"cancel":  {drawStudy, (*trial).cancel},
	"poll":    {drawParty, (*trial).poll},
	"waive":   {drawStudy, (*trial).waive},
	"revoke":  {drawParty, (*trial).revoke},
	"enrol":   {func(r *rand.Rand, s schedule) string { return drawParty(r, s) + pick(r, fates[:2]) }, (*trial).enrol},
	"renew":   {func(r *rand.Rand, s schedule) string { return drawParty(r, s) + pick(r, fates[:2]) }, (*trial).renew},
	"look":    {drawNothing, (*trial).look},
	"clock": {func(r *rand.Rand, _ schedule) string {
		return pick(r, []string{"10m", "59m", "61m", "26h", "-10m", "-2h", "-26h"})
	}, (*trial).jump},
	"pass":    {func(r *rand.Rand, _ schedule) string { return pick(r, []string{"10m", "61m", "25h"}) }, (*trial).pass},
	"vouch":   {drawNothing, (*trial).vouch},
	"backup":  {drawNothing, (*trial).backup},
	"restore": {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(pick(r, restorable), " ", r.IntN(3)) }, (*trial).restore},
	"damage":  {drawBoth, (*trial).damage},
	"kill":    {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(1+r.IntN(4), " ", pick(r, effects)) }, (*trial).killAt},
	"fail":    {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(1+r.IntN(3), " ", pick(r, failing)) }, (*trial).failAt},
	"heal":    {drawNothing, (*trial).well},
	"away":    {drawNothing, (*trial).away},
	"restart": {drawNothing, (*trial).restart},
	"settle":  {drawNothing, (*trial).settle},
}

func drawNothing(*rand.Rand, schedule) string   { return "" }
func drawStudy(r *rand.Rand, _ schedule) string { return pick(r, []string{"a", "b"}) }
func drawParty(r *rand.Rand, s schedule) string { return fmt.Sprint("p", r.IntN(s.parties)) }
func drawBoth(r *rand.Rand, s schedule) string  { return drawParty(r, s) + " " + drawStudy(r, s) }

// fates are what becomes of a call on its way, "" for nothing.
var fates = []string{"", " answer-lost", " request-lost", " cut"}

// draws is how often each operation is drawn beside a study's life.
var draws = []string{
	"contribute", "contribute", "contribute", "together", "together", "other", "decline", "cancel", "waive", "revoke", "enrol", "enrol", "renew",
	"look", "look", "poll", "poll", "clock", "clock", "pass", "vouch", "damage", "kill", "kill", "kill", "kill", "kill", "kill", "fail", "fail", "fail", "heal", "away", "restart",
}

// restorable is what is put back: all but the head file, one of the two files, or
// all.
var restorable = []string{"folder", "folder", "store", "ledger", "all"}

// randomSchedule is the schedule of a seed: two studies' lives, and in between
// what goes wrong.
func randomSchedule(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, 0))
	s := schedule{parties: 2 + r.IntN(3), head: r.IntN(2) == 0}
	for _, in := range []string{"a", "b"}[:1+r.IntN(2)] {
		at := 0
		add := func(line string) { // somewhere after the line before
			at += r.IntN(len(s.lines) - at + 1)
			s.lines = slices.Insert(s.lines, at, line)
			at++
		}
		add("open " + in)
		for _, p := range r.Perm(s.parties) {
			if r.IntN(10) > 0 {
				add(fmt.Sprintf("contribute p%d %s%s", p, in, pick(r, append(fates, "", "", ""))))
			}
		}
		for _, p := range r.Perm(s.parties) {
			if r.IntN(3) > 0 {
				add(fmt.Sprint("poll p", p))
			}
		}
		add("look")
	}
	for range 1 + r.IntN(12) {
		what := pick(r, draws)
		line := strings.TrimSpace(what + " " + operations[what].draw(r, s))
		s.lines = slices.Insert(s.lines, r.IntN(len(s.lines)+1), line)
	}
	for i := len(s.lines) - 1; i >= 0; i-- { // what folds and releases is where it hurts
		if s.lines[i] == "look" && r.IntN(2) == 0 {
			what := pick(r, []string{"kill", "kill", "fail"})
			s.lines = slices.Insert(s.lines, i, what+" "+operations[what].draw(r, s))
		}
	}
	if r.IntN(3) == 0 { // backups, and after each a restore sooner or later
		for range 1 + r.IntN(2) {
			at := r.IntN(len(s.lines) + 1)
			s.lines = slices.Insert(s.lines, at, "backup")
			if at += 1 + r.IntN(len(s.lines)-at); r.IntN(2) == 0 { // after all, and some know it
				for range s.parties {
					s.lines = append(s.lines, "poll "+drawParty(r, s))
				}
				at = len(s.lines)
			}
			s.lines = slices.Insert(s.lines, at, "restore "+operations["restore"].draw(r, s))
		}
	}
	s.lines = append(s.lines, "settle "+pick(r, []string{"all", "all", "none"}))
	return s
}

// play carries a trial through a schedule. It returns the first rule that did not
// hold, nil if all did.
func play(s schedule, t *trial, dir string) *violation {
	if s.head {
		t.keepHead(dir)
	}
	for _, line := range s.lines {
		words := strings.Fields(line)
		fmt.Fprintf(t.log, "-- %s\n", line)
		operations[words[0]].do(t, words[1:])
		if t.violation != nil {
			t.violation.detail += " (at: " + line + ")"
			return t.violation
		}
	}
	t.ended()
	return t.violation
}

func (t *trial) open(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "OpenStudy", t.operator, &pb.StudyRequest{Study: words[0]})
	}
}

func (t *trial) cancel(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "CancelStudy", t.operator, &pb.CancelRequest{Study: words[0]})
	}
}

func (t *trial) waive(words []string) {
	if t.up() {
		_, err := t.call(&pb.Administration_ServiceDesc, "Waive", t.operator, &pb.StudyRequest{Study: words[0]})
		t.waived[t.named[words[0]]] = err == nil
	}
}

func (t *trial) revoke(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "Revoke", t.operator, &pb.RevokeRequest{Name: words[0]})
	}
}

func (t *trial) decline(words []string) {
	if h := t.named[words[1]]; t.up() {
		_, _ = t.call(&pb.Studies_ServiceDesc, "Decline", t.certificates[study.PartyID(words[0])], &pb.DeclineRequest{PlanHash: h[:]})
	}
}

func (t *trial) contribute(words []string)      { t.send(words, false) }
func (t *trial) contributeOther(words []string) { t.send(words, true) }

// send sends a party's contribution, or another one than its own.
func (t *trial) send(words []string, other bool) {
	at, fate := place{t.named[words[1]], study.PartyID(words[0])}, append(words, "", "")[2]
	if !t.up() || fate == "request-lost" {
		return
	}
	had, body := t.truth.received[at.study][at.party], t.body(at.party, other)
	signed, err := t.upload(at.party, at.study, body, fate == "cut")
	t.answered(at, body, had, signed, err, fate == "answer-lost")
}

// together sends everybody's contribution at once, and one party's twice, so that
// they wait for each other and are stored in groups.
func (t *trial) together(words []string) {
	h, twice, other := t.named[words[0]], study.PartyID(words[1]), len(words) > 2
	if !t.up() {
		return
	}
	type sent struct {
		at     place
		body   []byte
		had    study.BodyDigest
		signed *pb.Signed
		err    error
	}
	var all []*sent
	for _, p := range append(slices.Clone(t.parties), twice) {
		s := &sent{at: place{h, p}, had: t.truth.received[h][p]}
		s.body = t.body(p, other && len(all) == len(t.parties))
		all = append(all, s)
	}
	t.slow(true)
	var under sync.WaitGroup
	for _, s := range all {
		under.Go(func() { s.signed, s.err = t.upload(s.at.party, h, s.body, false) })
	}
	under.Wait()
	t.slow(false)
	for _, s := range all {
		t.answered(s.at, s.body, s.had, s.signed, s.err, false)
	}
}

// answered: the answer to a contribution is a receipt exactly if it is on the disk.
func (t *trial) answered(at place, body []byte, had study.BodyDigest, signed *pb.Signed, err error, lost bool) {
	digest, serial := study.BodyDigest(sha256.Sum256(body)), serialOf(t.certificates[at.party])
	what := fmt.Sprint(at.party, " ", t.plans[at.study].Name)
	if signed == nil {
		final := err != nil && !protocol.Retry(err) && !errors.Is(err, errKilled) && !errors.Is(err, context.Canceled)
		if final && had == digest && t.truth.issued[serial] != "" && !t.truth.revoked[serial] {
			t.broken("what was contributed gets its receipt again", "%s: %v", what, err)
		}
		return
	}
	r, err := protocol.ParseReceipt(signed.Document, signed.Signature, t.signer.Key())
	switch {
	case err != nil || r.Plan != at.study || r.Party != at.party || r.Body != digest:
		t.broken("a receipt is for what was sent", "%s: %+v, %v", what, r, err)
	case t.truth.received[at.study][at.party] != digest:
		t.broken("a receipt exists if and only if its contribution is on the disk", "%s", what)
	case t.truth.revoked[serial]:
		t.broken("who is revoked contributes nothing", "%s", what)
	case t.receipts[at] != nil && string(t.receipts[at]) != string(signed.Document):
		t.broken("the same bytes again get the same receipt", "%s", what)
	}
	if !lost {
		t.receipts[at] = signed.Document
		t.hold(at.party, protocol.ReceiptDocument, signed.Document, signed.Signature)
	}
}

// poll lists the studies, as agents do all the time: it shows the newest document
// that the party holds, and gets what was released.
func (t *trial) poll(words []string) {
	p := study.PartyID(words[0])
	if !t.up() {
		return
	}
	request := &pb.ListRequest{}
	if had, ok := t.held[p]; ok {
		request.Shown = &pb.Shown{Kind: string(had.Kind), Document: had.Document, Signature: had.Signature}
	}
	reply, err := t.call(&pb.Studies_ServiceDesc, "List", t.certificates[p], request)
	if err != nil {
		return
	}
	if !t.inLedger(t.held[p].head) {
		t.proven = true
	}
	list := reply.(*pb.ListReply)
	if list.Head != nil {
		t.hold(p, protocol.HeadDocument, list.Head.Document, list.Head.Signature)
	}
	for _, of := range list.Studies {
		if row, ok := t.release(study.Hash(of.PlanHash)); ok && of.State == string(study.Released) {
			t.hold(p, protocol.ReleaseDocument, row.Document, row.Signature)
		}
	}
}

// release is a study's release, where it is stored and can be read.
func (t *trial) release(h study.Hash) (row releaseRow, ok bool) {
	err := t.server.store.View(context.Background(), func(tx Tx) (err error) { row, err = tx.Release(h); return err })
	return row, err == nil
}

// enrol invites a party, unless it has an invitation, and redeems it. After a
// lost answer the same key asks again, and gets the same certificate.
func (t *trial) enrol(words []string) {
	p, fate := study.PartyID(words[0]), append(words, "")[1]
	if !t.up() {
		return
	}
	v := t.invitations[p]
	if v == nil {
		reply, err := t.call(&pb.Administration_ServiceDesc, "Invite", t.operator, &pb.InviteRequest{Name: string(p), Address: "127.0.0.1:1"})
		if err != nil {
			return
		}
		text := must(protocol.ParseInvitation(reply.(*pb.InviteReply).Invitation))
		v = &invited{certificate: der(text.Certificate), request: must(must(protocol.NewEnrolment()).Request())}
		t.invitations[p] = v
	}
	reply, err := t.call(&pb.Enrolment_ServiceDesc, "Enrol", v.certificate, &pb.EnrolRequest{SigningRequest: v.request})
	switch {
	case err != nil && !protocol.Retry(err) && !errors.Is(err, errKilled):
		delete(t.invitations, p) // withdrawn
	case err == nil && v.issued != nil && string(v.issued) != string(reply.(*pb.EnrolReply).Certificate):
		t.broken("an invitation gives one certificate", "%s", p)
	case err == nil && fate != "answer-lost":
		v.issued = reply.(*pb.EnrolReply).Certificate
		t.certificates[p] = der(v.issued)
	}
}

func (t *trial) renew(words []string) {
	p, fate := study.PartyID(words[0]), append(words, "")[1]
	if !t.up() {
		return
	}
	was := serialOf(t.certificates[p])
	reply, err := t.call(&pb.Enrolment_ServiceDesc, "Renew", t.certificates[p], &pb.EnrolRequest{SigningRequest: must(must(protocol.NewEnrolment()).Request())})
	if err == nil && t.truth.revoked[was] {
		t.broken("who is revoked renews nothing", "%s", p)
	}
	if err == nil && fate != "answer-lost" {
		t.certificates[p] = der(reply.(*pb.EnrolReply).Certificate)
	}
}

// look lets the conductor look at every study once, as each of its ticks does.
func (t *trial) look([]string) {
	if !t.up() {
		return
	}
	ctx, o := context.Background(), t.server.conductor
	t.keepTime()
	for _, c := range o.docket.all() {
		c.retry = time.Time{} // its wait is over
		if o.due(ctx, c) {
			o.move(ctx, c)
		}
	}
}

// well ends all that is wrong.
func (t *trial) well([]string) {
	t.heal()
	t.back()
}

func (t *trial) jump(words []string) { t.clock.add(must(time.ParseDuration(words[0]))) }

// backup copies what is on the disk.
func (t *trial) backup([]string) {
	b := backup{saved: t.disk.save(), truth: t.truth.clone()}
	if t.head != "" {
		b.head, _ = os.ReadFile(t.head)
	}
	t.backups = append(t.backups, b)
}

// restore stops the coordinator and puts back a backup: the newest is 0.
func (t *trial) restore(words []string) {
	what, age := words[0], must(strconv.Atoi(words[1]))
	b := t.backups[max(0, len(t.backups)-1-age)]
	t.server = nil
	t.disk.load(b.saved, what != "ledger", what != "store")
	if what != "ledger" {
		t.truth, t.putBack["store"] = b.truth.clone(), true
		for at := range t.receipts { // of what is forgotten here; its party keeps it
			if t.truth.received[at.study][at.party] == (study.BodyDigest{}) {
				delete(t.receipts, at)
			}
		}
	}
	if what != "store" {
		t.putBack["ledger"] = true
	}
	if what == "all" && t.head != "" && b.head != nil {
		t.back()
		must(0, os.WriteFile(t.head, b.head, 0o600))
	}
	t.proven = t.fileProves()
}

// fileProves says whether the head file, or the store, remembers an entry that the
// ledger has not reached.
func (t *trial) fileProves() bool {
	last := int64(0)
	must(0, t.disk.store().View(context.Background(), func(tx Tx) (err error) { last, err = tx.LedgerEntry(); return err }))
	if t.head != "" {
		if text, err := os.ReadFile(t.head); err == nil {
			kept := must(privacy.ParseHead(string(text)))
			if !t.inLedger(kept) {
				return true
			}
		}
	}
	return last > int64(len(entries(t.disk.ledger())))
}

// pass lets time pass, whether the coordinator runs or not.
func (t *trial) pass(words []string) {
	d := must(time.ParseDuration(words[0]))
	t.clock.add(d)
	t.elapsed += d
	if t.server != nil && !t.killed() {
		t.keepTime()
	}
}

func (t *trial) vouch([]string) {
	if t.up() {
		_, err := t.call(&pb.Administration_ServiceDesc, "Clock", t.operator, &pb.ClockRequest{Vouch: true})
		t.vouched = t.vouched || err == nil
	}
}

// damage flips a bit of a stored contribution.
func (t *trial) damage(words []string) {
	at := place{t.named[words[1]], study.PartyID(words[0])}
	r := must(t.disk.store().write.Exec("UPDATE contributions SET body = x'ff' WHERE study = $1 AND party = $2 AND body IS NOT NULL", at.study[:], at.party))
	if n := must(r.RowsAffected()); n > 0 {
		t.damaged[at] = true
	}
}

func (t *trial) killAt(words []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kill, t.times = strings.Join(words[1:], " "), must(strconv.Atoi(words[0]))
}

func (t *trial) failAt(words []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail[strings.Join(words[1:], " ")] = must(strconv.Atoi(words[0]))
}

// settle heals all, puts the clock right and lets everybody who still may do what
// is left to do: all send what they have, or none; the deadline passes, and the one
// of repairs.
func (t *trial) settle(words []string) {
	t.well(nil)
	t.clock.add(-t.ahead())
	t.restart(nil)
	t.vouch(nil)
	for _, d := range []string{"0s", "61m", "25h"} {
		t.pass([]string{d})
		t.look(nil)
		for _, p := range t.parties {
			for _, in := range []string{"a", "b"} {
				if s := t.truth.state[t.named[in]]; words[0] == "all" && (s == study.Open || s == study.Sealed) {
					t.send([]string{string(p), in}, false)
				}
			}
			if t.under() {
				t.poll([]string{string(p)})
			}
		}
		t.look(nil)
		if !t.under() {
			return
		}
	}
	for _, in := range []string{"a", "b"} { // some who contributed may have been revoked
		if t.truth.state[t.named[in]] == study.Folded {
			t.waive([]string{in})
		}
	}
	t.look(nil)
}

// under says whether a study is on its way.
func (t *trial) under() bool {
	for _, s := range t.truth.state {
		if s != study.InDraft && !protocol.Final(s) {
			return true
		}
	}
	return false
}

// TestSchedules: 10,000 random schedules of two studies, kills at every effect,
// failing commits, lost requests and answers, clocks and revocations break no
// rule (see trial). A schedule that does is shrunk and printed: it belongs into
// testdata/schedules. CAUCUS_SCHEDULES plays more.
func TestSchedules(t *testing.T) {
	schedules := 10_000
	if testing.Short() {
		schedules = 200
	}
	if n, err := strconv.Atoi(os.Getenv("CAUCUS_SCHEDULES")); err == nil {
		schedules = max(schedules, n)
	}
	found, passed := search(t, schedules, plant{}, inMemory)
	if found != nil {
		t.Fatalf("%s\n%s", found, found.log)
	}
	for effect := range passed {
		if !slices.Contains(effects, effect) {
			t.Errorf("no schedule kills at %q: add it to effects", effect)
		}
	}
	for _, effect := range effects {
		if !passed[effect] && !testing.Short() {
			t.Errorf("no schedule comes to %q", effect)
		}
	}
}

// TestSchedulesInFiles: the same on the files that there are in earnest, which a
// killed process leaves with what is in their logs only.
func TestSchedulesInFiles(t *testing.T) {
	schedules := 300
	if testing.Short() {
		schedules = 30
	}
	if found, _ := search(t, schedules, plant{}, inFiles); found != nil {
		t.Fatalf("%s\n%s", found, found.log)
	}
}

// TestScheduleRegressions: schedules that once broke a rule, or that find a bug
// when it is planted, play without breaking any.
func TestScheduleRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/schedules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schedules: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			s, err := parseSchedule(string(must(os.ReadFile(name))))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorker(t, plant{}, inFiles)
			defer w.disk.end()
			var log strings.Builder
			if v := w.play(s, &log); v != nil {
				t.Errorf("%s: %s\n%s", v.rule, v.detail, &log)
			}
		})
	}
}
