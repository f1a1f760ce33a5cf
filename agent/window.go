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

// A window is the time in which one contribution is prepared: the source's file is opened in it and
// nowhere else, noise is drawn for what is ready by its end, and the upload leaves at a moment that was
// fixed with the window. Until then this agent says nothing to anybody.
//
// Proof note. Claim: when this agent speaks, and whether it does, is a function of plan, pool, policy,
// ledger, declared state, persons, clocks, the network and the machine's own noise; of the records only
// through what the study's bound covers.
//   - Before. A study is decided, and the ledger charged, before its window is fixed; the window is
//     fixed, and on the disk, before the file is opened. Its length, and the time from its end until the
//     upload leaves, follow from public numbers: study.Task.Work (plan, pool, declared number of
//     records) and privacy.Terms.Steps (of the release), times the time of a step here on made data
//     (speed), times Config.Margin, and Config.LeastWindow.
//   - Meanwhile nothing is said, because a machine at work answers later, and that could be heard
//     (Agent.prepare, silence). The connection is closed before the file is opened, with its goodbyes:
//     an open one answers each PING. The agent's servers hold their answers, whoever asks: a browser on
//     the machine, a watcher or a forwarded port could pass them on. No command on the state folder
//     calls the coordinator, and log lines about the window are written after it. At its moment the
//     upload dials anew. Windows do not overlap: the next is fixed after the upload of this one is sent.
//   - At the end whatever is ready is taken, once; the noise is drawn and the upload stored. The time
//     for that depends on the noise (a sampler's time does), which must not be heard either: so the
//     upload leaves later, at its moment. After that polls continue by their own timer.
//   - A late part is a constant. A shard's classifier has its own part of the window, which begins when
//     the previous classifier has ended, so whether it is late follows from its own records, and moves
//     its own ballot: the bound of shards, records and parties counts a ballot that moves in any way.
//     Sums are one pass in which each record costs the same: whether a sum is late is assumed to follow
//     from the machine.
//   - A site's own classifier, a program (Learner), has the time that the configuration gives it, and is
//     killed at the end of that time. It runs in the window only, and its answer, or its failure, is a
//     ballot like any other (study/classify has the lemma). Whatever else it does, a message over the
//     network or a file, is the site's own responsibility.
//   - After a crash a new window is fixed before the file is opened again.
//
// Assumed of the machine: a window, several times the bound of its work, is never too short because of
// the content of the records. Memory is not bounded here. A condition that leaves few records to train
// on shortens no visible work (study/classify then trains on made records). What the operating system
// answers by itself (a ping, a closed port) is outside this program: a firewall's task.
type window struct {
	study study.Hash
	plan  study.Plan
	// task is set if the queue was empty when the study was charged, else nil until the window begins: a
	// queue holds one pool at most.
	task    study.Task
	records int
	// helper is the agreement with the helper, if the upload is in shares.
	helper aggregator.Agreement
	offer  protocol.Summary
	span   site.Span
	site.Due
	// began is clock.Elapsed at the window's begin: setting the clock meanwhile moves no end.
	began time.Duration
	made  draft
}

// draft is a contribution before its noise; without a Body nothing was ready.
type draft struct {
	study.Contribution
	// late says, for the site only, what was not ready; "" for nothing.
	late string
}

// preparation holds the charged studies still to prepare, in order.
type preparation struct {
	// prepare computes a draft; it reads the source's file.
	prepare func(context.Context, window) draft
	clock   clock.Clock
	queue   []window
	going   sync.WaitGroup
	busy    atomic.Int64 // calls of prepare in progress, late ones among them
	// hurry ends a window, and sends its upload, once its work is done: for tests of other things.
	hurry bool
}

func (p *preparation) has(h study.Hash) bool {
	return slices.ContainsFunc(p.queue, func(w window) bool { return w.study == h })
}

// wait returns the time until the whole queue has left.
func (p *preparation) wait() (all time.Duration) {
	for _, w := range p.queue {
		all += w.span.Whole()
	}
	return all
}

// within makes a draft and returns at the window's end, ready or not.
func (p *preparation) within(ctx context.Context, w window) draft {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan draft, 1)
	p.busy.Add(1)
	p.going.Go(func() {
		defer p.busy.Add(-1)
		defer func() { _ = recover() }() // its message could be a record; nothing is ready then
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

// late counts the classifiers (shards) of a study that were not ready.
type late struct {
	mu     sync.Mutex // guards shards
	shards int
}

// within is study.Inputs.Within: it gives each shard a context with its own deadline.
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
