package coordinator

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// The rules of a trial. Most are checked at the commit that could break them, against what the
// commit wrote. The function ended checks the rest after the schedule.

// rank orders states by progress.
func rank(s study.State) int {
	return slices.Index([]study.State{study.Draft, study.Open, study.Sealed, study.Summed,
		study.Released}, s)
}

// moved: states only move forward, a study fails only for an allowed reason (mayFail), and folding
// counts each contribution once.
func (t *trial) moved(h study.Hash, to study.State, reason string, sum []byte) {
	from, have := t.truth.state[h], len(t.truth.received[h])
	name, least := t.plans[h].Name, t.truth.ending[h].Minimum
	t.truth.state[h], t.truth.reason[h] = to, reason
	early := reason == study.SealedByRule || reason == study.SealedByOperator
	switch {
	case from == study.Failed && to == study.Open:
		t.reopened(h)
	case early && to == study.Sealed &&
		(have < least || reason == study.SealedByRule && !t.enough(h)):
		t.broken("a study is closed with its minimum, and sealed by a rule that is met", "study %s: by %s with %d", name, reason, have)
	case protocol.IsFinal(from), to != study.Failed && rank(to) != rank(from)+1 &&
		!(to == study.Sealed && from == study.Sealed) && !(to == study.Sealed && t.keptDamaged(h)):
		t.broken("states only move forward", "study %s: %s after %s", name, to, from)
	case to == study.Sealed && have < least:
		t.broken("below the minimum nothing is sealed", "study %s: sealed with %d of %d", name,
			have, least)
	case from == study.Open && !early &&
		(to == study.Sealed && have < len(t.parties) || to == study.Failed &&
			strings.HasPrefix(reason, "minimum")) && t.doubtful():
		t.broken("a clock that jumped seals nothing", "study %s: %s while the clock is %v ahead",
			name, to, t.ahead())
	case to == study.Summed && !bytes.Equal(sum, t.sumOf(h, t.truth.received[h])):
		t.broken("each contribution is in the sum once", "study %s: the sum of %d is %x", name,
			have, sum)
	case to == study.Failed && !t.mayFail(h, from, reason):
		t.broken("no fault fails a study", "study %s, %s with %d: %s", name, from, have, reason)
	}
}

// keptDamaged: a kept body was damaged. A sealed study asks for it again, even after it was folded.
func (t *trial) keptDamaged(h study.Hash) bool {
	return t.kept[h] != nil && slices.ContainsFunc(t.parties, func(p study.PartyID) bool {
		return t.damaged[place{h, p}]
	})
}

// mayFail: a study fails when it is cancelled, at its deadline with too few contributions, when a
// disk damaged too many, or when the budget is spent.
func (t *trial) mayFail(h study.Hash, from study.State, reason string) bool {
	few := from == study.Open && t.there(h) < t.truth.ending[h].Minimum &&
		!t.clock.Now().Before(t.truth.ending[h].Deadline)
	if t.budget && from == study.Summed && strings.Contains(reason, "budget") &&
		len(entries(t.disk.ledger())) > 0 {
		return true
	}
	if t.putBack["store"] && from == study.Summed &&
		strings.Contains(reason, "put back to an older state") {
		return true
	}
	damaged := from == study.Sealed && len(t.damaged) > 0 &&
		strings.Contains(reason, "damaged where they were stored")
	return strings.HasPrefix(reason, "cancelled") || few && strings.HasPrefix(reason, "minimum") ||
		damaged
}

// there is the number of contributions whose bytes are stored.
func (t *trial) there(h study.Hash) (n int) {
	for p := range t.truth.received[h] {
		if !t.truth.wanted[place{h, p}] {
			n++
		}
	}
	return n
}

// enough reports whether the present sealing rule lets a study seal.
func (t *trial) enough(h study.Hash) bool {
	e := t.truth.ending[h]
	return e.Seal != nil && float64(t.there(h)) >= e.Seal.Share*float64(len(t.parties))
}

// amended: an amendment is signed, belongs to the plan, and does only what the plan allows.
func (t *trial) amended(h study.Hash, a study.Signed) {
	const rule = "an amendment changes when a study ends, as its plan allows"
	if t.signer.Key().Verify(protocol.AmendmentDocument, a.Document, a.Signature) != nil {
		t.broken(rule, "study %s: it is not signed", t.plans[h].Name)
	}
	said, err := study.DecodeAmendment(a.Document)
	plan, state := t.plans[h], t.truth.state[h]
	if err != nil || said.Plan != h || said.Ending.Minimum < plan.LeastParties() ||
		said.Ending.Minimum > plan.Minimum {
		t.broken(rule, "study %s: %+v, %v", plan.Name, said, err)
	}
	if state != study.Open && state != study.Failed {
		t.broken(rule, "study %s: it is %s", plan.Name, state)
	}
	t.truth.ending[h] = said.Ending
}

// reopened: a failed study is taken up again only if no noise was drawn for it. All its
// contributions are then asked for again.
func (t *trial) reopened(h study.Hash) {
	if t.drawnFor(h) {
		t.broken("a failed study is taken up again only while its noise is undrawn", "study %s", t.plans[h].Name)
	}
	t.askedAgain(h)
}

