package coordinator

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"caucus/coordinator/records"
	"caucus/privacy"
)

// shrink removes lines from a schedule while it still breaks the same rule, first many at a time.
// The last line stays, because it settles what other lines leave open.
func shrink(s schedule, rule string, try func(schedule) *violation) schedule {
	breaks := func(s schedule) bool {
		v := try(s)
		return v != nil && v.rule == rule
	}
	without := func(from, n int) schedule {
		less := s
		less.lines = slices.Delete(slices.Clone(s.lines), from, from+n)
		return less
	}
	for n := len(s.lines) / 2; n > 0; {
		smaller := false
		for from := 0; from+n < len(s.lines); {
			if less := without(from, n); breaks(less) {
				s, smaller = less, true
			} else {
				from++
			}
		}
		if !smaller || n > len(s.lines) {
			n /= 2
		}
	}
	plainest := schedule{parties: s.parties, lines: s.lines}
	head, budget, kept := plainest, plainest, plainest
	head.head, budget.budget, kept.kept = s.head, s.budget, s.kept
	for _, plain := range []schedule{plainest, head, budget, kept} {
		if breaks(plain) {
			return plain
		}
	}
	return s
}

// worker plays schedules on one disk, which each trial overwrites.
type worker struct {
	disk disk
	dir  string
	plant
	passed map[string]bool // effects
}

// plant puts a bug into a coordinator's store, journal or server.
type plant struct {
	store  func(records.Store) records.Store
	ledger func(privacy.Journal) privacy.Journal
	server func(*Server) // called once the server is complete
	found  int           // the seed of a schedule that finds it
	whole  bool          // do not shrink the schedule
}

func newWorker(t *testing.T, p plant, on func(dir string) disk) *worker {
	dir := scratch(t)
	return &worker{disk: on(dir), dir: dir, plant: p, passed: map[string]bool{}}
}

// inMemory and inFiles are the kinds of disk.
func inMemory(string) disk    { return newMemoryDisk() }
func inFiles(dir string) disk { return newFileDisk(dir) }

func (w *worker) play(s schedule, log io.Writer) *violation {
	t := newTrial(scene{s.parties, s.kept, s.ending}, w.disk)
	t.log, t.plant = log, w.plant
	v := play(s, t, w.dir)
	maps.Copy(w.passed, t.passed)
	return v
}

// search plays the schedules of consecutive seeds until one breaks a rule. It returns that one,
// shrunk, and the effects that the schedules reached.
func search(t *testing.T, first, schedules int, p plant, on func(dir string) disk) (found *finding,
	passed map[string]bool) {
	t.Helper()
	var mu sync.Mutex
	var under sync.WaitGroup
	next := uint64(first)
	passed = map[string]bool{}
	for range runtime.GOMAXPROCS(0) {
		w := newWorker(t, p, on)
		under.Go(func() {
			defer w.disk.end()
			for {
				mu.Lock()
				seed := next
				next++
				stop := found != nil || seed >= uint64(first+schedules)
				mu.Unlock()
				if stop {
					break
				}
				s := randomSchedule(seed)
				v := w.play(s, io.Discard)
				if v == nil {
					continue
				}
				if !p.whole {
					s = shrink(s, v.rule, func(s schedule) *violation {
						return w.play(s, io.Discard)
					})
				}
				var log strings.Builder
				if again := w.play(s, &log); again != nil { // if not, the result depends on a race
					v = again
				}
				mu.Lock()
				if found == nil || seed < found.seed {
					found = &finding{seed, s, v, log.String()}
				}
				mu.Unlock()
			}
			mu.Lock()
			maps.Copy(passed, w.passed)
			mu.Unlock()
		})
	}
	under.Wait()
	return found, passed
}

// scratch is a folder in memory, if the machine has one.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "caucus-schedules-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// finding is a schedule that breaks a rule.
type finding struct {
	seed uint64
	schedule
	*violation
	log string
}

func (f *finding) String() string {
	return fmt.Sprintf("seed %d: %s: %s\n%s", f.seed, f.rule, f.detail, f.schedule)
}
