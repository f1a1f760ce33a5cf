package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"caucus/agent/site"
	"caucus/aggregator"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// A window is the time in which one contribution is prepared: the source's file is opened in it
// and nowhere else, what is ready by its end has its noise drawn, and what came of it leaves at
// a moment that was fixed with the window. Until then this agent says nothing to anybody.
//
// Proof note. Claim: when this agent speaks, and whether it does, is a function of plan, pool,
// policy, ledger, declared state, persons, clocks, the network and the machine's own noise; of
// the records only through what the bound of the study covers.
//   - Before. A study is decided, and the ledger charged, before its window is fixed; the window
//     is fixed, and on the disk, before the file is opened. Its length, and the time after it
//     until what was made leaves, follow from public numbers: study.Task.Work (plan, pool,
//     declared number of records) and privacy.Terms.Steps (of what is released), times how long
//     a step takes here on made data (speed), times Config.Margin, and Config.LeastWindow.
//   - Meanwhile nothing is said, since a machine that is at work answers later, and
//     that could be heard (Agent.prepare, silence). The connection is closed before the
//     file is opened, its goodbyes said: one that is open answers each PING. What the
//     agent serves on its machine holds its answers, whoever asks: what a browser there,
//     a watcher or a port that is carried elsewhere makes of them nobody knows. No command
//     on the state folder calls the coordinator, and lines of logs about the window are
//     written after it. At the moment the upload dials anew. Windows do not overlap: the
//     next is fixed when what was made in this one is sent.
//   - At the end whatever is ready is taken, once; the noise is drawn and the
//     upload stored. How long that takes hangs on the noise (a sampler's time
//     does), which must not be heard either: so the upload leaves later, at its
//     moment. After that polls go on by their own timer.
//   - What is late is constant. A shard's classifier has its own part of the window, which
//     begins when the one before it has come to its end, so whether it is late follows from its
//     own records, and moves its own ballot: the bound of shards, records and parties counts a
//     ballot that moves in any way. Sums are one pass in which each record costs the same:
//     whether one is late is taken to follow from the machine.
//   - A site's own classifier, a program (Learner), has the time that the configuration
//     gives it, whatever it does: at its end it is killed. It runs in the window and
//     nowhere else, and what it answers, or that it failed, is a ballot like any other
//     (study/classify has the lemma). What it does beside that, a message over the
//     network or a file, is the site's own doing.
//   - After a crash a new window is fixed before the file is opened again.
//
// Assumed of the machine: that a window, several times what the work was
// bounded by, is never too short because of what records say. Memory is not
// bounded here. That a condition leaves little to train on shortens no work that could be
// seen otherwise (study/classify trains on made records then). What the system answers by itself (a ping, a port that is closed) is
// not this program's: a firewall's business.
type window struct {
	study study.Hash
	plan  study.Plan
	// task is the one that was charged where the queue was empty then, else nil until
	// the window begins: a queue holds one pool at most.
	task study.Task
	// records is how many of them were declared.
	records int
	// helper is what was agreed with it, where what leaves is in shares.
	helper aggregator.Agreement
	// offer is what the coordinator said of the study.
	offer protocol.Summary
	span  site.Span
	site.Due
	// began is when it began, by the time that passes: what the clock is set to
	// meanwhile moves no end.
	began time.Duration
	// made is the contribution and what was late in it, at the window's end.
	made draft
}

// draft is a contribution before its noise; without a Body nothing was ready.
type draft struct {
	study.Contribution
	// late says, for the site alone, what was not ready; "" for nothing.
	late string
}

// preparation holds what is charged and to be prepared, in order.
type preparation struct {
	// prepare computes a draft; it reads the source's file.
	prepare func(context.Context, window) draft
	clock   clock.Clock
	queue   []window
	going   sync.WaitGroup
	busy    atomic.Int64 // how many are going, late ones among them
	// hurry lets a window end once its work is done, and its upload leave at
	// once: for tests that are about something else.
	hurry bool
}

func (p *preparation) has(h study.Hash) bool {
	return slices.ContainsFunc(p.queue, func(w window) bool { return w.study == h })
}

// wait is the time until everything in the queue has left.
func (p *preparation) wait() (all time.Duration) {
	for _, w := range p.queue {
		all += w.span.Whole()
	}
	return all
}

// within makes a draft and comes back at the window's end, ready or not.
func (p *preparation) within(ctx context.Context, w window) draft {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan draft, 1)
	p.busy.Add(1)
	p.going.Go(func() {
		defer p.busy.Add(-1)
		defer func() { _ = recover() }() // what it says could be a record; nothing is ready then
		ready <- p.prepare(ctx, w)
	})
	end, stop := p.clock.After(w.began + w.span.Prepare - p.clock.Elapsed())
	defer stop()
	var hurried <-chan draft // nil, unless in a hurry
	if p.hurry {
		hurried = ready
	}
	select {
	case made := <-hurried:
		return made
	case <-ctx.Done():
	case <-end:
	}
	select {
	case made := <-ready:
		return made
	default:
		return draft{late: "all of it"}
	}
}

// late is what a study's shards missed.
type late struct {
	mu     sync.Mutex // guards shards
	shards int
}

// within is study.Inputs.Within: a context of this length for each shard.
func (l *late) within(ctx context.Context, shard time.Duration) func() (context.Context, func(bool)) {
	return func() (context.Context, func(bool)) {
		own, cancel := context.WithTimeout(ctx, shard)
		return own, func(late bool) {
			if late {
				l.mu.Lock()
				l.shards++
				l.mu.Unlock()
			}
			cancel()
		}
	}
}

func (l *late) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shards == 0 {
		return ""
	}
	return fmt.Sprintf("%d classifiers", l.shards)
}
