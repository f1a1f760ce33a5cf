package helper

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// planStore stores the coordinator's plans with their pools, each in a folder named by the plan's
// hash. A file with a wrong digest counts as missing, so restoring old files does no harm.
type planStore struct {
	dir       string
	policy    Policy
	maxPool   int
	maxPlans  int
	maxStored int64 // bytes of all plans together

	mu     sync.Mutex // guards recent; held while a task is made or a plan is removed
	recent []study.Task
}

const tasksKept = 4

const (
	planFile = "plan.json"
	poolFile = "pool.csv"
)

func (p *planStore) folder(h study.Hash) string { return filepath.Join(p.dir, h.String()) }

func (p *planStore) MaxPoolBytes() int { return p.maxPool }

func (p *planStore) read(h study.Hash) (plan study.Plan, pool []byte, err error) {
	canonical, err := os.ReadFile(filepath.Join(p.folder(h), planFile))
	if err != nil {
		return plan, nil, err
	}
	plan, hash, err := protocol.ParsePlan(canonical)
	if err != nil {
		return plan, nil, err
	}
	if hash != h {
		return plan, nil, fmt.Errorf("%w: it has hash %s", protocol.ErrDamaged, hash)
	}
	if pool, err = os.ReadFile(filepath.Join(p.folder(h), poolFile)); err != nil {
		return plan, nil, err
	}
	if sha256.Sum256(pool) != plan.Pool {
		return plan, nil, fmt.Errorf("%w: its pool has another digest", protocol.ErrDamaged)
	}
	return plan, pool, nil
}

func (p *planStore) Has(h study.Hash) bool {
	_, _, err := p.read(h)
	return err == nil
}

// Check implements aggregator.PlanStore. It checks the plan like any plan that arrives.
func (p *planStore) Check(h study.Hash, canonical []byte) (pool [sha256.Size]byte, err error) {
	plan, hash, err := protocol.ParsePlan(canonical)
	if err != nil {
		return pool, err
	}
	if hash != h {
		return pool, fmt.Errorf("it has hash %s", hash)
	}
	return plan.Pool, p.policy.Check(plan)
}

type held struct {
	hash  study.Hash
	since time.Time
	bytes int64
}

func (p *planStore) held() (all []held, err error) {
	folders, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		var h held
		if h.hash.UnmarshalText([]byte(f.Name())) != nil {
			continue
		}
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		h.since = info.ModTime()
		files, err := os.ReadDir(p.folder(h.hash))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				return nil, err
			}
			h.bytes += info.Size()
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b held) int { return b.since.Compare(a.since) })
	return all, nil
}

// MakeRoom implements aggregator.PlanStore. It removes the oldest plans of studies at rest, which
// can be sent again.
func (p *planStore) MakeRoom(h study.Hash, size int64,
	underWay func(study.Hash) (bool, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// a running study's plan keeps its place, even if its files are lost
	if is, err := underWay(h); err != nil || is {
		return err
	}
	all, err := p.held()
	if err != nil {
		return err
	}
	plans, bytes := 1, size // number and bytes of this plan and of those that stay
	fits := func() bool { return plans <= p.maxPlans && bytes <= p.maxStored }
	var idle []held
	for _, k := range all {
		is, err := underWay(k.hash)
		switch {
		case err != nil:
			return err
		case is:
			plans, bytes = plans+1, bytes+k.bytes
		case k.hash != h: // this plan's own files will be written again
			idle = append(idle, k)
		}
	}
	if !fits() {
		return fmt.Errorf("%w: max_plans, max_stored: this helper keeps at most %d plans, with their pools of at most %d bytes together, and has %d of studies under way: wait until one of them is released or cancelled, or ask the helper's operator for more (docs/operator.md)",
			protocol.ErrDenied, p.maxPlans, p.maxStored, plans-1)
	}
	for _, k := range idle {
		if plans, bytes = plans+1, bytes+k.bytes; fits() {
			continue
		}
		plans, bytes = plans-1, bytes-k.bytes
		if err := os.RemoveAll(p.folder(k.hash)); err != nil {
			return err
		}
		p.recent = slices.DeleteFunc(p.recent, func(t study.Task) bool {
			return t.Hash() == k.hash
		})
	}
	return nil
}

// Store implements aggregator.PlanStore. The plan is last: a folder without a plan is unfinished
// and made again.
func (p *planStore) Store(h study.Hash, canonical, pool []byte) error {
	if err := os.MkdirAll(p.folder(h), 0o700); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	if err := protocol.WriteSecret(filepath.Join(p.folder(h), poolFile), pool); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	if err := protocol.WriteSecret(filepath.Join(p.folder(h), planFile), canonical); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	return nil
}

func (p *planStore) task(_ context.Context, h study.Hash) (study.Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.recent {
		if t.Hash() == h {
			return t, nil
		}
	}
	plan, data, err := p.read(h)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: no plan %s was brought", protocol.ErrNotFound, h)
	}
	if err != nil {
		return nil, fmt.Errorf("read plan %s: %w", h, err)
	}
	task, err := kinds.ReadTask(plan, data)
	if err != nil {
		return nil, err
	}
	if p.recent = append(p.recent, task); len(p.recent) > tasksKept {
		p.recent = slices.Delete(p.recent, 0, 1)
	}
	return task, nil
}