// askedAgain: all contributions of a study are lost and are asked for again.
func (t *trial) askedAgain(h study.Hash) {
	for p := range t.truth.received[h] {
		t.damaged[place{h, p}], t.truth.wanted[place{h, p}] = true, true
	}
	if t.truth.state[h] == study.Summed {
		t.truth.state[h] = study.Sealed
	}
	if t.drawnFor(h) {
		t.keyless[h] = true
	}
}

// ahead is how far the clock is ahead of the time that has passed.
func (t *trial) ahead() time.Duration { return t.clock.Now().Sub(t.began.Add(t.elapsed)) }

// doubtful reports whether nobody may trust the clock: it is further off than a stop explains, a
// stored time shows that, and no operator vouched for it.
func (t *trial) doubtful() bool { return t.stored && !t.vouched && t.ahead() > 25*time.Hour }

// dropped: a study goes on without a contribution only if a disk damaged it, and if its party has
// no release that counts it.
func (t *trial) dropped(h study.Hash, parties []study.PartyID) {
	for _, p := range parties {
		if !t.damaged[place{h, p}] {
			t.broken("what was receipted is in the sum once", "study %s: dropped %s",
				t.plans[h].Name, p)
		}
		delete(t.truth.received[h], p)
	}
}

// contributed: an open study gets one contribution from each party, and none from a revoked one.
func (t *trial) contributed(r protocol.Receipt) {
	h, p := r.Plan, r.Party
	if _, had := t.truth.received[h][p]; had || t.truth.state[h] != study.Open {
		t.broken("one contribution a party, while the study is open", "study %s, %s: stored while %s, had %t", t.plans[h].Name, p, t.truth.state[h], had)
	}
	if t.truth.revoked[serialOf(t.certificates[p])] {
		t.broken("who is revoked contributes nothing", "study %s, %s", t.plans[h].Name, p)
	}
	t.truth.received[h][p] = r.Body
}

// drawn: noise is drawn once for a study, for a sum that counts each contribution once, and never
// by a restored coordinator, as far as its callers can show the restore.
func (t *trial) drawn(e privacy.Entry) {
	if e.Kind != privacy.KindRelease {
		return
	}
	for h, plan := range t.plans {
		if e.ID != study.ReleaseID(h, "tally") {
			continue
		}
		if !bytes.Equal(t.summed[h], t.sumOf(h, t.truth.received[h])) {
			t.broken("each contribution is in the sum once", "study %s: noise was drawn for %x",
				plan.Name, t.summed[h])
		}
		for _, other := range t.draws {
			if other.study == h && !t.putBack["ledger"] {
				t.broken("noise is drawn once a study", "study %s: entry %d", plan.Name, e.Sequence)
			}
		}
		t.draws[e.Hash] = draw{h, string(t.summed[h])}
		t.mayDraw(h, e)
		return
	}
	t.broken("noise is drawn once a study", "entry %d is of no study", e.Sequence)
}

// mayDraw: nobody has shown a document that the ledger lacks, no contributor holds one without
// having called, and the ledger knows every stored release.
func (t *trial) mayDraw(h study.Hash, e privacy.Entry) {
	const rule = "a coordinator that was put back draws nothing"
	name := t.plans[h].Name
	if t.proven {
		t.broken(rule, "study %s: entry %d", name, e.Sequence)
	}
	for p := range t.truth.received[h] {
		if !t.inLedger(t.held[p].head) && !t.waived[h] {
			t.broken(rule, "study %s: entry %d, %s holds %v and was not asked", name, e.Sequence, p, t.held[p].head)
		}
	}
}

// inLedger reports whether the ledger has an entry.
func (t *trial) inLedger(head privacy.Head) bool {
	return head.Sequence == 0 ||
		slices.ContainsFunc(entries(t.disk.ledger()), func(e privacy.Entry) bool {
			return e.Hash == head.Hash
		})
}

// waits reports whether a study waits for bytes that nobody sends again. Its noise was drawn for
// their sum, so no other sum may be released, and the key of both was lost with the last replica
// that had it.
func (t *trial) waits(h study.Hash) bool {
	return t.truth.state[h] == study.Sealed && t.keyless[h] && t.there(h) < len(t.truth.received[h])
}

func (t *trial) drawnFor(h study.Hash) bool {
	return slices.ContainsFunc(entries(t.disk.ledger()), func(e privacy.Entry) bool {
		return e.ID == study.ReleaseID(h, "tally")
	})
}

