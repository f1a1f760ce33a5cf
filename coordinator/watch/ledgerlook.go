package watch

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"caucus/privacy"
)

// ledgerLook holds the last reading of the ledger, for the page. A reading waits like a writer of
// the ledger, so a release that draws noise delays it. So only one goroutine reads at a time, only
// when somebody opens the page, and a page load waits for the reading at most patience.
type ledgerLook struct {
	server *WatchedParts
	under  sync.WaitGroup
	ctx    context.Context
	stop   context.CancelFunc

	mu     sync.Mutex // guards the fields below
	going  chan struct{}
	read   time.Duration // elapsed time of the last successful read
	failed error
	last   int64          // the last entry read
	totals privacy.Totals // totals after entry last
	points []privacyPoint // at most 2·mostPoints
	every  int64          // entries per point
	units  []unitLimit    // in the order of the plot
	again  time.Duration  // elapsed time before which the ledger is not read again
}

type unitLimit struct {
	unit  privacy.Unit
	delta float64
	limit float64
}

type privacyPoint struct {
	entry   int64
	epsilon []float64
}

type ledgerUnit struct {
	Unit                string
	Spent, Limit, Delta string
	Class               string
}

type ledgerCurve struct {
	Class, Points string
	Limit         float64 // the limit, where 100 is the height of the plot; below 0: no limit
	Words         string
}

const (
	// patience bounds a page load's wait for the ledger's reader.
	patience = 100 * time.Millisecond
	// lookAgain is the time for which a reading is reused.
	lookAgain  = 2 * time.Second
	mostPoints = 200
	// shownDelta is the δ for a total without a limit, the same as in "caucus ledger show".
	shownDelta = 1e-6
)

func (l *ledgerLook) open(s *WatchedParts) {
	l.server, l.every, l.totals = s, 1, privacy.NewTotals()
	l.ctx, l.stop = context.WithCancel(context.Background())
	for _, u := range privacy.Units() {
		if most, ok := s.Config.Budget[u]; ok {
			l.units = append(l.units, unitLimit{u, most.Delta, most.Epsilon})
		}
	}
	if len(l.units) == 0 {
		for _, u := range privacy.Units() {
			l.units = append(l.units, unitLimit{unit: u, delta: shownDelta})
		}
	}
}

func (l *ledgerLook) close() {
	l.stop()
	l.under.Wait()
}

// look starts a reading, unless one is running or recent, and waits for its end, but at most for
// patience.
func (l *ledgerLook) look() {
	clock := l.server.Config.Clock
	l.mu.Lock()
	if l.going == nil && clock.Elapsed() >= l.again && l.ctx.Err() == nil {
		going := make(chan struct{})
		l.going = going
		l.under.Go(func() {
			err := l.walk()
			l.mu.Lock()
			if l.failed, l.going, l.again = err, nil, clock.Elapsed()+lookAgain; err == nil {
				l.read = clock.Elapsed()
			}
			l.mu.Unlock()
			close(going)
		})
	}
	going := l.going
	l.mu.Unlock()
	if going == nil {
		return
	}
	late, stop := clock.After(patience)
	defer stop()
	select {
	case <-going:
	case <-late:
	}
}

func (l *ledgerLook) walk() error {
	const page = 256
	journal := l.server.Journal
	for {
		ctx, stop := context.WithTimeout(l.ctx, time.Minute)
		var entries []privacy.Entry
		err := journal.Update(ctx, func(tx privacy.Tx) (err error) {
			entries, err = tx.EntriesAfter(l.last, page) // only this goroutine changes last
			return err
		})
		stop()
		if err != nil {
			return err
		}
		for _, e := range entries {
			line, err := e.Line()
			if err != nil {
				return err
			}
			l.mu.Lock()
			l.last, l.totals = line.Sequence, line.Totals.Filled()
			l.add(line)
			l.mu.Unlock()
		}
		if len(entries) < page {
			return nil
		}
	}
}

