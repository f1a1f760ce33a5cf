package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// docket holds the courses of all studies, newest first.
type docket struct {
	store    Store
	standing *standing
	watch    *watch
	point    func(string)

	mu      sync.Mutex // guards courses
	courses []*course
}

// open reads the names of all studies, and looks at the clock: after how long a
// stop it is still believed.
func (d *docket) open(ctx context.Context, stop time.Duration) error {
	live := false
	err := d.store.View(ctx, func(tx Tx) error {
		rows, err := tx.Studies()
		for _, r := range rows {
			d.courses = append(d.courses, d.course(r))
			live = live || r.State != study.InDraft && !protocol.Final(r.State)
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.watch.open(ctx, stop, live)
}

func (d *docket) course(r studyRow) *course {
	c := &course{hash: r.Hash, name: r.Name, store: d.store, standing: d.standing, watch: d.watch, point: d.point, batch: foldBatch, lead: make(chan struct{}, 1)}
	c.over.Store(protocol.Final(r.State))
	return c
}

// add takes a study that was just stored.
func (d *docket) add(r studyRow) *course {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.courses {
		if c.hash == r.Hash {
			return c
		}
	}
	c := d.course(r)
	d.courses = append([]*course{c}, d.courses...)
	return c
}

// all is a copy of the list.
func (d *docket) all() []*course {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.courses)
}

// byHash finds a course, nil if there is none.
func (d *docket) byHash(h study.Hash) *course {
	for _, c := range d.all() {
		if c.hash == h {
			return c
		}
	}
	return nil
}

// shortestRef is the shortest beginning of a hash that names a study.
const shortestRef = 8

// find resolves what a caller calls a study, among those it may see.
func (d *docket) find(ctx context.Context, ref string, caller protocol.Caller) (*course, error) {
	var found []*course
	for _, c := range d.all() {
		hash := c.hash.String()
		if c.name != ref && (len(ref) < shortestRef || !strings.HasPrefix(hash, ref)) {
			continue
		}
		summary, err := c.summaryFor(ctx, caller)
		if err != nil {
			return nil, err
		}
		seen := summary != nil
		if seen && (c.name == ref || hash == ref) {
			return c, nil
		}
		if seen {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("%w: no study %q that %s may see: give its name or the beginning of its hash", protocol.ErrNotFound, ref, caller.Name)
	}
	return nil, fmt.Errorf("%w: %q begins the hash of %d studies: give more of it", protocol.ErrInvalid, ref, len(found))
}

// visible: operators see all studies; parties and readers those that have been
// opened and name them.
func visible(c *course, s *study.Study, caller protocol.Caller) bool {
	if caller.Role == protocol.RoleOperator {
		return true
	}
	return s.State != study.InDraft && (c.roster[study.PartyID(caller.Name)] || slices.Contains(s.Plan.Readers, caller.Name))
}

// conductor moves studies on: deadlines, folding, releases.
type conductor struct {
	docket   *docket
	releaser releaser
	clock    clock.Clock
	tick     time.Duration
	log      *slog.Logger
	wake     chan struct{} // capacity 1
	counts   *counts
	saw      func(error) // is told of each failure
}

// nudge makes the conductor look now.
func (o *conductor) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Waits after a passing failure to fold or release.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// run works until the context ends, then waits for what is under way to come
// to a point where it can stop.
func (o *conductor) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	busy := map[study.Hash]bool{}
	done := make(chan study.Hash)
	for {
		if err := o.docket.watch.save(ctx, false); err != nil && ctx.Err() == nil {
			o.log.Warn("the time is not stored; it will be tried again", "error", err)
		}
		for _, c := range o.docket.all() {
			if busy[c.hash] || c.over.Load() || !o.due(ctx, c) {
				continue
			}
			busy[c.hash] = true
			under.Go(func() {
				o.move(ctx, c)
				select {
				case done <- c.hash:
				case <-ctx.Done():
				}
			})
		}
		tick, stop := o.clock.After(o.tick)
		select {
		case <-ctx.Done():
			stop()
			return
		case h := <-done:
			delete(busy, h)
		case <-tick:
		case <-o.wake:
		}
		stop()
	}
}

// due looks at the deadline and says whether there is work.
func (o *conductor) due(ctx context.Context, c *course) bool {
	passed, err := c.deadline(ctx, o.clock.Now())
	if err != nil {
		if ctx.Err() == nil {
			o.log.Error("deadline not stored; it will be tried again", "study", c.hash, "error", err)
		}
		return false
	}
	work := false
	err = c.view(ctx, func(s *study.Study) error {
		if passed {
			o.log.Info("deadline passed", "study", c.hash, "state", s.State, "contributions", len(s.Received), "reason", s.Reason)
		}
		work = len(s.Resume()) > 0
		if s.State == study.Folded {
			contributed, _ := s.Contributors()
			work = !errors.Is(o.releaser.witness.hold(c.hash, contributed), errWaits)
		}
		return nil
	})
	return err == nil && work && o.clock.Elapsed() >= c.retry
}

// move folds and releases a study. What may pass is tried again later; what
// cannot is the study's failure.
func (o *conductor) move(ctx context.Context, c *course) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("release study %s: it panics: %v", c.hash, p)
			}
		}()
		return c.advance(ctx, o.releaser)
	}()
	o.saw(err)
	switch {
	case err == nil:
		c.wait = 0
		_ = c.view(ctx, func(s *study.Study) error {
			o.log.Info("study moved", "study", c.hash, "state", s.State, "parties", len(s.Received))
			if s.State == study.Released {
				o.counts.releases.Add(1)
			}
			if protocol.Final(s.State) {
				o.releaser.witness.forget(c.hash)
			}
			return nil
		})
	case ctx.Err() != nil, errors.Is(err, errWaits): // who waits said so
	case permanent(err):
		o.log.Error("study fails", "study", c.hash, "error", err)
		if err := c.cancel(ctx, giveUpReason(err)); err != nil {
			o.log.Error("failure not stored", "study", c.hash, "error", err)
			c.retry = o.clock.Elapsed() + firstWait
		}
	default:
		c.wait = min(max(2*c.wait, firstWait), lastWait)
		c.retry = o.clock.Elapsed() + c.wait
		level := slog.LevelWarn
		if errors.Is(err, protocol.ErrDamaged) {
			level = slog.LevelError
		}
		o.log.Log(ctx, level, "study cannot move on; it will be tried again", "study", c.hash, "wait", c.wait, "error", err)
	}
}
