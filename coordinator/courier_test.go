package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// site is a party without a network, and the files that it keeps.
type site struct {
	id  protocol.Identity
	dir string
	now func() time.Time
}

// certify enrols a party by carried files.
func (w *world) certify(name string) *site {
	w.t.Helper()
	e := must(protocol.NewEnrolment())
	request, key, err := e.RequestFile()
	must(0, err)
	der, is, err := protocol.ReadRequest(request)
	must(0, err)
	if is != key {
		w.t.Fatalf("the request of %s has another fingerprint", name)
	}
	file, coordinator, err := w.operator.Certify(context.Background(), name, der)
	must(0, err)
	if _, err := e.AcceptFile(file, "aaaa"); !errors.Is(err, protocol.ErrDenied) {
		w.t.Errorf("taken without the coordinator's fingerprint: %v", err)
	}
	return &site{must(e.AcceptFile(file, string(coordinator))), w.t.TempDir(), w.clock.Now}
}

// open reads a pack at a site. The text goes to out.
func (s *site) open(pack []byte) (*protocol.Courier, error) {
	in := func(name string) func(study.Hash) string {
		return func(study.Hash) string { return filepath.Join(s.dir, name) }
	}
	return protocol.OpenCourier(pack, s.id, protocol.CourierOptions{
		AnswerFile: filepath.Join(s.dir, "out"), Notice: in("notice"), Answer: in("answer"), NewestSignedFile: filepath.Join(s.dir, "memory"), Now: s.now,
	})
}

// answer is the file with which a site answers a pack.
func (s *site) answer(t *testing.T, pack, body []byte) []byte {
	t.Helper()
	c := must(s.open(pack))
	if _, err := c.Contribute(context.Background(), c.StudyOfFile().Hash, body); !errors.Is(err,
		protocol.ErrToBeCarried) {
		t.Fatalf("answer: %v", err)
	}
	return must(os.ReadFile(filepath.Join(s.dir, "out")))
}

func (w *world) pack(parties ...study.PartyID) []byte {
	w.t.Helper()
	file, _, err := w.operator.PackStudy(context.Background(), "trial", parties)
	return must(file, err)
}

