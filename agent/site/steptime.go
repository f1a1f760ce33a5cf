package site

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"caucus/learners"
	"caucus/protocol"
)

// Speed is how fast this machine works, which windows count on: the best of the last days
// on which it was measured. One look would do for a machine that nothing else uses; where
// much ran beside it the same plan was given six times as long.
//
// It is measured on made data, by the machine's own clock, when the agent starts and about
// once an hour, between polls, while nothing is prepared and nothing late goes on: no study
// chooses when, and no record was read just then. That a machine was busy all the same
// makes a day's best no better.
type Speed struct {
	file string
	Look func() time.Duration // stepTime
	mu   sync.Mutex           // guards best
	best map[string]time.Duration
}

// openSpeed reads what was measured before.
func openSpeed(c Config) *Speed {
	s := &Speed{file: filepath.Join(c.State, "speed.json"), Look: stepTime, best: map[string]time.Duration{}}
	if b, err := os.ReadFile(s.file); err != nil || json.Unmarshal(b, &s.best) != nil {
		s.best = map[string]time.Duration{} // it is measured again
	}
	maps.DeleteFunc(s.best, func(_ string, d time.Duration) bool { return d < 1 })
	return s
}

// speedDays is how many of the last days count, so that a machine that became slower is
// given more in a week.
const speedDays = 7

// MeasureEvery is how often an agent that runs looks again.
const MeasureEvery = time.Hour

// Step is how long stepsCounted steps take at best.
func (s *Speed) Step() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.best) == 0 { // of a command, where no agent ran yet
		return looked()
	}
	return slices.Min(slices.Collect(maps.Values(s.best)))
}

// Measure looks, and keeps what it found if it is the best of the day. What the disk does
// not take is measured again after a restart.
func (s *Speed) Measure(now time.Time) {
	took, day := s.Look(), now.UTC().Format(time.DateOnly)
	s.mu.Lock()
	defer s.mu.Unlock()
	if had, ok := s.best[day]; ok && had <= took {
		return
	}
	s.best[day] = took
	days := slices.Sorted(maps.Keys(s.best))
	for _, old := range days[:max(0, len(days)-speedDays)] {
		delete(s.best, old)
	}
	if b, err := json.Marshal(s.best); err == nil {
		_ = protocol.WriteSecret(s.file, append(b, '\n'))
	}
}

// looked is stepTime, once in a process.
var looked = sync.OnceValue(stepTime)

// stepTime is how long steps of learners.Reference take on this machine now: the least of
// a few tries, so that other work at that moment does not count.
func stepTime() time.Duration {
	least := time.Hour
	steps := 1.0
	for range 5 {
		start := time.Now()
		steps = learners.Reference()
		least = min(least, time.Since(start))
	}
	return max(1, time.Duration(float64(least)*stepsCounted/steps))
}

// stepsCounted is how many steps stepTime is of: a single one takes less than
// the nanosecond that a Duration counts in.
const stepsCounted = 1e6