// published: a study has one release for good, of all contributions that were received and summed.
// Its ledger drew the noise, and its head file knows the entry.
func (t *trial) published(h study.Hash, row records.Release) {
	name := t.plans[h].Name
	r, err := protocol.ParseRelease(row.Document, row.Signature, t.signer.Key())
	drawn := 1
	if t.kept[h] != nil {
		drawn = 0 // the parties drew the noise
	}
	if err != nil || len(r.Published) != drawn || len(r.Ledger) != drawn {
		t.broken("one release a study", "study %s: %v", name, err)
		return
	}
	if drawn == 0 {
		t.releases[h][string(r.Result.Body)] = true
	} else {
		t.releases[h][string(r.Published[0])] = true
	}
	if n := len(t.releases[h]); n > 1 && !t.putBack["ledger"] { // otherwise mayDraw applies
		t.broken("one release a study", "study %s has %d", name, n)
	}
	if t.claimed[h] && !t.waived[h] {
		t.broken("of what a caller holds a release, no other is made", "study %s", name)
	}
	want := slices.Sorted(maps.Keys(t.truth.received[h]))
	if !slices.Equal(r.Contributed, want) || r.Parties != len(want) ||
		len(r.Contributed)+len(r.Missing) != len(t.parties) {
		t.broken("a release says who contributed", "study %s: %v of %v", name, r.Contributed, want)
	}
	if drawn == 0 {
		if !bytes.Equal(r.Sum, t.sumOf(h, t.truth.received[h])) {
			t.broken("each contribution is in the sum once", "study %s: the release holds %x", name,
				r.Sum)
		}
		return
	}
	if t.draws[r.Ledger[0].Hash] != (draw{h, string(t.sumOf(h, t.truth.received[h]))}) ||
		!t.inLedger(r.Ledger[0].Head()) {
		t.broken("a release is what the ledger drew, for those it names", "study %s: %v", name, r.Ledger)
	}
	if t.head == "" {
		return
	}
	if kept, err := privacy.ParseHead(string(must(os.ReadFile(t.head)))); err != nil ||
		kept.Sequence < row.LedgerEntry {
		t.broken("what is published is remembered outside before",
			"study %s: entry %d, the head file says %v", name, row.LedgerEntry, kept)
	}
}

// redeemed: an invitation gives one certificate.
func (t *trial) redeemed(serial string) {
	if t.redemptions[serial]++; t.redemptions[serial] > 1 && !t.putBack["store"] {
		t.broken("an invitation gives one certificate", "%s", serial)
	}
}

func (t *trial) issued(c records.Certificate) { t.truth.issued[c.Serial] = c.Name }

func (t *trial) revoked(name string) {
	for serial, whose := range t.truth.issued {
		if whose == name {
			t.truth.revoked[serial] = true
		}
	}
}

// ended checks what must hold once all faults have ended and every deadline is over.
func (t *trial) ended() {
	ctx := context.Background()
	restored := t.putBack["store"] || t.putBack["ledger"]
	if t.server == nil {
		if restored { // the coordinator refuses to start
			return
		}
		t.broken("it starts again after any fault", "see the log")
		return
	}
	released, waiting := 0, 0
	for h, plan := range t.plans {
		state := t.truth.state[h]
		err := t.disk.store().View(ctx, func(tx records.Tx) error {
			row, err := tx.Study(h)
			if err != nil || row.State != state || row.Reason != t.truth.reason[h] {
				t.broken("the store holds what its commits said", "study %s: %v %v, want %s",
					plan.Name, row.State, err, state)
			}
			received, err := tx.Received(h)
			if err != nil || !maps.Equal(received, t.truth.received[h]) {
				t.broken("the store holds what its commits said", "study %s: %v, want %v",
					plan.Name, received, t.truth.received[h])
			}
			_, none := tx.Release(h)
			if (none == nil) != (state == study.Released) {
				t.broken("one release a study", "study %s is %s, its release: %v", plan.Name, state,
					none)
			}
			sum, n, _ := tx.Sum(h)
			left, _ := tx.UnsummedContributions(h, "", 1)
			if protocol.IsFinal(state) && (sum != nil || n != 0 || len(left) != 0) {
				t.broken("a study that is over leaves no ballot and no sum", "study %s", plan.Name)
			}
			return nil
		})
		if err != nil {
			t.broken("the store holds what its commits said", "study %s: %v", plan.Name, err)
		}
		switch {
		case state == study.Released && t.kept[h] != nil: // the coordinator drew no noise
		case state == study.Released:
			released++
		case t.waits(h):
			waiting++
		case state != study.Draft && state != study.Failed && !restored:
			t.broken("every study comes to its end", "study %s is %s", plan.Name, state)
		}
		for _, p := range t.parties {
			if _, had := t.receipts[place{h, p}]; had &&
				t.truth.received[h][p] == (study.BodyDigest{}) && !t.damaged[place{h, p}] {
				t.broken("what was receipted is in the sum once", "study %s, %s", plan.Name, p)
			}
		}
	}
	totals, err := privacy.Verify(ctx, t.disk.ledger())
	if err != nil {
		t.broken("the ledger's chain holds", "%v", err)
		return
	}
	if t.budget && totals[privacy.Party].Charges > 1 {
		t.broken("no more is spent than the budget", "%d charges", totals[privacy.Party].Charges)
	}
	draws := 0
	for _, e := range entries(t.disk.ledger()) {
		if e.Kind == privacy.KindRelease {
			draws++
		}
	}
	if charges := int(totals[privacy.Party].Charges); charges != draws ||
		draws != released+waiting && !restored {
		t.broken("the ledger's charges are the releases", "%d charges, %d entries, %d releases",
			charges, draws, released)
	}
}
