package agent

import (
	"crypto/rand"

	"caucus/protocol"
	"caucus/study"
)

// reports tells the coordinator, with the agent's next call, why each study waits here: one of a few
// words each (protocol.Wait).
//
// Proof note. Claim: the words are a function of plan, policy, ledger, declarations, persons and clocks,
// and of the records only through these.
//   - A word is set when serve leaves a study without reading a record: in decide (policy, declaration,
//     persons) or in charge (pool, ledger, declared number of records, clocks, number of studies today).
//     Both end before the source's file is opened (window).
//   - Nothing sets a word in a window or after it: there is no word for an unreadable file, for a late
//     contribution or for a draw.
//   - Refusals by the policy, by the ledger and by a person share one word, protocol.WaitDeclined, and
//     one Decline: nobody learns from it how much of a budget is left. An earlier wait for a person is
//     told.
//   - The words leave with a call that is made anyway, by the poll's own timer; they change the call's
//     size only by their own length.
//
// TestWaitsTellNothing would catch a violation. With Config.Quiet nothing is told.
type reports struct {
	quiet bool
	waits map[study.Hash]protocol.Wait
}

func newReports(quiet bool) *reports {
	return &reports{quiet: quiet, waits: map[study.Hash]protocol.Wait{}}
}

func (r *reports) say(h study.Hash, what protocol.Wait) {
	if !r.quiet {
		r.waits[h] = what
	}
}

func (r *reports) said() map[study.Hash]protocol.Wait { return r.waits }

func (r *reports) begin() { r.waits = map[study.Hash]protocol.Wait{} }

// newRun draws a random identifier for this process.
func newRun() []byte {
	run := make([]byte, 16)
	rand.Read(run)
	return run
}
