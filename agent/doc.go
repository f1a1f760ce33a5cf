// Package agent runs a party's side of a study: the daemon beside the data, for owners of records who
// let studies learn from them.
//
// It guarantees:
//
//   - The agent only dials out; its page and its metrics listen where the site's config says.
//   - Nothing leaves that the site's Policy does not allow, and the zero Policy allows nothing. A Policy
//     may require that a person approves each study.
//   - Everything that leaves is charged to the site's ledger before the data file is opened, whoever
//     adds the noise. A study that would pass a limit of that ledger is refused.
//   - The moment of the upload is also fixed before the file is opened, and until then the agent is
//     silent: nobody can hear how long the records take (window has the proof and its assumptions).
//   - A finished upload is on the disk before its first byte leaves, and only those bytes are ever sent
//     for that study: after a crash, the same bytes again.
//   - Records, labels and unreleased numbers never reach a log or an error that leaves the machine. From
//     a refusal the coordinator learns only that this party does not take part; about a study that waits
//     here it learns one of a few words, which no record decides (reports has the proof).
//   - Each decision is in an append-only audit log before it takes effect.
//   - A person of the site declares how a file is read, what its columns mean and how many records a
//     study gets (source.Declaration); a plan has no say in it.
//   - Whether and when the agent joins depends on plan, policy, ledger and declarations, never on the
//     content of a file: a file that cannot be read as declared gives the declared number of empty
//     records.
//
// agent/site holds a site's config and state, agent/policy its policy, agent/source its records,
// agent/desk the page and commands for persons, agent/health the checks and metrics. This package does
// all that happens without a person.
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. pace.go, reports.go (why a study waits), link.go (whom it asks), silence.go; window.go
//     (when it speaks, with the proof); agent.go; learn.go (plans fetched).
//  2. A study's way: ending.go (amended), shares.go (a helper), sending.go, preparing.go,
//     serve.go. All of them: open.go, run.go; courier.go (by file).
package agent