// TestCarried: a party's answer by file is accepted, refused and receipted like an answer over the
// network, whoever carries the file and however often. The release is carried back.
func TestCarried(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster, pool := names(4), poolOf(6)
	w.enrol("p0")
	w.enrol("p1")
	two, three, stranger := w.certify("p2"), w.certify("p3"), w.certify("stranger")
	plan := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	opened := w.open(plan, pool)
	pack := w.pack()
	c := must(two.open(pack))
	if s := c.StudyOfFile(); s.Hash != opened.Hash || s.State != study.Open ||
		s.CallerContributed ||
		!bytes.Equal(must(c.Pool(ctx, s, "")), pool) {
		t.Errorf("the pack is about %+v", s.Summary)
	}
	if _, err := stranger.open(pack); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a stranger reads it: %v", err)
	}
	if _, err := newWorld(t, nil).certify("p2").open(pack); err == nil {
		t.Error("a site of another coordinator takes it")
	}

	body := ballotFor(2, 6)
	file := two.answer(t, pack, body)
	if again := two.answer(t, pack, body); !bytes.Equal(file, again) {
		t.Error("the answer was written as other bytes")
	}
	for name, bad := range map[string]struct {
		file []byte
		is   error
	}{
		"garbage":    {[]byte("garbage"), protocol.ErrInvalid},
		"nothing":    {nil, protocol.ErrInvalid},
		"a pack":     {pack, protocol.ErrInvalid},
		"cut off":    {file[:len(file)-1], protocol.ErrDamaged},
		"a bit":      {flipped(file), protocol.ErrDamaged},
		"no ballot":  {three.answer(t, pack, []byte("no ballot")), study.ErrContribution},
		"too long":   {three.answer(t, pack, make([]byte, 1<<20)), protocol.ErrTooLarge},
		"other rows": {three.answer(t, pack, ballotFor(1, 70)), study.ErrContribution},
		"too large":  {make([]byte, 128<<20), protocol.ErrTooLarge},
	} {
		if _, err := w.operator.AcceptAnswer(ctx, bad.file); !errors.Is(err, bad.is) {
			t.Errorf("%s: %v, want %v", name, err, bad.is)
		}
	}
	if s := must(w.operator.Study(ctx, "trial")); s.Contributed != 0 {
		t.Fatalf("%d contributions of what was refused", s.Contributed)
	}

	accepted := must(w.operator.AcceptAnswer(ctx, file))
	if accepted.Party != "p2" || accepted.Declined {
		t.Errorf("accepted as %+v", accepted)
	}
	again := must(w.operator.AcceptAnswer(ctx, file))
	for _, back := range [][]byte{accepted.File, again.File, w.pack("p2")} {
		c := must(two.open(back))
		r := must(c.Contribute(ctx, opened.Hash, body))
		if r.Party != "p2" || r.Body != sha256.Sum256(body) || !c.StudyOfFile().CallerContributed ||
			c.StudyOfFile().Contributed != 1 {
			t.Errorf("the receipt is %+v", r)
		}
		if bytes.Contains(back, r.Document) ||
			bytes.Contains(back, fmt.Appendf(nil, "%x", sha256.Sum256(body))) {
			t.Error("the receipt, by which votes can be guessed, is not encrypted")
		}
	}
	if _, err := two.open(pack); !errors.Is(err, protocol.ErrOlderFile) {
		t.Errorf("an older pack is taken after a newer one: %v", err)
	}
	if _, err := w.operator.AcceptAnswer(ctx,
		two.answer(t, w.packWithoutReceipt(two), ballotFor(3, 6))); !errors.Is(err,
		study.ErrDifferentUpload) {
		t.Errorf("other bytes: %v", err)
	}
	// The coordinator accepts no answer of a revoked party, however old the file is.
	held := three.answer(t, pack, ballotFor(3, 6))
	must(0, w.operator.Revoke(ctx, "p3"))
	if _, err := w.operator.AcceptAnswer(ctx, held); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("an answer of who was revoked: %v", err)
	}
	three = w.certify("p3")
	// The site declines, and then contributes.
	c = must(three.open(w.pack()))
	if err := c.Decline(ctx, opened.Hash); !errors.Is(err, protocol.ErrToBeCarried) {
		t.Fatal(err)
	}
	if a := must(w.operator.AcceptAnswer(ctx,
		must(os.ReadFile(filepath.Join(three.dir, "out"))))); !a.Declined {
		t.Errorf("accepted as %+v", a)
	}
	if s := must(w.operator.Study(ctx, "trial")); !slices.Equal(s.Declined, []string{"p3"}) {
		t.Errorf("declined: %v", s.Declined)
	}
	must(w.parties["p0"].Contribute(ctx, opened.Hash, ballotFor(0, 6)))
	must(w.parties["p1"].Contribute(ctx, opened.Hash, ballotFor(1, 6)))
	late := three.answer(t, w.pack(), ballotFor(3, 6))
	w.clock.add(2 * time.Hour)
	if _, err := w.operator.AcceptAnswer(ctx, late); !errors.Is(err, study.ErrNotOpen) {
		t.Errorf("an answer after the deadline: %v", err)
	}
	w.wait("trial", study.Released)
	if _, err := w.operator.AcceptAnswer(ctx, late); !errors.Is(err, study.ErrNotOpen) ||
		!strings.Contains(err.Error(), "comes too late") {
		t.Errorf("an answer after the release: %v", err)
	}
	if _, err := w.operator.AcceptAnswer(ctx, file); !errors.Is(err, study.ErrNotOpen) ||
		!strings.Contains(err.Error(), "in it already") {
		t.Errorf("the same answer after the release: %v", err)
	}
	c = must(two.open(w.pack()))
	r := must(c.Release(ctx, ""))
	if want := must(w.parties["p0"].Release(ctx, "trial")); !bytes.Equal(r.Document,
		want.Document) || r.Signer != want.Signer {
		t.Error("another release is carried")
	}
	if c = must(three.open(w.pack())); c.StudyOfFile().CallerContributed ||
		c.StudyOfFile().State != study.Released {
		t.Errorf("p3 is told %+v", c.StudyOfFile().Summary)
	}
	must(0, w.server.store.View(ctx, func(tx records.Tx) error {
		if _, _, err := tx.SealKey(opened.Hash); !errors.Is(err, records.ErrNoRow) {
			t.Errorf("the key that answers are sealed to is still there: %v", err)
		}
		return nil
	}))
}

