package aggregator

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

type planStore struct {
	mu      sync.Mutex
	pool    [32]byte // named by the plan
	refuses error    // why the helper refuses the plan
	full    error    // why the helper has no room
	room    []int64
	kept    map[study.Hash][2]string
	asked   int
}

func (p *planStore) Has(h study.Hash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, has := p.kept[h]
	return has
}

func (p *planStore) Check(study.Hash, []byte) ([32]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.pool, p.refuses
}

func (p *planStore) MakeRoom(h study.Hash, size int64,
	underWay func(study.Hash) (bool, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.room = append(p.room, size)
	return p.full
}

func (p *planStore) Store(h study.Hash, canonical, pool []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[h] = [2]string{string(canonical), string(pool)}
	return nil
}

func (p *planStore) MaxPoolBytes() int { return 1 << 20 }

// TestBring: a helper that wants a plan and its pool gets both whole, once. Bytes that differ from
// the hash or the plan, are too large, or that the policy refuses are not kept.
func TestBring(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, taskOf(3, 2))
	on := &planStore{kept: map[study.Hash][2]string{}}
	w.servers[1].config.Plans = on
	address, _ := w.served(t)
	helper := w.dial(t, address)
	plan, pool := []byte("a plan"), make([]byte, 700<<10)
	for i := range pool {
		pool[i] = byte(i)
	}
	h := study.HashOf(plan)
	on.pool = [32]byte(study.HashOf(pool))

	if err := helper.SendPlan(ctx, study.Hash{1}, plan, pool); !errors.Is(err,
		protocol.ErrDamaged) {
		t.Errorf("a plan with another hash: %v", err)
	}
	if err := helper.SendPlan(ctx, h, plan, pool[1:]); !errors.Is(err, protocol.ErrDamaged) {
		t.Errorf("another pool: %v", err)
	}
	if err := helper.SendPlan(ctx, h, plan, make([]byte, 1<<20+1)); !errors.Is(err,
		protocol.ErrTooLarge) {
		t.Errorf("a pool that is too large: %v", err)
	}
	if err := helper.SendPlan(ctx, h, nil, nil); !errors.Is(err, protocol.ErrDamaged) {
		t.Errorf("nothing: %v", err)
	}
	on.refuses = errors.New("no such kind here")
	if err := helper.SendPlan(ctx, h, plan, pool); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("what the policy refuses: %v", err)
	}
	on.refuses, on.full = nil, protocol.ErrDenied
	if err := helper.SendPlan(ctx, h, plan, pool); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("what there is no room for: %v", err)
	}
	on.full = nil
	if len(on.kept) > 0 {
		t.Fatalf("kept: %v", on.kept)
	}
	for range 2 {
		must(0, helper.SendPlan(ctx, h, plan, pool))
	}
	if on.kept[h] != [2]string{string(plan), string(pool)} || on.asked != 4 ||
		fmt.Sprint(on.room) != fmt.Sprint([]int{len(plan) + len(pool) - 1, len(plan) + len(pool),
			len(plan) + len(pool)}) {
		t.Errorf("it was kept otherwise, or asked for %d times, with room for %d", on.asked, on.room)
	}
	w.servers[1].config.Plans = nil
	if err := helper.SendPlan(ctx, h, plan, pool); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a server without a shelf: %v", err)
	}
}

