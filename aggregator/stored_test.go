package aggregator

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// TestPutBack: a helper or coordinator whose store or ledger was restored says nothing until its
// operator reconciles. A helper needs another sealing key. A plan that the old store had not seen
// can then be accepted again, under a second verify key, but no contribution sent under the first
// key can be prepared under the second.
func TestPutBack(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	before := w.copyOf(shares.Helper)
	w.opened(h)
	data := uploadOf(task, "p0", votes(task, 0, false), 1, w.under(task))
	must(0, w.servers[0].Receive(ctx, h, "p0", data))
	must(w.servers[0].Advance(ctx, h, link{w}))
	first := must(recordOf(w.servers[1], h))

	w.back(shares.Helper, before, "shares.db")
	must(0, w.start(shares.Helper))
	helper := w.servers[1]
	for name, call := range map[string]func() error{
		"accept":  func() error { _, err := helper.Accept(ctx, h, first.Theirs); return err },
		"reveal":  func() error { _, err := helper.Reveal(ctx, h, half{}, Signed{}); return err },
		"prepare": func() error { _, err := helper.Prepare(ctx, h, nil); return err },
		"seal":    func() error { _, err := helper.Seal(ctx, h, Signed{}); return err },
		"share":   func() error { _, err := helper.Share(ctx, h); return err },
	} {
		if err := call(); !errors.Is(err, ErrBehind) {
			t.Errorf("%s: %v, want ErrBehind", name, err)
		}
	}
	if err := helper.Reconcile(ctx); err == nil {
		t.Fatal("it reconciled with the key that contributions are sealed to")
	}
	w.stop(shares.Helper)
	w.sealing = must(server.NewSealingKey())
	must(0, w.start(shares.Helper))
	helper = w.servers[1]
	must(0, helper.Reconcile(ctx))
	if helper.Reconcile(ctx) == nil {
		t.Error("it reconciled twice")
	}
	w.stop(shares.Helper)
	must(0, w.start(shares.Helper)) // and goes on after a restart
	helper = w.servers[1]
	// A lying coordinator, not restored, proposes the plan anew.
	own := must(protocol.SignJSON(w.signers[0], protocol.AcceptanceDocument,
		Acceptance{Plan: h, Role: "coordinator", Terms: must(study.TermsDigest(task)),
			Commitment: commitment(h, 0, half{7})}))
	accepted := must(helper.Accept(ctx, h, own))
	must(helper.Reveal(ctx, h, half{7},
		must(protocol.SignJSON(w.signers[0], protocol.RevealDocument,
			Reveal{h, accepted.Digest()}))))
	f := shares.BallotForm(task.Pool().Rows(), 2, 1)
	u := uploading.Upload{Weight: 1, CoordinatorPart: data[9 : 9+f.PartSize(0)],
		HelperPart: data[9+f.PartSize(0) : len(data)-32]}
	second := must(recordOf(helper, h))
	message := must(f.Prepare(helper.key(h, second), shares.NewProofContext(h, "p0"), 0,
		u.CoordinatorPart)).Message()
	answers, err := helper.Prepare(ctx, h, []uploading.PrepareRequest{u.PrepareRequest("p0",
		message)})
	if err != nil || answers[0].Accepted || answers[0].Message != nil {
		t.Errorf("a contribution of before is prepared under a second key: %v, %v", answers, err)
	}
	if _, err := uploading.CheckAcceptance(task, accepted,
		uploading.Pins{Signing: w.signers[1].Key(),
			Sealing: protocol.SealingPin(uploadKeyOf(first))}, w.signers[0].Key()); err == nil {
		t.Error("a party that pinned the old key takes the new one from the coordinator")
	}

	// Only the coordinator is restored, to before it closed the study.
	w, _, h = full(t, 3)
	before = w.copyOf(shares.Coordinator)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	w.back(shares.Coordinator, before, "shares.db")
	must(0, w.start(shares.Coordinator))
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, ErrBehind) {
		t.Errorf("a coordinator that was put back goes on: %v", err)
	}
	must(0, w.servers[0].Reconcile(ctx))
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, ErrFailed) {
		t.Errorf("a study of before goes on: %v", err)
	}

	// Only the ledger is restored: it would answer anew.
	w, _, h = full(t, 3)
	before = w.copyOf(shares.Helper)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	must(w.servers[0].Advance(ctx, h, link{w}))
	w.back(shares.Helper, before, "ledger.db")
	must(0, w.start(shares.Helper))
	if _, err := w.servers[1].Share(ctx, h); !errors.Is(err, ErrBehind) {
		t.Errorf("a helper with a ledger of before releases: %v", err)
	}
	// A ledger behind its LastSequence opens; its releases fail (privacy.ErrBehind).
	if _, err := privacy.Open(w.ledgers[1], privacy.Config{LastSequence: 1}); err != nil {
		t.Error(err)
	}
}

func uploadKeyOf(helpers record) []byte {
	var a Acceptance
	must(0, study.DecodeStrictJSON(helpers.Own.Document, &a))
	return a.Sealing
}

// TestSecondSet: a helper whose store holds another set than its ledger has answered for, as if
// somebody changed the store after the draw, draws no second time.
func TestSecondSet(t *testing.T) {
	ctx := t.Context()
	w, _, h := full(t, 3)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	w.point = func(r shares.Role, effect string) {
		if r == shares.Helper && effect == "after ledger" {
			panic(killed{r})
		}
	}
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	w.point = nil
	must(0, w.start(shares.Helper))
	honest := must(recordOf(w.servers[1], h)).Set
	for _, set := range []Signed{{Document: []byte("{}")}, honest} {
		must(w.servers[1].update(ctx, h, "test", func(_ *transaction, r *record) error {
			r.Set = set
			return nil
		}))
		_, err := w.servers[1].Share(ctx, h)
		if bytes.Equal(set.Document, honest.Document) && err != nil ||
			!bytes.Equal(set.Document, honest.Document) && !errors.Is(err, privacy.ErrConflict) {
			t.Errorf("set %s: %v", set.Document, err)
		}
	}
	if w.charges(shares.Helper) != 1 {
		t.Error("it was charged twice")
	}
}

