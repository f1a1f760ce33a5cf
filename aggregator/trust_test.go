package aggregator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// full makes a world with an open study in which every party's upload is checked.
func full(t *testing.T, parties int) (*world, study.Task, study.Hash) {
	t.Helper()
	ctx := t.Context()
	task := taskOf(parties, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	for i, p := range task.Plan().Roster {
		must(0, w.servers[0].Receive(ctx, h, p,
			uploadOf(task, p, votes(task, i, false), 1, w.under(task))))
	}
	must(w.servers[0].Advance(ctx, h, link{w}))
	return w, task, h
}

// TestDishonestCoordinator: a helper refuses a coordinator that lies about plan, key,
// contributions, set or minimum, and keeps all its earlier answers.
func TestDishonestCoordinator(t *testing.T) {
	ctx := t.Context()
	task, other := taskOf(3, 2), taskOf(4, 2)
	w, h := newWorld(t, task, other), task.Hash()
	helper, signer := w.servers[1], w.signers[0]
	wants := func(what string, err error, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	own := Acceptance{Plan: h, Role: "coordinator", Terms: must(study.TermsDigest(task)),
		Commitment: commitment(h, 0, half{1})}
	say := func(change func(*Acceptance)) Signed {
		a := own
		change(&a)
		return must(protocol.SignJSON(signer, protocol.AcceptanceDocument, a))
	}
	accept := func(a Signed) error { _, err := helper.Accept(ctx, h, a); return err }
	wants("another plan's acceptance", accept(say(func(a *Acceptance) {
		a.Plan = other.Hash()
	})), ErrConflict)
	wants("a helper's role", accept(say(func(a *Acceptance) { a.Role = "helper" })), ErrConflict)
	wants("other noise", accept(say(func(a *Acceptance) {
		a.Terms = must(study.TermsDigest(other))
	})), ErrConflict)
	wants("no commitment", accept(say(func(a *Acceptance) {
		a.Commitment = Digest{}
	})), ErrConflict)
	wants("another signer", accept(must(protocol.SignJSON(must(protocol.NewSigner()),
		protocol.AcceptanceDocument, own))), protocol.ErrDamaged)
	if _, err := helper.Accept(ctx, study.Hash{9}, say(func(*Acceptance) {})); err == nil {
		t.Error("a plan that it does not know was accepted")
	}
	strict := helper.config.CheckPolicy
	helper.config.CheckPolicy = func(study.Task) error { return errors.New("not for us") }
	if err := accept(say(func(*Acceptance) {})); err == nil || helper.config.CheckPolicy == nil {
		t.Error("a plan that its policy refuses was accepted")
	}
	helper.config.CheckPolicy = nil
	if accept(say(func(*Acceptance) {})) == nil {
		t.Error("without a policy it serves")
	}
	helper.config.CheckPolicy = strict
	accepted := must(helper.Accept(ctx, h, say(func(*Acceptance) {})))
	wants("a second commitment", accept(say(func(a *Acceptance) {
		a.Commitment = commitment(h, 0, half{2})
	})), ErrConflict)
	if again := must(helper.Accept(ctx, h, say(func(*Acceptance) {}))); !again.Equal(accepted) {
		t.Error("asked again it accepts otherwise: another half, another key")
	}

	reveal := must(protocol.SignJSON(signer, protocol.RevealDocument, Reveal{h, accepted.Digest()}))
	open := func(x half, r Signed) error { _, err := helper.Reveal(ctx, h, x, r); return err }
	_, err := helper.Prepare(ctx, h, nil)
	wants("preparation without a key", err, ErrStepOrder)
	wants("another half than was committed to", open(half{2}, reveal), ErrConflict)
	wants("another acceptance", open(half{1},
		must(protocol.SignJSON(signer, protocol.RevealDocument, Reveal{h, Digest{1}}))),
		ErrConflict)
	wants("an unsigned reveal", open(half{1},
		Signed{Document: reveal.Document, Signature: accepted.Signature}), protocol.ErrDamaged)
	must(0, open(half{1}, reveal))
	wants("a second half", open(half{2}, reveal), ErrConflict)
	must(0, open(half{1}, reveal))

	// Contributions whose coordinator's part is prepared under the right key.
	r := must(recordOf(helper, h))
	key := helper.key(h, r)
	made := func(task study.Task, p study.PartyID, party int) (uploading.Upload,
		uploading.PrepareRequest) {
		of := uploadOf(task, p, votes(task, party, false), 1, w.under(task))
		u := uploading.Upload{Weight: 1}
		f := shares.BallotForm(task.Pool().Rows(), 2, 1)
		u.CoordinatorPart, u.HelperPart = of[9:9+f.PartSize(0)], of[9+f.PartSize(0):len(of)-32]
		prepared := must(f.Prepare(key, shares.NewProofContext(task.Hash(), string(p)), 0,
			u.CoordinatorPart))
		return u, u.PrepareRequest(p, prepared.Message())
	}
	u, honest := made(task, "p0", 0)
	_, next := made(task, "p1", 1)
	prepare := func(o ...uploading.PrepareRequest) ([]PrepareReply, error) {
		return helper.Prepare(ctx, h, o)
	}
	_, err = prepare(honest, honest)
	wants("one party twice in a call", err, ErrConflict)
	_, err = prepare(make([]uploading.PrepareRequest, batch+1)...)
	if err == nil {
		t.Error("a call of any size was taken")
	}
	for what, change := range map[string]func(*uploading.PrepareRequest){
		"a party that is not on the roster": func(o *uploading.PrepareRequest) { o.Party = "stranger" },
		"a weight that the plan refuses":    func(o *uploading.PrepareRequest) { o.Weight = 2 },
	} {
		o := honest
		change(&o)
		if _, err := prepare(o); err == nil {
			t.Errorf("%s: it was answered", what)
		}
	}
	stored := func() int64 { return w.heldBy(shares.Helper, h).contributions }
	if stored() != 0 {
		t.Fatal("what was refused is in the sum")
	}
	// An invalid contribution is refused as such. Each is a party of its own study, so that none
	// blocks another.
	for what, change := range map[string]func(*uploading.PrepareRequest){
		"another party's under this name": func(o *uploading.PrepareRequest) { party := o.Party; *o = next; o.Party = party },
		"a share sealed for other bytes":  func(o *uploading.PrepareRequest) { o.CoordinatorDigest[0] ^= 1 },
		"another nonce":                   func(o *uploading.PrepareRequest) { o.CommonPart = bytes.Clone(o.CommonPart); o.CommonPart[0] ^= 1 },
		"a box that was changed": func(o *uploading.PrepareRequest) {
			o.HelperPart = bytes.Clone(o.HelperPart)
			o.HelperPart[len(o.HelperPart)-1] ^= 1
		},
		"no message":                 func(o *uploading.PrepareRequest) { o.Message = nil },
		"a message that was changed": func(o *uploading.PrepareRequest) { o.Message = bytes.Clone(o.Message); o.Message[40] ^= 1 },
		"another party's message":    func(o *uploading.PrepareRequest) { o.Message = next.Message },
	} {
		o := honest
		change(&o)
		c, err := helper.check(bothOf(task), r, o)
		if err != nil || c.verdict != refused || c.message != nil {
			t.Errorf("%s: verdict %v, message of %d bytes, %v", what, c.verdict, len(c.message),
				err)
		}
	}
	answers := must(prepare(honest))
	if !answers[0].Accepted || stored() != 1 {
		t.Fatal("an honest contribution is refused")
	}
	if again := must(prepare(honest)); !bytes.Equal(again[0].Message, answers[0].Message) ||
		stored() != 1 {
		t.Error("asked again, the answer is another, or it was counted twice")
	}
	_, second := made(task, "p0", 0)
	_, err = prepare(second)
	wants("a second contribution of one party", err, ErrConflict)
	if p := must(shares.BallotForm(task.Pool().Rows(), 2, 1).Prepare(key,
		shares.NewProofContext(h, "p0"), 0,
		u.CoordinatorPart)); len(must(bytesOf(p.Finish(answers[0].Message)))) == 0 {
		t.Error("the helper's message does not check")
	}

	set := must(helper.setOf(ctx, h, r))
	seal := func(change func(*ContributionSet)) error {
		s := set
		change(&s)
		_, err := helper.Seal(ctx, h, must(protocol.SignJSON(signer, protocol.SetDocument, s)))
		return err
	}
	wants("a set below the minimum", seal(func(*ContributionSet) {}), study.ErrTooFew)
	must(prepare(next))
	set = must(helper.setOf(ctx, h, r))
	wants("more than it accepted", seal(func(s *ContributionSet) { s.Contributions = 3 }),
		ErrConflict)
	wants("fewer", seal(func(s *ContributionSet) { s.Contributions = 1 }), ErrConflict)
	wants("others", seal(func(s *ContributionSet) { s.MembersDigest[0] ^= 1 }), ErrConflict)
	wants("another weight", seal(func(s *ContributionSet) { s.Weight = 7 }), ErrConflict)
	wants("another plan's", seal(func(s *ContributionSet) { s.Plan = other.Hash() }), ErrConflict)
	wants("under another acceptance", seal(func(s *ContributionSet) { s.Helper[0] ^= 1 }),
		ErrConflict)
	_, err = helper.Share(ctx, h)
	wants("a share before the set", err, ErrStepOrder)
	must(0, seal(func(*ContributionSet) {}))
	wants("a second set", seal(func(s *ContributionSet) { s.Contributions = 1 }), ErrConflict)
	_, late := made(task, "p2", 2)
	_, err = prepare(late)
	wants("a contribution after the set", err, ErrConflict)
	if w.charges(shares.Helper) != 0 {
		t.Error("the helper's ledger was charged before it released")
	}
	first := must(helper.Share(ctx, h))
	if again := must(helper.Share(ctx, h)); !again.Equal(first) || w.charges(shares.Helper) != 1 {
		t.Error("asked again it releases another share")
	}
	for name, call := range map[string]func() error{
		"OpenStudy": func() error { _, err := helper.OpenStudy(ctx, h, nil); return err },
		"Receive":   func() error { return helper.Receive(ctx, h, "p0", nil) },
		"Advance":   func() error { _, err := helper.Advance(ctx, h, nil); return err },
	} {
		if call() == nil {
			t.Errorf("a helper does what is the coordinator's: %s", name)
		}
	}
}

func bothOf(t study.Task) task { return task{t, must(bodiesOf(t))} }

type liar struct {
	link
	accept  func(Signed) Signed
	reveal  func([32]byte) [32]byte
	answers func([]PrepareReply) []PrepareReply
	seal    func([]byte) []byte
	share   func(Signed) Signed
}

func (l liar) Accept(ctx context.Context, h study.Hash, a Signed) (Signed, error) {
	out, err := l.w.servers[1].Accept(ctx, h, a)
	if err == nil && l.accept != nil {
		out = l.accept(out)
	}
	return out, err
}

func (l liar) Reveal(ctx context.Context, h study.Hash, x [32]byte, s Signed) ([32]byte, error) {
	out, err := l.w.servers[1].Reveal(ctx, h, x, s)
	if err == nil && l.reveal != nil {
		out = l.reveal(out)
	}
	return out, err
}

func (l liar) Prepare(ctx context.Context, h study.Hash,
	o []uploading.PrepareRequest) ([]PrepareReply, error) {
	out, err := l.w.servers[1].Prepare(ctx, h, o)
	if err == nil && l.answers != nil {
		out = l.answers(out)
	}
	return out, err
}

func (l liar) Seal(ctx context.Context, h study.Hash, s Signed) ([]byte, error) {
	out, err := l.w.servers[1].Seal(ctx, h, s)
	if err == nil && l.seal != nil {
		out = l.seal(out)
	}
	return out, err
}

func (l liar) Share(ctx context.Context, h study.Hash) (Signed, error) {
	out, err := l.w.servers[1].Share(ctx, h)
	if err == nil && l.share != nil {
		out = l.share(out)
	}
	return out, err
}

// TestDishonestHelper: a coordinator rejects a helper that lies about its key, its acceptance, the
// set or its release. A lie that looks like a cheating party gets that party refused, and nothing
// more.
func TestDishonestHelper(t *testing.T) {
	changed := func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b }
	resigned := func(w *world, kind protocol.DocumentKind,
		change func(map[string]any)) func(Signed) Signed {
		return func(s Signed) Signed { return rewritten(w.signers[1], kind, s, change) }
	}
	for name, c := range map[string]struct {
		lie  func(w *world, l *liar)
		want error // of Advance or OpenStudy; nil: released, with this number
		left int
	}{
		"honest": {func(*world, *liar) {}, nil, 3},
		"an acceptance of other noise": {func(w *world, l *liar) {
			l.accept = resigned(w, protocol.AcceptanceDocument, func(m map[string]any) {
				m["terms"] = "00"
			})
		}, ErrConflict, 0},
		"with another coordinator": {func(w *world, l *liar) {
			l.accept = resigned(w, protocol.AcceptanceDocument, func(m map[string]any) {
				m["coordinator"] = fmt.Sprintf("%064d", 1)
			})
		}, ErrConflict, 0},
		"signed by another": {func(w *world, l *liar) {
			l.accept = func(s Signed) Signed {
				return Signed{Document: s.Document, Signature: changed(s.Signature)}
			}
		}, protocol.ErrDamaged, 0},
		"another half": {func(w *world, l *liar) { l.reveal = func(x [32]byte) [32]byte { x[0] ^= 1; return x } }, ErrConflict, 0},
		"a message that was changed": {func(w *world, l *liar) {
			l.answers = func(a []PrepareReply) []PrepareReply {
				a[1].Message = changed(a[1].Message)
				return a
			}
		}, ErrFailed, 0},
		"fewer answers": {func(w *world, l *liar) { l.answers = func(a []PrepareReply) []PrepareReply { return a[:1] } }, errAny, 0},
		"answers in another order": {func(w *world, l *liar) {
			l.answers = func(a []PrepareReply) []PrepareReply { a[0], a[1] = a[1], a[0]; return a }
		}, errAny, 0},
		"a party that it refuses": {func(w *world, l *liar) {
			l.answers = func(a []PrepareReply) []PrepareReply {
				a[0] = PrepareReply{Party: a[0].Party}
				return a
			}
		}, ErrConflict, 0}, // its own set has it
		"a signature of another set": {func(w *world, l *liar) { l.seal = changed }, protocol.ErrDamaged, 0},
		"a share of another set": {func(w *world, l *liar) {
			l.share = resigned(w, protocol.ShareDocument, func(m map[string]any) {
				m["set"] = fmt.Sprintf("%064d", 1)
			})
		}, ErrConflict, 0},
		"the coordinator's share": {func(w *world, l *liar) {
			l.share = resigned(w, protocol.ShareDocument, func(m map[string]any) {
				m["published"] = ownShare(w)
			})
		}, ErrConflict, 0},
		"a share that was changed": {func(w *world, l *liar) {
			l.share = func(s Signed) Signed {
				return Signed{Document: changed(s.Document), Signature: s.Signature}
			}
		}, protocol.ErrDamaged, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			task := taskOf(3, 2)
			w, h := newWorld(t, task), task.Hash()
			l := liar{link: link{w}}
			c.lie(w, &l)
			err := func() error {
				if _, err := w.servers[0].OpenStudy(ctx, h, l); err != nil {
					return err
				}
				for i, p := range task.Plan().Roster {
					must(0, w.servers[0].Receive(ctx, h, p,
						uploadOf(task, p, votes(task, i, false), 1, w.under(task))))
				}
				must(0, w.servers[0].CloseStudy(ctx, h, nil))
				_, err := w.servers[0].Advance(ctx, h, l)
				return err
			}()
			if c.want == errAny && err == nil || c.want != errAny && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if o, err := w.servers[0].Released(ctx, h); (err == nil) != (c.want == nil) ||
				o.Contributions.Contributions != c.left {
				t.Errorf("released of %d: %v", o.Contributions.Contributions, err)
			}
		})
	}
}