// TestBroughtAgain: until a study that it accepted is over, a helper takes the plan again even if
// its policy has changed. The policy refuses all other plans.
func TestBroughtAgain(t *testing.T) {
	ctx := t.Context()
	agreed, other := taskOf(3, 2), taskOf(4, 2)
	w := newWorld(t, agreed, other)
	pool := []byte("a pool")
	on := &planStore{kept: map[study.Hash][2]string{}, pool: [32]byte(study.HashOf(pool)),
		refuses: errors.New("no such kind any more")}
	w.servers[1].config.Plans = on
	address, _ := w.served(t)
	helper := w.dial(t, address)
	bring := func(task study.Task) error {
		return helper.SendPlan(ctx, task.Hash(), must(task.Plan().Canonical()), pool)
	}
	if err := bring(agreed); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("before it agreed: %v", err)
	}
	w.opened(agreed.Hash())
	if err := bring(agreed); err != nil || !on.Has(agreed.Hash()) {
		t.Errorf("after it agreed: %v", err)
	}
	if err := bring(other); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("another: %v", err)
	}
	must(0, helper.End(ctx, agreed.Hash()))
	clear(on.kept)
	if err := bring(agreed); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("after its end: %v", err)
	}
}

// TestOverWithoutPlan: a study is under way at the helper from the first checked contribution to
// its release or failure. Before and after, the helper needs no plan: before, it repeats its
// agreement; after, its share or the reason of the failure.
func TestOverWithoutPlan(t *testing.T) {
	ctx := t.Context()
	done, failed, never := taskOf(3, 2), taskOf(4, 2), taskOf(5, 2)
	w := newWorld(t, done, failed, never)
	underWay := func(want bool, tasks ...study.Task) {
		t.Helper()
		for _, task := range tasks {
			if is := must(w.servers[1].underWay(ctx, task.Hash())); is != want {
				t.Errorf("of %d parties: under way is %t", len(task.Plan().Roster), is)
			}
		}
	}
	underWay(false, done, failed, never)
	for _, task := range []study.Task{done, failed} {
		w.opened(task.Hash())
	}
	underWay(false, done, failed)
	clear(w.tasks)
	for _, task := range []study.Task{done, failed} {
		must(0, w.servers[0].ConfirmAcceptance(ctx, task.Hash(), link{w}))
	}
	w.tasks[done.Hash()], w.tasks[failed.Hash()] = done, failed
	must(0, w.servers[0].Receive(ctx, failed.Hash(), "p0",
		uploadOf(failed, "p0", votes(failed, 0, false), 1, w.under(failed))))
	must(w.servers[0].Advance(ctx, failed.Hash(), link{w}))
	underWay(true, failed)
	for i, p := range done.Plan().Roster {
		must(0, w.servers[0].Receive(ctx, done.Hash(), p,
			uploadOf(done, p, votes(done, i, false), 1, w.under(done))))
	}
	must(0, w.servers[0].CloseStudy(ctx, done.Hash(), nil))
	if released, err := w.servers[0].Advance(ctx, done.Hash(), link{w}); !released || err != nil {
		t.Fatalf("released: %t, %v", released, err)
	}
	share := must(w.servers[1].Share(ctx, done.Hash()))
	must(0, w.servers[1].Cancel(ctx, failed.Hash(), "for no reason"))
	underWay(false, done, failed)
	clear(w.tasks)
	if again, err := w.servers[1].Share(ctx, done.Hash()); err != nil || !again.Equal(share) {
		t.Errorf("asked again without the plan: another share, or %v", err)
	}
	if _, err := w.servers[1].Share(ctx, failed.Hash()); !errors.Is(err, ErrFailed) {
		t.Errorf("of one that failed: %v", err)
	}
	if _, err := w.servers[1].Share(ctx, never.Hash()); err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("of one that was never brought: %v", err)
	}
}

// amended is a task whose plan has minimum 4 and floor 3, and an amendment with this minimum.
func amended(t *testing.T, minimum int) (study.Task, []byte) {
	p := taskOf(5, 2).Plan()
	p.Minimum, p.Floor, p.Deadline = 4, 3, time.Unix(1e9, 0).UTC()
	task := must(newTask(p, taskOf(5, 2).Pool()))
	e := p.Ending()
	e.Minimum = minimum
	return task, must(study.NewAmendmentChain(p, task.Hash()).Next(e, false, p.Deadline,
		privacy.Head{}))
}

