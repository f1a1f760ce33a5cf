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

// Speed is the machine's speed, from which windows are computed: the best measurement of the last
// days. By a single measurement on a busy machine, the same plan once got six times as much time.
//
// The speed is measured on made data with the machine's own clock, when the agent starts and about
// once an hour. This happens between polls, while no contribution is prepared and no late one is
// still computed. So no study chooses the time, and no record was read just before. A busy moment
// does not improve a day's best.
type Speed struct {
	file        string
	MeasureStep func() time.Duration // stepTime, replaced in tests
	mu          sync.Mutex           // guards best
	best        map[string]time.Duration
}

func openSpeed(c Config) *Speed {
	s := &Speed{file: filepath.Join(c.State, "speed.json"), MeasureStep: stepTime,
		best: map[string]time.Duration{}}
	if b, err := os.ReadFile(s.file); err != nil || json.Unmarshal(b, &s.best) != nil {
		s.best = map[string]time.Duration{} // unreadable: measure again
	}
	maps.DeleteFunc(s.best, func(_ string, d time.Duration) bool { return d < 1 })
	return s
}

// speedDays is the number of days of which the best measurement counts. Then a slower machine is
// noticed.
const speedDays = 7

// MeasureInterval is the interval at which a running agent measures.
const MeasureInterval = time.Hour

// Step is the best time of stepsCounted steps.
func (s *Speed) Step() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.best) == 0 { // no agent has measured here yet
		return looked()
	}
	return slices.Min(slices.Collect(maps.Values(s.best)))
}

// Measure measures, and stores the result if it is the day's best. A failed write changes nothing.
func (s *Speed) Measure(now time.Time) {
	took, day := s.MeasureStep(), now.UTC().Format(time.DateOnly)
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

var looked = sync.OnceValue(stepTime)

// stepTime measures how long stepsCounted steps of learners.RunReference take on this machine now.
// It is the least of a few tries, which excludes other work.
func stepTime() time.Duration {
	least := time.Hour
	steps := 1.0
	for range 5 {
		start := time.Now()
		steps = learners.RunReference()
		least = min(least, time.Since(start))
	}
	return max(1, time.Duration(float64(least)*stepsCounted/steps))
}

// stepsCounted is the number of steps timed together, because one step takes less than a
// nanosecond.
const stepsCounted = 1e6