// packWithoutReceipt is a pack from which a site's receipt was removed.
func (w *world) packWithoutReceipt(s *site) []byte {
	w.t.Helper()
	file := w.pack()
	at := bytes.Index(file, []byte("\nnotice.receipt "))
	var size int
	if _, err := fmt.Sscanf(string(file[at:]), "\nnotice.receipt %d\n", &size); err != nil {
		w.t.Fatal(err)
	}
	skip := len(fmt.Sprintf("\nnotice.receipt %d\n", size)) + size
	return slices.Concat(file[:at], file[at+skip:])
}

func flipped(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)-2] ^= 1
	return b
}

// TestCarriedPackChanged: if any byte of a pack is changed, the pack is refused, or it says the
// same about the study.
func TestCarriedPackChanged(t *testing.T) {
	w := newWorld(t, nil)
	roster, pool := names(2), poolOf(4)
	one := w.certify("p0")
	w.certify("p1")
	w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	pack := w.pack("p0")
	want := must(one.open(pack)).StudyOfFile()
	for i := 0; i < len(pack); i += 1 + len(pack)/1500 {
		changed := slices.Clone(pack)
		changed[i] ^= 1
		if c, err := one.open(changed); err == nil {
			t.Errorf("byte %d changed: it is taken, as about %s, and was about %s", i, c.StudyOfFile().Hash, want.Hash)
		}
	}
}

// TestCarriedRotation: an answer that was sealed before the coordinator changed its keys is
// refused, and the error says what to do. The same contribution is then sealed for the new keys.
func TestCarriedRotation(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster, pool := names(2), poolOf(4)
	one := w.certify("p0")
	w.certify("p1")
	opened := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	before := w.pack()
	file := one.answer(t, before, ballotFor(0, 4))
	w.stop()
	must(folder.Rotate(w.config.Dir, w.clock.Now()))
	w.start()
	must(w.operator.Studies(ctx)) // the operator learns the new keys
	after := w.pack()
	if _, err := w.operator.AcceptAnswer(ctx, file); !errors.Is(err, protocol.ErrExpired) ||
		!strings.Contains(err.Error(), "have p0 write the answer again") {
		t.Errorf("an answer to the old key: %v", err)
	}
	accepted := must(w.operator.AcceptAnswer(ctx, one.answer(t, after, ballotFor(0, 4))))
	must(must(one.open(accepted.File)).Contribute(ctx, opened.Hash, ballotFor(0, 4)))
}

// TestCarriedClock: a pack's time is a lower bound, because the pack may travel for long. A site
// whose clock is behind is told by how much. A site whose clock is ahead is told nothing.
func TestCarriedClock(t *testing.T) {
	w := newWorld(t, nil)
	roster, pool := names(2), poolOf(4)
	one := w.certify("p0")
	w.certify("p1")
	w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	pack, now := w.pack(), w.clock.Now()
	for ahead, want := range map[time.Duration]time.Duration{-3 * time.Hour: 3 * time.Hour,
		30 * 24 * time.Hour: 0} {
		one.now = func() time.Time { return now.Add(ahead) }
		if l := must(must(one.open(pack)).Studies(context.Background())); (l.Skew - want).Abs() > time.Minute {
			t.Errorf("a clock that is %v ahead of the file: skew %v, want %v", ahead, l.Skew, want)
		}
	}
}

