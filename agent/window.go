package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"caucus/agent/site"
	"caucus/aggregator/uploading"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// A window is the time in which one contribution is prepared. The source's file is opened only in a
// window. At its end noise is drawn for whatever is ready, and the upload leaves at a moment that
// was fixed together with the window. Until that moment the agent sends nothing to anybody.
//
// Proof note. Claim: whether and when this agent sends is a function of plan, pool, policy, ledger,
// declared state, persons, clocks, the network and the machine's own noise. It depends on the
// records only as far as the study's bound covers.
//   - Before the window. A study is decided and the ledger charged before the window is fixed. The
//     window is fixed and on the disk before the file is opened. Its length, and the time from its
//     end until the upload leaves, follow from public numbers: study.Task.Work (plan, pool,
//     declared number of records) and privacy.Terms.Steps (of the release), times the time of a
//     step on this machine with made data (speed), times Config.TimeMargin, and Config.MinWindow.
//   - During the window nothing is sent, because a busy machine answers later, and others could
//     observe that (Agent.prepare, silence). The connection is closed, with its goodbyes, before
//     the file is opened: an open connection answers each PING. The connections of its servers
//     read, write and end nothing (silence), because a browser on the machine, a monitor or a
//     forwarded port could pass on when an answer came. No command on the state folder calls the
//     coordinator, and log lines about the window are written after it. The upload uses a new
//     connection. Windows do not overlap: the next one is fixed after the upload of this one is
//     sent. What is told of a contribution that was late is told after the upload, in no line of
//     its own (flaws).
//   - At the end of the window the draft is taken once, if it is ready. The noise is drawn and the
//     upload stored. How long that takes depends on the noise, which must not be observed either,
//     so the upload leaves later, at its fixed moment. After that, polls continue by their own
//     timer.
//   - A part that is late is replaced by a constant. A shard's classifier has its own part of the
//     window, which begins when the previous classifier has ended. So whether it is late follows
//     from its own records, and changes only its own ballot; the bounds of shards, records and
//     parties count a ballot that changes in any way. Sums are made in one pass that costs the same
//     for each record, so whether a sum is late is assumed to follow from the machine alone.
//   - A site's own classifier is a program (Learner). It has the time that the configuration gives
//     it, and is killed at the end of that time. It runs only in the window. Its answer, or its
//     failure, is a ballot like any other (study/classify has the lemma). The site is responsible
//     for whatever else the program does, such as a message over the network or a file.
//   - After a crash a new window is fixed before the file is opened again.
//
// Assumed of the machine: a window, several times longer than the bound of its work, is never too
// short because of the records' content. Memory is not bounded here. A condition that leaves few
// records to train on does not shorten the work visibly, because study/classify then trains on made
// records. What the operating system answers by itself (a ping, a closed port) is outside this
// program, and a task for a firewall.
type window struct {
	study study.Hash
	plan  study.Plan
	// task is set if the queue was empty when the study was charged. Otherwise it is nil until the
	// window begins, so that the queue holds one pool at most.
	task    study.Task
	records int
	// helper is the agreement with the helper, if the upload consists of shares.
	helper uploading.Agreement
	offer  protocol.Summary
	span   site.WindowTimes
	site.Schedule
	// began is clock.Elapsed at the window's start, so that setting the clock moves no end.
	began time.Duration
	made  draft
}

// draft is a contribution before its noise. Without a Body it was not ready.
type draft struct {
	study.Contribution
	// late says what was not ready; "" for nothing. Only the site may see it.
	late string
}

// preparation holds the charged studies that are still to be prepared, in order.
type preparation struct {
	// prepare computes a draft. It reads the source's file.
	prepare func(context.Context, window) draft
	clock   clock.Clock
	queue   []window
	going   sync.WaitGroup
	busy    atomic.Int64 // calls of prepare in progress, also late ones
	// hurry ends a window and sends its upload as soon as its work is done. Tests that are not
	// about windows set it.
	hurry bool
}

func (p *preparation) has(h study.Hash) bool {
	return slices.ContainsFunc(p.queue, func(w window) bool { return w.study == h })
}

// wait returns how long it takes until the whole queue is sent.
func (p *preparation) wait() (all time.Duration) {
	for _, w := range p.queue {
		all += w.span.Total()
	}
	return all
}

// within makes a draft. It returns at the window's end, whether the draft is ready or not.
func (p *preparation) within(ctx context.Context, w window) draft {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan draft, 1)
	p.busy.Add(1)
	p.going.Go(func() {
		defer p.busy.Add(-1)
		// the panic's message could contain a record, so it is dropped, and no draft is sent
		defer func() { _ = recover() }()
		ready <- p.prepare(ctx, w)
	})
	end, stop := p.clock.After(w.began + w.span.Prepare - p.clock.Elapsed())
	defer stop()
	var hurried <-chan draft // nil unless hurry is set
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

// within is study.Inputs.TimeLimit. It gives each shard a context with its own deadline.
func (l *late) within(ctx context.Context, shard time.Duration) func() (context.Context,
	func(bool)) {
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