var errAny = errors.New("any error")

func ownShare(w *world) []byte {
	for h := range w.tasks {
		var s AggregateShare
		must(0, study.DecodeStrictJSON(must(recordOf(w.servers[0], h)).Share.Document, &s))
		return s.Published
	}
	return nil
}

// TestCheckAcceptance: a party contributes only under its own pins, plan and noise, and never if
// coordinator and helper are one.
func TestCheckAcceptance(t *testing.T) {
	task, other := taskOf(3, 2), taskOf(4, 2)
	w, h := newWorld(t, task), task.Hash()
	good := w.opened(h)
	pins := uploading.Pins{Signing: w.signers[1].Key(),
		Sealing: protocol.SealingPin(w.sealing.Public())}
	check := func(task study.Task, a Signed, pins uploading.Pins) error {
		_, err := uploading.CheckAcceptance(task, a, pins, w.signers[0].Key())
		return err
	}
	must(0, check(task, good, pins))
	codeOf := func(signing protocol.SignerKey, sealing protocol.KeyPin) uploading.Pins {
		return uploading.Pins{Code: protocol.KeyCode(signing[:], sealing[:])}
	}
	coded := codeOf(pins.Signing, pins.Sealing)
	must(0, check(task, good, coded))
	changed := func(change func(map[string]any)) Signed {
		return rewritten(w.signers[1], protocol.AcceptanceDocument, good, change)
	}
	if check(task, Signed{Document: good.Document,
		Signature: w.signers[0].Sign(protocol.AcceptanceDocument,
			good.Document)}, uploading.Pins{Signing: w.signers[0].Key(),
		Sealing: pins.Sealing}) == nil {
		t.Error("a coordinator that is its own helper is taken")
	}
	for name, err := range map[string]error{
		"another helper":          check(task, good, uploading.Pins{Signing: must(protocol.NewSigner()).Key(), Sealing: pins.Sealing}),
		"another sealing key":     check(task, good, uploading.Pins{Signing: pins.Signing, Sealing: [32]byte{1}}),
		"another plan":            check(other, good, pins),
		"another helper's code":   check(task, good, codeOf(w.signers[0].Key(), pins.Sealing)),
		"another sealing's code":  check(task, good, codeOf(pins.Signing, [32]byte{1})),
		"a key that signs not":    check(task, changed(func(m map[string]any) { m["signing"] = w.signers[0].Key() }), codeOf(w.signers[0].Key(), pins.Sealing)),
		"no key that signs":       check(task, changed(func(m map[string]any) { delete(m, "signing") }), coded),
		"no key, and its code":    check(task, changed(func(m map[string]any) { delete(m, "signing") }), codeOf(protocol.SignerKey{}, pins.Sealing)),
		"a coordinator's":         check(task, changed(func(m map[string]any) { m["role"] = "coordinator" }), pins),
		"other noise":             check(task, changed(func(m map[string]any) { m["terms"] = "00" }), pins),
		"no commitment":           check(task, changed(func(m map[string]any) { m["commitment"] = fmt.Sprintf("%064d", 0) }), pins),
		"no coordinator's":        check(task, changed(func(m map[string]any) { delete(m, "coordinator") }), pins),
		"a field it does not say": check(task, changed(func(m map[string]any) { m["more"] = 1 }), pins),
	} {
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// TestTranscript: for any two vectors of a party, all that either server receives and stores has
// the same sizes, at each step.
func TestTranscript(t *testing.T) {
	ctx := t.Context()
	var seen [2]string
	for n := range seen {
		task := taskOf(2, 4)
		w, h := newWorld(t, task), task.Hash()
		w.opened(h)
		var sizes bytes.Buffer
		w.point = func(r shares.Role, effect string) {
			if effect[0] != 'r' { // remembered: the store can be read
				return
			}
			must(0, w.servers[r].view(ctx, h, func(tx *transaction) error {
				all, err := tx.contributions("TRUE")
				for _, c := range all {
					fmt.Fprintln(&sizes, r, effect, c.party, c.weight, c.verdict, len(c.upload),
						len(c.message))
				}
				row := must(tx.sum())
				fmt.Fprintln(&sizes, r, effect, len(row.sum), row.weight, row.contributions)
				return err
			}))
		}
		for i, p := range task.Plan().Roster {
			must(0, w.servers[0].Receive(ctx, h, p,
				uploadOf(task, p, votes(task, i, n == 1), 1, w.under(task))))
		}
		must(0, w.servers[0].CloseStudy(ctx, h, nil))
		must(w.servers[0].Advance(ctx, h, sized{link{w}, &sizes}))
		seen[n] = sizes.String()
	}
	if seen[0] != seen[1] || len(seen[0]) < 500 {
		t.Errorf("the servers see\n%s\nof one vector, and of another\n%s", seen[0], seen[1])
	}
}

// sized notes the sizes of messages between the servers.
type sized struct {
	link
	to *bytes.Buffer
}

func (s sized) Prepare(ctx context.Context, h study.Hash,
	offers []uploading.PrepareRequest) ([]PrepareReply, error) {
	out, err := s.link.Prepare(ctx, h, offers)
	for i, o := range offers {
		fmt.Fprintln(s.to, o.Party, o.Weight, len(o.CommonPart), len(o.HelperPart), len(o.Message),
			out[i].Accepted, len(out[i].Message))
	}
	return out, err
}

// FuzzUpload: any bytes from a party are accepted or refused without a panic.
func FuzzUpload(f *testing.F) {
	task := taskOf(2, 3)
	f.Add(uploadOf(task, "p0", votes(task, 0, false), 1,
		uploading.Agreement{Sealing: must(server.NewSealingKey()).Public()}))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1})
	of := must(bodiesOf(task))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := uploading.Parse(of, data)
		if err != nil {
			return
		}
		if again := u.Bytes(); !bytes.Equal(again, data) {
			t.Errorf("an upload is written otherwise than it was read")
		}
	})
}