// TestCarriedKilled: a coordinator is killed at any effect of accepting an answer. It then accepts
// the same file again, and has one contribution and one receipt.
func TestCarriedKilled(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster, pool := names(2), poolOf(4)
	one := w.certify("p0")
	w.certify("p1")
	opened := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	file := one.answer(t, w.pack(), ballotFor(0, 4))
	operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
	w.stop()
	for _, kill := range []string{"receipt key stored#1", "before life.ContributionReceived#1",
		"after life.ContributionReceived#1", "after receipt sent#1"} {
		dir := filepath.Join(t.TempDir(), "coordinator")
		copyFolder(dir, w.config.Dir)
		must(0, os.WriteFile(dir+".head", must(os.ReadFile(w.config.HeadFile())), 0o600))
		hand := func(kill string) (accepted admin.AcceptedAnswer, err error) {
			c := startChild(t, dir, kill)
			client := must(admin.Dial(operator, protocol.DialOptions{Coordinator: c.address}))
			defer client.Close()
			accepted, err = client.AcceptAnswer(ctx, file)
			if kill == "" {
				again := must(client.AcceptAnswer(ctx, file))
				for _, back := range [][]byte{accepted.File, again.File} {
					must(must(one.open(back)).Contribute(ctx, opened.Hash, ballotFor(0, 4)))
				}
				must(0, c.cmd.Process.Signal(os.Interrupt))
				_ = c.cmd.Process.Kill()
			}
			c.end()
			return accepted, err
		}
		if _, err := hand(kill); err == nil && !strings.HasPrefix(kill, "after receipt sent") {
			t.Errorf("killed at %q, and it answered", kill)
		}
		if _, err := hand(""); err != nil {
			t.Errorf("killed at %q: then %v", kill, err)
		}
		store := must(records.Open(filepath.Join(dir, folder.StoreFile)))
		must(0, store.View(ctx, func(tx records.Tx) error {
			if received := must(tx.Received(opened.Hash)); len(received) != 1 {
				t.Errorf("killed at %q: %d contributions", kill, len(received))
			}
			return nil
		}))
		must(0, store.Close())
	}
}

// TestCarriedAnswerIsNoCall: an answer that was written before the coordinator started says what
// its site knew then, however late the file arrives. A coordinator that was restored to a state
// before a release, and gets the same answers again, makes no second release on their account. An
// answer to a pack that was made since the start counts as its contributor's call.
func TestCarriedAnswerIsNoCall(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster, pool := names(2), poolOf(4)
	sites := []*site{w.certify("p0"), w.certify("p1")}
	w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	pack := w.pack()
	files := [][]byte{sites[0].answer(t, pack, ballotFor(0, 4)),
		sites[1].answer(t, pack, ballotFor(1, 4))}
	hand := func() {
		for _, f := range files {
			must(w.operator.AcceptAnswer(ctx, f))
		}
	}
	w.stop()
	putBack := w.backup()
	w.start()
	hand()
	if got := w.wait("trial", study.Summed); !slices.Equal(got.Awaited, []string{"p0", "p1"}) {
		t.Errorf("with answers of before the start it waits for %v", got.Awaited)
	}
	must(w.operator.WaiveAwaited(ctx, "trial"))
	w.wait("trial", study.Released)
	for _, s := range sites { // each site learns of the release
		must(must(s.open(w.pack())).Studies(ctx))
	}
	w.stop()

	putBack()
	w.start()
	hand()
	if got := w.wait("trial", study.Summed); !slices.Equal(got.Awaited, []string{"p0", "p1"}) {
		t.Errorf("put back, and with the same answers, it waits for %v", got.Awaited)
	}
	if _, err := w.operator.Release(ctx, "trial"); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("a second release: %v", err)
	}
}
