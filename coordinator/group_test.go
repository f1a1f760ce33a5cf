package coordinator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/study"
)

// held is a store that counts the writes of contributions, and fails where a test wants.
type held struct {
	records.Store
	mu     sync.Mutex
	writes int
	commit error                        // returned in place of a commit, if not nil
	poison func(protocol.Receipt) error // called after a contribution is stored
}

func (h *held) Update(ctx context.Context, fn func(records.Tx) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := &heldTx{h: h}
	err := h.Store.Update(ctx, func(tx records.Tx) error {
		held.Tx = tx
		if err := fn(held); err != nil {
			return err
		}
		return h.commit
	})
	if err == nil && held.wrote {
		h.writes++
	}
	return err
}

type heldTx struct {
	records.Tx
	h     *held
	wrote bool
}

func (h *heldTx) AddContribution(r protocol.Receipt, body []byte) error {
	h.wrote = true
	if err := h.Tx.AddContribution(r, body); err != nil || h.h.poison == nil {
		return err
	}
	return h.h.poison(r) // the row exists, so the test sees that it is undone
}

// grouped opens a study of n parties on a held store.
func grouped(t *testing.T, n int) (*world, protocol.Study, *runningStudy, *held) {
	w := newWorld(t, nil)
	s := w.small(n)
	c := w.server.registry.byHash(s.Hash)
	h := &held{Store: w.server.store}
	c.mu.Lock()
	c.store = h
	c.mu.Unlock()
	return w, s, c, h
}

// together makes n contributions, which all wait while the first one is stored.
func together(t *testing.T, c *runningStudy, n int, contribute func(i int) error) []error {
	t.Helper()
	errs := make([]error, n)
	c.lead <- struct{}{} // as if another contribution led the group
	var under sync.WaitGroup
	for i := range n {
		under.Go(func() { errs[i] = contribute(i) })
	}
	for waiting, until := 0,
		time.Now().Add(20*time.Second); waiting < n; time.Sleep(time.Millisecond) {
		c.queueMu.Lock()
		waiting = len(c.queue)
		c.queueMu.Unlock()
		if time.Now().After(until) {
			t.Fatalf("%d of %d wait", waiting, n)
		}
	}
	<-c.lead
	under.Wait()
	return errs
}

// sends contributes a party's own row.
func (w *world) sends(s protocol.Study, i, n int) error {
	_, err := w.parties[fmt.Sprint("p", i)].Contribute(context.Background(), s.Hash,
		ballotFor(i, n))
	return err
}

// TestGroupCommit: contributions that wait at the same time share one write to the disk, and each
// gets its receipt.
func TestGroupCommit(t *testing.T) {
	const n = 8
	w, s, c, h := grouped(t, n)
	for i, err := range together(t, c, n, func(i int) error { return w.sends(s, i, n) }) {
		if err != nil {
			t.Errorf("p%d: %v", i, err)
		}
	}
	w.wait("trial", study.Released)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writes != 1 {
		t.Errorf("%d contributions took %d writes, want 1", n, h.writes)
	}
}

// TestGroupRefuses: if one contribution of a group cannot be stored, it is undone, and the others
// are stored as if they had come alone.
func TestGroupRefuses(t *testing.T) {
	const n = 6
	ctx := context.Background()
	w, s, c, h := grouped(t, n)
	failed := false
	h.poison = func(r protocol.Receipt) error {
		if r.Party == "p3" && !failed {
			failed = true
			return errors.New("it does not fit")
		}
		return nil
	}
	errs := together(t, c, n, func(i int) error { return w.sends(s, i, n) })
	if errs[3] == nil || errors.Is(errs[3], protocol.ErrDenied) {
		t.Errorf("p3, which cannot be stored: %v", errs[3])
	}
	for _, i := range []int{0, 1, 2, 4, 5} {
		if errs[i] != nil {
			t.Errorf("p%d: %v", i, errs[i])
		}
	}
	stored := func() (n int) {
		must(0, w.server.store.View(ctx, func(tx records.Tx) error {
			n = len(must(tx.Received(s.Hash)))
			return nil
		}))
		return n
	}
	if got := must(w.operator.Study(ctx, "trial")); stored() != n-1 || len(got.Missing) != 1 ||
		got.Missing[0] != "p3" || got.State != study.Open {
		t.Errorf("%d are stored, missing %v, %s", stored(), got.Missing, got.State)
	}
	if err := w.sends(s, 3, n); err != nil {
		t.Errorf("p3 again: %v", err)
	}
	w.wait("trial", study.Released)
}

