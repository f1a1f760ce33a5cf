package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/study"
)

type registry struct {
	store        records.Store
	certificates *members.Certificates
	watch        *clockWatch
	point        func(string)
	sharing      *sharing

	mu      sync.Mutex // guards studies
	studies []*runningStudy
}

// open reads the names of all studies and opens the clock watch. stop is the longest stop after
// which the watch trusts the clock.
func (r *registry) open(ctx context.Context, stop time.Duration) error {
	live := false
	err := r.store.View(ctx, func(tx records.Tx) error {
		rows, err := tx.Studies()
		for _, row := range rows {
			r.studies = append(r.studies, r.running(row))
			live = live || row.State != study.Draft && !protocol.IsFinal(row.State)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.watch.open(ctx, stop, live)
}

func (r *registry) running(row records.Study) *runningStudy {
	c := &runningStudy{hash: row.Hash, name: row.Name, store: r.store, certificates: r.certificates,
		watch: r.watch, point: r.point, sharing: r.sharing, batch: foldBatch,
		lead: make(chan struct{}, 1), quietSince: r.watch.clock.Elapsed()}
	c.over.Store(protocol.IsFinal(row.State))
	return c
}

func (r *registry) add(row records.Study) *runningStudy {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.studies {
		if c.hash == row.Hash {
			return c
		}
	}
	c := r.running(row)
	r.studies = append([]*runningStudy{c}, r.studies...)
	return c
}

func (r *registry) all() []*runningStudy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.studies)
}

func (r *registry) byHash(h study.Hash) *runningStudy {
	for _, c := range r.all() {
		if c.hash == h {
			return c
		}
	}
	return nil
}

// named returns the newest study of a name, nil if there is none.
func (r *registry) named(name string) *runningStudy {
	all := r.all()
	if i := slices.IndexFunc(all, func(c *runningStudy) bool { return c.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

const shortestRef = 8

// find returns the study with this name or prefix of its hash, among those that the caller may see.
func (r *registry) find(ctx context.Context, ref string, caller protocol.Caller) (*runningStudy,
	error) {
	var found []*runningStudy
	for _, c := range r.all() {
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
		return nil, fmt.Errorf("%w: no study %q that %s may see: give its name or the beginning of its hash, as caucus study list has them", protocol.ErrNotFound, ref, caller.Name)
	}
	return nil, fmt.Errorf("%w: %q begins the hash of %d studies: give more of it", protocol.ErrInvalid, ref, len(found))
}
