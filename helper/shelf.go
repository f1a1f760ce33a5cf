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

	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// shelf keeps the plans that the coordinator brought, each in a folder named by its hash, and
// their pools. Both are known by their digests, so nothing here can be put back to another
// state; a file that is not what its name says is as good as none.
type shelf struct {
	dir     string
	policy  Policy
	maxPool int

	mu     sync.Mutex // guards recent, and is held while a task is made: pools are large
	recent []study.Task
}

// tasksKept is how many tasks, with their pools, stay in memory.
const tasksKept = 4

const (
	planFile = "plan.json"
	poolFile = "pool.csv"
)

func (s *shelf) folder(h study.Hash) string { return filepath.Join(s.dir, h.String()) }

// MostPool: see aggregator.Shelf.
func (s *shelf) MostPool() int { return s.maxPool }

// read gives what is kept of a plan.
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

// Has: see aggregator.Shelf.
func (s *shelf) Has(h study.Hash) bool {
	_, _, err := s.read(h)
	return err == nil
}

// Wants: see aggregator.Shelf. The plan is checked as any that arrives.
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

// Keep: see aggregator.Shelf. The plan is written last: a folder without one is done over.
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

// task is that of a plan which was brought.
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
