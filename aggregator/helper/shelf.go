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

// shelf stores the coordinator's plans with their pools, each in a folder named by the plan's hash.
// A file with a wrong digest counts as missing, so restoring old files does no harm.
type shelf struct {
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

func (s *shelf) folder(h study.Hash) string { return filepath.Join(s.dir, h.String()) }

func (s *shelf) MostPool() int { return s.maxPool }

func (s *shelf) read(h study.Hash) (plan study.Plan, pool []byte, err error) {
	canonical, err := os.ReadFile(filepath.Join(s.folder(h), planFile))
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
	if pool, err = os.ReadFile(filepath.Join(s.folder(h), poolFile)); err != nil {
		return plan, nil, err
	}
	if sha256.Sum256(pool) != plan.Pool {
		return plan, nil, fmt.Errorf("%w: its pool has another digest", protocol.ErrDamaged)
	}
	return plan, pool, nil
}

func (s *shelf) Has(h study.Hash) bool {
	_, _, err := s.read(h)
	return err == nil
}

// Wants implements aggregator.PlanStore. It checks the plan like any plan that arrives.
func (s *shelf) Wants(h study.Hash, canonical []byte) (pool [sha256.Size]byte, err error) {
	plan, hash, err := protocol.ParsePlan(canonical)
	if err != nil {
		return pool, err
	}
	if hash != h {
		return pool, fmt.Errorf("it has hash %s", hash)
	}
	return plan.Pool, s.policy.Check(plan)
}

type held struct {
	hash  study.Hash
	since time.Time
	bytes int64
}

func (s *shelf) held() (all []held, err error) {
	folders, err := os.ReadDir(s.dir)
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
		files, err := os.ReadDir(s.folder(h.hash))
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

// Room implements aggregator.PlanStore. It removes the oldest plans of studies at rest, which can
// be sent again.
func (s *shelf) Room(h study.Hash, size int64, underWay func(study.Hash) (bool, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// a running study's plan keeps its place, even if its files are lost
	if is, err := underWay(h); err != nil || is {
		return err
	}
	all, err := s.held()
	if err != nil {
		return err
	}
	plans, bytes := 1, size // number and bytes of this plan and of those that stay
	fits := func() bool { return plans <= s.maxPlans && bytes <= s.maxStored }
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
			protocol.ErrDenied, s.maxPlans, s.maxStored, plans-1)
	}
	for _, k := range idle {
		if plans, bytes = plans+1, bytes+k.bytes; fits() {
			continue
		}
		plans, bytes = plans-1, bytes-k.bytes
		if err := os.RemoveAll(s.folder(k.hash)); err != nil {
			return err
		}
		s.recent = slices.DeleteFunc(s.recent, func(t study.Task) bool {
			return t.Hash() == k.hash
		})
	}
	return nil
}

// Keep implements aggregator.PlanStore. The plan is last: a folder without a plan is unfinished and
// made again.
func (s *shelf) Keep(h study.Hash, canonical, pool []byte) error {
	if err := os.MkdirAll(s.folder(h), 0o700); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	if err := protocol.WriteSecret(filepath.Join(s.folder(h), poolFile), pool); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	if err := protocol.WriteSecret(filepath.Join(s.folder(h), planFile), canonical); err != nil {
		return fmt.Errorf("keep plan %s: %w", h, err)
	}
	return nil
}

func (s *shelf) task(_ context.Context, h study.Hash) (study.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.recent {
		if t.Hash() == h {
			return t, nil
		}
	}
	plan, data, err := s.read(h)
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
	if s.recent = append(s.recent, task); len(s.recent) > tasksKept {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	return task, nil
}
