package agent

import (
	"crypto/rand"

	"caucus/protocol"
	"caucus/study"
)

// reports tells the coordinator, with the agent's next call, why each study waits here. Each reason
// is one of a few words (protocol.WaitReason).
//
// Proof note. Claim: the words are a function of plan, policy, ledger, declarations, persons and
// clocks. They depend on the records only through these.
//   - A word is set where serve stops working on a study before it reads a record: in decide
//     (policy, declaration, persons) or in charge (pool, ledger, declared number of records,
//     clocks, number of studies today). Both end before the source's file is opened (window).
//   - Nothing sets a word during or after a window. No word exists for an unreadable file, a late
//     contribution or a draw.
//   - Refusals by the policy, by the ledger and by a person share one word, protocol.WaitDeclined,
//     and one Decline. So nobody learns from a refusal how much of a budget is left. But the
//     coordinator may have seen before that the study waited for a person.
//   - The words leave with a call that is made anyway, at the time of the poll's own timer. They
//     change the call's size only by their own length.
//
// TestWaitsTellNothing would catch a violation. With Config.HideWaits no word is sent.
type reports struct {
	quiet bool
	waits map[study.Hash]protocol.WaitReason
}

func (r *reports) say(h study.Hash, what protocol.WaitReason) {
	if !r.quiet {
		r.waits[h] = what
	}
}

func (r *reports) current() map[study.Hash]protocol.WaitReason { return r.waits }

func (r *reports) begin() { r.waits = map[study.Hash]protocol.WaitReason{} }

func newRun() []byte {
	run := make([]byte, 16)
	rand.Read(run)
	return run
}