// TestAmendedMinimum: both servers compare the set with the minimum in force, which an amendment of
// the plan's chain lowers, never below the floor. With an amendment of another plan or below the
// floor, or with none, too small a set is not released.
func TestAmendedMinimum(t *testing.T) {
	ctx := t.Context()
	three, low := amended(t, 3)
	_, under := amended(t, 2)
	_, other := amended(t, 3)
	other = append([]byte(nil), other...)
	for i := range other { // of another plan's chain: one digit of its hash
		if other[i] == '"' && i > 9 {
			other[i-1] ^= 1
			break
		}
	}
	for name, try := range map[string]struct {
		amendments [][]byte
		released   bool
	}{
		"lowered":         {[][]byte{low}, true},
		"not amended":     {nil, false},
		"below the floor": {[][]byte{under}, false},
		"of another plan": {[][]byte{other}, false},
		"twice the first": {[][]byte{low, low}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := newWorld(t, three), three.Hash()
			w.opened(h)
			for i, p := range three.Plan().Roster[:3] {
				must(0, w.servers[0].Receive(ctx, h, p,
					uploadOf(three, p, votes(three, i, false), 1, w.under(three))))
			}
			must(w.servers[0].Advance(ctx, h, link{w})) // both have checked all three
			set := must(w.servers[0].setOf(ctx, h, must(recordOf(w.servers[0], h))))
			set.Amendments = try.amendments
			// A request that a dishonest coordinator might send the helper.
			_, signs := w.servers[1].Seal(ctx, h,
				must(protocol.SignJSON(w.signers[0], protocol.SetDocument, set)))
			if (signs == nil) != try.released {
				t.Errorf("the helper's answer: %v", signs)
			}
			must(0, w.servers[0].CloseStudy(ctx, h, try.amendments))
			done, err := w.servers[0].Advance(ctx, h, link{w})
			if done != try.released || (err == nil) != try.released {
				t.Errorf("released: %t, %v", done, err)
			}
			for r := range w.servers {
				if n := w.charges(roles[r]); (n == 1) != try.released {
					t.Errorf("the %v was charged %d times", roles[r], n)
				}
			}
		})
	}
}

// TestReceiveAll: uploads are stored all or none, whichever of them was stored before.
func TestReceiveAll(t *testing.T) {
	ctx := t.Context()
	task := taskOf(4, 2)
	w, h := newWorld(t, task), task.Hash()
	w.opened(h)
	var all []Upload
	for i, p := range task.Plan().Roster {
		all = append(all, Upload{p, uploadOf(task, p, votes(task, i, false), 1, w.under(task))})
	}
	bad := Upload{"p3", all[3].Data[:100]}
	if err := w.servers[0].ReceiveAll(ctx, h, []Upload{all[0], bad}); !errors.Is(err,
		study.ErrContribution) {
		t.Errorf("one is cut off: %v", err)
	}
	stranger := Upload{"nobody", all[3].Data}
	if err := w.servers[0].ReceiveAll(ctx, h, []Upload{all[0], stranger}); !errors.Is(err,
		study.ErrNotEnrolled) {
		t.Errorf("one is not on the roster: %v", err)
	}
	if m := must(w.servers[0].Contributors(ctx, h)); len(m.Waiting) > 0 {
		t.Fatalf("there are %v", m.Waiting)
	}
	must(0, w.servers[0].ReceiveAll(ctx, h, all[:2]))
	other := Upload{"p1", uploadOf(task, "p1", votes(task, 1, false), 1, w.under(task))}
	if err := w.servers[0].ReceiveAll(ctx, h, []Upload{all[2], other}); !errors.Is(err,
		ErrConflict) {
		t.Errorf("one is another than before: %v", err)
	}
	for range 2 {
		must(0, w.servers[0].ReceiveAll(ctx, h, all))
	}
	if m := must(w.servers[0].Contributors(ctx, h)); fmt.Sprint(m.Waiting) != "[p0 p1 p2 p3]" {
		t.Errorf("there are %v", m.Waiting)
	}
}
