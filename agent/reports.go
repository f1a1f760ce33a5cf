package agent

import (
	"crypto/rand"

	"caucus/protocol"
	"caucus/study"
)

// reports is what an agent tells the coordinator with its next call about studies that
// wait here: one of few words each (protocol.Wait), so that nobody waits blind.
//
// Proof note. Claim: what is told is a function of plan, policy, ledger, declarations,
// persons and clocks, and of the records only through them.
//   - A word is set where serve leaves a study without reading a record: by decide
//     (policy, declaration, persons) or charge (pool, ledger, declared number of records,
//     clocks, how many studies there were today), both of which end before the source's file is opened (window).
//   - Nothing sets one in a window or after it: there is no word for a file that
//     cannot be read, for what was late or for what was drawn.
//   - The no of the policy, of the ledger and of a person are one word,
//     protocol.WaitDeclined, as they are one Decline: nobody learns from it how much of a
//     budget is left. That a person was awaited before is told.
//   - It leaves with a call that is made anyway, by the poll's own timer; which words
//     there are changes the call's size by nothing but them.
//
// TestWaitsTellNothing would catch its being wrong. Config.Quiet tells nothing at all.
type reports struct {
	quiet bool
	waits map[study.Hash]protocol.Wait
}

func newReports(quiet bool) *reports {
	return &reports{quiet: quiet, waits: map[study.Hash]protocol.Wait{}}
}

// say keeps why a study waits here.
func (r *reports) say(h study.Hash, what protocol.Wait) {
	if !r.quiet {
		r.waits[h] = what
	}
}

// said is what the last round found.
func (r *reports) said() map[study.Hash]protocol.Wait { return r.waits }

// begin forgets it: the next round finds it anew.
func (r *reports) begin() { r.waits = map[study.Hash]protocol.Wait{} }

// newRun names a process among those of one identity.
func newRun() []byte {
	run := make([]byte, 16)
	rand.Read(run)
	return run
}
