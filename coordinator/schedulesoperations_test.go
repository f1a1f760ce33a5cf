package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// What each operation of a schedule does to a trial.

func (t *trial) open(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "OpenStudy", t.operator,
			&pb.StudyRequest{Study: words[0]})
	}
}

func (t *trial) cancel(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "CancelStudy", t.operator,
			&pb.CancelRequest{Study: words[0]})
	}
}

func (t *trial) closeStudy(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "CloseStudy", t.operator,
			&pb.StudyRequest{Study: words[0]})
	}
}

// extend asks for a deadline that is a given time after the trial's start, and checks the answer.
func (t *trial) extend(words []string) {
	if !t.up() {
		return
	}
	r := &pb.AmendRequest{Study: words[0],
		DeadlineUnixMillis: t.began.Add(must(time.ParseDuration(words[1]))).UnixMilli()}
	if len(words) > 3 {
		n := must(strconv.ParseFloat(words[3], 64))
		if words[2] == "minimum" {
			r.Minimum = uint32(n)
		} else {
			r.Share = n
		}
	}
	_, _ = t.call(&pb.Administration_ServiceDesc, "AmendStudy", t.operator, r)
}

func (t *trial) waive(words []string) {
	if t.up() {
		_, err := t.call(&pb.Administration_ServiceDesc, "Waive", t.operator,
			&pb.StudyRequest{Study: words[0]})
		t.waived[t.named[words[0]]] = err == nil
	}
}

func (t *trial) revoke(words []string) {
	if t.up() {
		_, _ = t.call(&pb.Administration_ServiceDesc, "Revoke", t.operator,
			&pb.RevokeRequest{Name: words[0]})
	}
}

func (t *trial) decline(words []string) {
	if h := t.named[words[1]]; t.up() {
		_, _ = t.call(&pb.Studies_ServiceDesc, "Decline", t.certificates[study.PartyID(words[0])],
			&pb.DeclineRequest{PlanHash: h[:]})
	}
}

func (t *trial) contribute(words []string)      { t.send(words, false) }
func (t *trial) contributeOther(words []string) { t.send(words, true) }

// send sends a party's contribution, or another body.
func (t *trial) send(words []string, other bool) {
	at, fate := place{t.named[words[1]], study.PartyID(words[0])}, append(words, "", "")[2]
	if !t.up() || fate == "request-lost" {
		return
	}
	had, body := t.truth.received[at.study][at.party], t.body(at.study, at.party, other)
	signed, err := t.upload(at.party, at.study, body, fate == "cut")
	t.answered(at, body, had, signed, err, fate == "answer-lost")
}

// together sends all contributions at once, and one party's twice, so that they wait for each other
// and are stored in groups.
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
		s.body = t.body(h, p, other && len(all) == len(t.parties))
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

// answered: a contribution is answered with a receipt exactly if it is on the disk.
func (t *trial) answered(at place, body []byte, had study.BodyDigest, signed *pb.Signed, err error,
	lost bool) {
	digest, serial := study.BodyDigest(sha256.Sum256(body)), serialOf(t.certificates[at.party])
	what := fmt.Sprint(at.party, " ", t.plans[at.study].Name)
	if signed == nil {
		final := err != nil && !protocol.IsRetryable(err) && !errors.Is(err, errKilled) &&
			!errors.Is(err, context.Canceled)
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
	case t.receipts[at].document != nil &&
		string(t.receipts[at].document) != string(signed.Document):
		t.broken("the same bytes again get the same receipt", "%s", what)
	}
	if !lost {
		t.receipts[at] = receipted{signed.Document, digest}
		t.hold(at.party, protocol.ReceiptDocument, signed.Document, signed.Signature)
	}
}

// poll lists the studies, as agents do all the time. It shows the party's newest signed document,
// and fetches releases.
func (t *trial) poll(words []string) {
	p := study.PartyID(words[0])
	if !t.up() {
		return
	}
	request := &pb.ListRequest{}
	if had, ok := t.held[p]; ok {
		request.Shown = &pb.Shown{Kind: string(had.Kind), Document: had.Document,
			Signature: had.Signature}
	}
	for h := range t.got[p] {
		request.Holds = append(request.Holds, h[:])
	}
	reply, err := t.call(&pb.Studies_ServiceDesc, "List", t.certificates[p], request)
	if err != nil {
		return
	}
	maps.Copy(t.claimed, t.got[p])
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
			if t.got[p] == nil {
				t.got[p] = map[study.Hash]bool{}
			}
			t.got[p][study.Hash(of.PlanHash)] = true
		}
	}
}

// release returns a study's release if it is stored and readable.
func (t *trial) release(h study.Hash) (row records.Release, ok bool) {
	err := t.server.store.View(context.Background(), func(tx records.Tx) (err error) {
		row, err = tx.Release(h)
		return err
	})
	return row, err == nil
}