// TestOpenRefuses: Open refuses a coordinator that is its own helper, a helper without a key, and a
// head file that is missing or of another key.
func TestOpenRefuses(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t)
	for name, change := range map[string]func(*Config){
		"its own helper":             func(c *Config) { c.OtherKey = c.Signer.Key() },
		"a helper without a key":     func(c *Config) { c.Sealing = nil },
		"no head file":               func(c *Config) { c.Head += ".none" },
		"no store":                   func(c *Config) { c.Store += ".none" },
		"another sealing key":        func(c *Config) { c.Sealing = must(server.NewSealingKey()) },
		"a coordinator with its key": func(c *Config) { c.Role = shares.Coordinator },
	} {
		c := w.config(shares.Helper)
		change(&c)
		if s, err := Open(ctx, c); err == nil {
			s.Close()
			t.Errorf("%s: it opened", name)
		}
	}
	if WriteNewHead(w.head(1), nil) == nil {
		t.Error("a head file was written over")
	}
	for _, text := range []string{"", "steps -1 entry 0 sealing 00\n",
		"steps 1 entry 2 sealing 00ff\n", "steps x\n"} {
		path := t.TempDir() + "/head"
		must(0, protocol.WriteSecret(path, []byte(text)))
		if _, err := readMark(path); err == nil {
			t.Errorf("%q was read as a head file", text)
		}
	}
}

// waits is a helper that answers on command.
type waits struct {
	link
	asked, answer chan struct{}
}

func (w waits) Prepare(ctx context.Context, h study.Hash,
	o []uploading.PrepareRequest) ([]PrepareReply, error) {
	w.asked <- struct{}{}
	<-w.answer
	return w.link.Prepare(ctx, h, o)
}

// TestReceiveWaitsForNobody: uploads are stored while the helper is asked, and none after the
// close, so that the set contains every stored upload.
func TestReceiveWaitsForNobody(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	send := func(i int) error {
		p := task.Plan().Roster[i]
		return w.servers[0].Receive(ctx, h, p,
			uploadOf(task, p, votes(task, i, false), 1, w.under(task)))
	}
	must(0, send(0))
	helper := waits{link{w}, make(chan struct{}), make(chan struct{})}
	done := make(chan error)
	go func() { _, err := w.servers[0].Advance(ctx, h, helper); done <- err }()
	<-helper.asked
	must(0, send(1))
	helper.answer <- struct{}{}
	<-helper.asked // the upload that came meanwhile
	helper.answer <- struct{}{}
	must(0, <-done)
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	if err := send(2); !errors.Is(err, study.ErrNotOpen) {
		t.Errorf("after the close: %v", err)
	}
	if !must(w.servers[0].Advance(ctx, h, link{w})) ||
		must(w.servers[0].Released(ctx, h)).Contributions.Contributions != 2 {
		t.Error("it is not released of both")
	}
}

// TestHeadIsWrittenFirst: while the head file cannot be written the server says nothing, not even
// about what it has stored.
func TestHeadIsWrittenFirst(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	data := uploadOf(task, "p0", votes(task, 0, false), 1, w.under(task))
	head := w.servers[0].config.Head
	w.servers[0].config.Head = t.TempDir() + "/none/head"
	for range 2 { // stored by the first, and told by neither
		if err := w.servers[0].Receive(ctx, h, "p0", data); err == nil {
			t.Error("an upload is acknowledged that the head file does not know of")
		}
	}
	w.servers[0].config.Head = head
	must(0, w.servers[0].Receive(ctx, h, "p0", data))
	var steps int64
	must(0, w.servers[0].view(ctx, h, func(tx *transaction) (err error) {
		steps, err = tx.steps()
		return err
	}))
	if m := must(readMark(head)); m.steps != steps {
		t.Errorf("the head file knows of %d transactions of %d", m.steps, steps)
	}
}

// TestDamage: a changed sum or upload is found before its use.
func TestDamage(t *testing.T) {
	ctx := t.Context()
	for _, r := range []shares.Role{shares.Coordinator, shares.Helper} {
		w, _, h := full(t, 3)
		must(0, w.servers[0].CloseStudy(ctx, h, nil))
		must(w.servers[r].db.Write.Exec("UPDATE sums SET sum = zeroblob(length(sum))"))
		if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, protocol.ErrDamaged) ||
			w.charges(r) != 0 {
			t.Errorf("the %v's sum: %v", r, err)
		}
		must(0, w.servers[0].Cancel(ctx, h, "damaged"))
		if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, ErrFailed) {
			t.Errorf("cancelled: %v", err)
		}
	}
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	must(0, w.servers[0].Receive(ctx, h, "p0",
		uploadOf(task, "p0", votes(task, 0, false), 1, w.under(task))))
	must(w.servers[0].db.Write.Exec("UPDATE contributions SET upload = CAST(substr(upload, 1, 200) || x'00' || substr(upload, 202) AS BLOB)"))
	if _, err := w.servers[0].Advance(ctx, h, link{w}); !errors.Is(err, protocol.ErrDamaged) &&
		!errors.Is(err, study.ErrContribution) {
		t.Errorf("an upload: %v", err)
	}
}