// add stores a point. When there are too many, it drops every second one. The caller holds mu.
func (l *ledgerLook) add(line privacy.Line) {
	if line.Sequence%l.every != 0 {
		return
	}
	p := privacyPoint{entry: line.Sequence}
	for _, u := range l.units {
		p.epsilon = append(p.epsilon, l.totals[u.unit].Epsilon(u.delta))
	}
	if l.points = append(l.points, p); len(l.points) < 2*mostPoints {
		return
	}
	l.every *= 2
	kept := l.points[:0]
	for _, p := range l.points {
		if p.entry%l.every == 0 {
			kept = append(kept, p)
		}
	}
	l.points = kept
}

func (l *ledgerLook) show(o *overview) {
	l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failed != nil:
		o.LedgerSays = "The ledger cannot be read now; the log and caucus ledger verify say why."
	case l.going != nil && l.last == 0:
		o.LedgerSays = "The ledger is being read."
	case l.going != nil:
		o.LedgerSays = fmt.Sprintf("A release is being made: this is what was spent %v ago.", (l.server.Config.Clock.Elapsed() - l.read).Round(time.Second))
	case l.last == 0:
		o.LedgerSays = "Nothing was charged here yet. Where sites add the noise, each site's own ledger is charged, and this one is not."
	}
	o.Charges = int(l.last)
	highest := 0.
	for i, u := range l.units {
		spent := l.totals[u.unit]
		if u.limit == 0 && spent.Charges == 0 {
			continue
		}
		unit := ledgerUnit{Unit: u.unit.String(), Spent: epsilonWords(spent.Epsilon(u.delta)),
			Limit: "none", Delta: fmt.Sprintf("%g", u.delta), Class: fmt.Sprintf("u%d", i%4)}
		if u.limit > 0 {
			unit.Limit, highest = fmt.Sprintf("%g", u.limit), max(highest, u.limit)
		}
		o.Units = append(o.Units, unit)
		for _, p := range l.points {
			if !math.IsInf(p.epsilon[i], 0) {
				highest = max(highest, p.epsilon[i])
			}
		}
	}
	if len(l.points) == 0 || highest == 0 {
		return
	}
	o.From, o.To = fmt.Sprintf("charge %d", l.points[0].entry), fmt.Sprintf("charge %d",
		l.points[len(l.points)-1].entry)
	for i, u := range l.units {
		if u.limit == 0 && l.totals[u.unit].Charges == 0 {
			continue
		}
		o.Plot = append(o.Plot, l.curve(i, u, highest))
	}
}

// curve returns a unit's line in a box of 400 by 100. The caller holds mu.
func (l *ledgerLook) curve(i int, u unitLimit, highest float64) ledgerCurve {
	var points []string
	x := func(k int) float64 { return 400 * float64(k) / float64(len(l.points)) }
	y := func(epsilon float64) float64 { return 98 - 96*min(epsilon, highest)/highest }
	before := y(0)
	for k, p := range l.points {
		if math.IsInf(p.epsilon[i], 0) {
			break
		}
		at := y(p.epsilon[i]) // draw a step: up to this spending at x(k), then level until x(k+1)
		points = append(points, fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", x(k), before, x(k), at,
			x(k+1), at))
		before = at
	}
	c := ledgerCurve{Class: fmt.Sprintf("u%d", i%4), Points: strings.Join(points, " "), Limit: -1,
		Words: fmt.Sprintf("%s: ε = %s now", u.unit,
			epsilonWords(l.totals[u.unit].Epsilon(u.delta)))}
	if u.limit > 0 {
		c.Limit = y(u.limit)
		c.Words += fmt.Sprintf(" of %g", u.limit)
	}
	return c
}

func epsilonWords(e float64) string {
	if math.IsInf(e, 0) {
		return "unbounded"
	}
	return fmt.Sprintf("%.4g", e)
}