// TestGroupRevoked: a party that is revoked while its contribution waits is refused by the group's
// transaction, and the others are not.
func TestGroupRevoked(t *testing.T) {
	const n = 3
	ctx := context.Background()
	w, s, c, _ := grouped(t, n)
	c.lead <- struct{}{}
	errs := make([]error, n)
	var under sync.WaitGroup
	for i := range n {
		under.Go(func() { errs[i] = w.sends(s, i, n) })
	}
	for waiting := 0; waiting < n; time.Sleep(time.Millisecond) {
		c.queueMu.Lock()
		waiting = len(c.queue)
		c.queueMu.Unlock()
	}
	// Revoke in the store only, so that the party's calls do not end.
	must(0, w.server.store.Update(ctx, func(tx records.Tx) error { return tx.Revoke("p1") }))
	<-c.lead
	under.Wait()
	for i, err := range errs {
		if revoked := errors.Is(err, protocol.ErrDenied); revoked != (i == 1) || err != nil &&
			!revoked {
			t.Errorf("p%d: %v", i, err)
		}
	}
	if got := must(w.operator.Study(ctx, "trial")); len(got.ContributedBy) != n-1 ||
		got.State != study.Open {
		t.Errorf("%s, contributed by %v", got.State, got.ContributedBy)
	}
}

// TestGroupNotPersisted: nobody gets a receipt before the contribution is on the disk. If the
// commit fails, all contribute again.
func TestGroupNotPersisted(t *testing.T) {
	const n = 3
	w, s, c, h := grouped(t, n)
	h.mu.Lock()
	h.commit = fmt.Errorf("the disk is full: %w", protocol.ErrUnavailable)
	h.mu.Unlock()
	for i, err := range together(t, c, n, func(i int) error { return w.sends(s, i, n) }) {
		if !errors.Is(err, protocol.ErrUnavailable) || !protocol.IsRetryable(err) {
			t.Errorf("p%d: %v, want ErrUnavailable", i, err)
		}
	}
	if got := must(w.operator.Study(context.Background(), "trial")); got.State != study.Open ||
		len(got.ContributedBy) != 0 {
		t.Errorf("%s, contributed by %v", got.State, got.ContributedBy)
	}
	h.mu.Lock()
	h.commit = nil
	h.mu.Unlock()
	for i := range n {
		if err := w.sends(s, i, n); err != nil {
			t.Errorf("p%d again: %v", i, err)
		}
	}
	w.wait("trial", study.Released)
}

// TestGroupSameParty: a party that is in a group twice gets the same answers as if it had come
// twice, and is not refused because of bytes that were not stored.
func TestGroupSameParty(t *testing.T) {
	for _, commit := range []error{nil, protocol.ErrUnavailable} {
		w, s, c, h := grouped(t, 3)
		h.mu.Lock()
		h.commit = commit
		h.mu.Unlock()
		caller := w.callerOf("p0")
		receipts := make([]protocol.Receipt, 4)
		errs := together(t, c, 4, func(i int) (err error) { // two with one body, two with another
			body := ballotFor(i/2, 3)
			r := must(protocol.Receipt{Plan: s.Hash, Party: "p0", Body: sha256.Sum256(body),
				Size: len(body), Received: time.Now().UTC()}.Sign(w.server.signer))
			receipts[i], err = c.contribute(context.Background(), caller, r, body, w.clock.Now())
			return err
		})
		first := 0
		if errs[first] != nil {
			first = 2
		}
		for i, err := range errs {
			switch same := i/2 == first/2; {
			case commit != nil && !errors.Is(err, protocol.ErrUnavailable):
				t.Errorf("nothing is stored, and one is told %v", err)
			case commit == nil && same &&
				(err != nil || string(receipts[i].Document) != string(receipts[first].Document)):
				t.Errorf("the same bytes again: %v", err)
			case commit == nil && !same && !errors.Is(err, study.ErrDifferentUpload):
				t.Errorf("other bytes: %v", err)
			}
		}
	}
}

// CallerOf is who calls with the certificate that a member has.
func (w *world) callerOf(name string) protocol.Caller {
	w.t.Helper()
	store := must(records.Open(cmp.Or(w.config.Store, w.config.Path(folder.StoreFile))))
	defer store.Close()
	caller := protocol.Caller{Name: name, Role: protocol.RoleParty}
	must(0, store.DB.Read.QueryRow("SELECT serial FROM certificates WHERE name = $1",
		name).Scan(&caller.Serial))
	return caller
}

// TestGroupPanics: if a store panics in the middle of a group, memory keeps nothing of the group.
// Nobody counts as having contributed, and all may contribute again.
func TestGroupPanics(t *testing.T) {
	const n = 2
	w, s, c, h := grouped(t, n)
	h.poison = func(r protocol.Receipt) error {
		if r.Party == "p1" {
			panic("the disk is on fire")
		}
		return nil
	}
	for i, err := range together(t, c, n, func(i int) error { return w.sends(s, i, n) }) {
		if err == nil {
			t.Errorf("p%d has a receipt", i)
		}
	}
	h.poison = nil
	for i := range n {
		if err := w.sends(s, i, n); err != nil {
			t.Errorf("p%d comes again: %v", i, err)
		}
	}
	w.wait("trial", study.Released)
}