// TestUploads: a truncated or overlong upload, or one of another version or weight, is refused.
func TestUploads(t *testing.T) {
	ctx := t.Context()
	task := taskOf(2, 2)
	w, h := newWorld(t, task), task.Hash()
	data := uploadOf(task, "p0", votes(task, 0, false), 1, w.under(task))
	if err := w.servers[0].Receive(ctx, h, "p0", data); !errors.Is(err, study.ErrNotOpen) {
		t.Errorf("before the servers agreed: %v", err)
	}
	w.opened(h)
	for name, wrong := range map[string][]byte{
		"nothing": nil, "cut off": data[:len(data)-1], "a header alone": data[:9], "too long": append(bytes.Clone(data), 0),
		"another version": append([]byte{9}, data[1:]...), "another weight": append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2}, data[9:]...),
		"a weight below 0": append([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255}, data[9:]...),
	} {
		if err := w.servers[0].Receive(ctx, h, "p0", wrong); !errors.Is(err,
			study.ErrContribution) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.servers[0].Receive(ctx, h, "stranger", data); !errors.Is(err,
		study.ErrNotEnrolled) {
		t.Errorf("a stranger's: %v", err)
	}
	must(0, w.servers[0].Receive(ctx, h, "p0", data))
	if _, err := uploading.Contribute(taskWith(task, study.NoiseCoordinator), "p0",
		study.NewInputs(nil, []byte("key")), uploading.Agreement{}); err == nil {
		t.Error("shares were made for a plan that has none")
	}
}