// enrol invites a party, unless it has an invitation, and redeems the invitation. After a lost
// answer it asks again with the same key and gets the same certificate.
func (t *trial) enrol(words []string) {
	p, fate := study.PartyID(words[0]), append(words, "")[1]
	if !t.up() {
		return
	}
	v := t.invitations[p]
	if v == nil {
		reply, err := t.call(&pb.Administration_ServiceDesc, "Invite", t.operator,
			&pb.InviteRequest{Name: string(p), Address: "127.0.0.1:1"})
		if err != nil {
			return
		}
		text := must(protocol.ParseInvitation(reply.(*pb.InviteReply).Invitation))
		v = &invited{certificate: der(text.Certificate),
			request: must(must(protocol.NewEnrolment()).Request())}
		t.invitations[p] = v
	}
	reply, err := t.call(&pb.Enrolment_ServiceDesc, "Enrol", v.certificate,
		&pb.EnrolRequest{SigningRequest: v.request})
	switch {
	case err != nil && !protocol.IsRetryable(err) && !errors.Is(err, errKilled):
		delete(t.invitations, p) // withdrawn
	case err == nil && v.issued != nil &&
		string(v.issued) != string(reply.(*pb.EnrolReply).Certificate):
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
	reply, err := t.call(&pb.Enrolment_ServiceDesc, "Renew", t.certificates[p],
		&pb.EnrolRequest{SigningRequest: must(must(protocol.NewEnrolment()).Request())})
	if err == nil && t.truth.revoked[was] {
		t.broken("who is revoked renews nothing", "%s", p)
	}
	if err == nil && fate != "answer-lost" {
		t.certificates[p] = der(reply.(*pb.EnrolReply).Certificate)
	}
}

// look makes the scheduler check every study once, as each of its ticks does.
func (t *trial) look([]string) {
	if !t.up() {
		return
	}
	ctx, o := context.Background(), t.server.scheduler
	t.keepTime()
	for _, c := range o.registry.all() {
		c.retry = 0 // its wait for the next try is over
		if o.due(ctx, c) {
			o.move(ctx, c)
		}
	}
}

// well ends all faults.
func (t *trial) well([]string) {
	t.heal()
	t.back()
}

// standingClock shows the time to which it is set.
type standingClock struct {
	mu  sync.Mutex
	now time.Time
}

func (s *standingClock) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *standingClock) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (t *trial) jump(words []string) { t.clock.add(must(time.ParseDuration(words[0]))) }

// backup copies the disk.
func (t *trial) backup([]string) {
	b := backup{saved: t.disk.save(), truth: t.truth.clone()}
	if t.head != "" {
		b.head, _ = os.ReadFile(t.head)
	}
	t.backups = append(t.backups, b)
}

// restore stops the coordinator and restores a backup: 0 is the newest.
func (t *trial) restore(words []string) {
	what, age := words[0], must(strconv.Atoi(words[1]))
	b := t.backups[max(0, len(t.backups)-1-age)]
	t.server = nil
	t.disk.load(b.saved, what != "ledger", what != "store")
	if what != "ledger" {
		t.truth, t.putBack["store"] = b.truth.clone(), true
		for at, r := range t.receipts { // the coordinator forgets it, its party does not
			if t.truth.received[at.study][at.party] != r.body {
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

// fileProves reports whether the head file or the store remembers an entry beyond the ledger's last
// one.
func (t *trial) fileProves() bool {
	last := int64(0)
	must(0, t.disk.store().View(context.Background(), func(tx records.Tx) (err error) {
		last, err = tx.LedgerEntry()
		return err
	}))
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

// passTime lets time pass, whether the coordinator runs or not.
func (t *trial) passTime(words []string) {
	d := must(time.ParseDuration(words[0]))
	t.clock.add(d)
	t.elapsed += d
	if t.server != nil && !t.killed() {
		t.keepTime()
	}
}

func (t *trial) vouch([]string) {
	if t.up() {
		_, err := t.call(&pb.Administration_ServiceDesc, "Clock", t.operator,
			&pb.ClockRequest{Vouch: true})
		t.vouched = t.vouched || err == nil
	}
}

// damage flips a bit of a stored contribution.
func (t *trial) damage(words []string) {
	at := place{t.named[words[1]], study.PartyID(words[0])}
	r := must(t.disk.store().DB.Write.Exec("UPDATE contributions SET body = $3 WHERE study = $1 AND party = $2 AND body IS NOT NULL", at.study[:], at.party, []byte{0xff}))
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

// settle ends all faults, sets the clock right, and lets everybody finish: either all parties send
// what they have, or none, and the deadline and the repair deadline pass.
func (t *trial) settle(words []string) {
	t.well(nil)
	t.clock.add(-t.ahead())
	t.restart(nil)
	t.vouch(nil)
	// time for an extended deadline and the repair deadline
	for _, d := range []string{"0s", "61m", "25h", "25h"} {
		t.passTime([]string{d})
		t.look(nil)
		for _, p := range t.parties {
			for _, in := range []string{"a", "b"} {
				if s := t.truth.state[t.named[in]]; words[0] == "all" &&
					(s == study.Open || s == study.Sealed) {
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
	for _, in := range []string{"a", "b"} { // some contributors may have been revoked
		if t.truth.state[t.named[in]] == study.Summed {
			t.waive([]string{in})
		}
	}
	t.look(nil)
}

// under reports whether a study is open, sealed or folded.
func (t *trial) under() bool {
	for _, s := range t.truth.state {
		if s != study.Draft && !protocol.IsFinal(s) {
			return true
		}
	}
	return false
}
