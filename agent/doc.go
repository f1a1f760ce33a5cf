// Package agent is about a party's side of a study: the daemon beside the
// data. It is for whoever owns records and lets studies learn from them.
//
// It guarantees that
//
//   - it only dials out; its page and its metrics listen where the site says so;
//   - nothing leaves that the site's Policy does not allow, and the zero Policy
//     allows nothing; a Policy may ask that a person approves each study;
//   - what leaves is charged to the site's own ledger before the data file is opened, whoever
//     adds the noise, and a study that would pass a limit of that ledger is refused;
//   - when it leaves is fixed then too, and until that moment nothing is said: how long the
//     records take is not heard (window has the proof and what it assumes);
//   - a finished upload is on the disk before its first byte leaves, and only those bytes are
//     ever sent for that study: after a crash, the same bytes again;
//   - records, labels and unreleased numbers never reach a log or an error
//     that leaves the machine. What the coordinator learns of a refusal is that
//     this party takes no part, not who or what refused, nor why; of a study that waits
//     here, one of few words that no record decides (reports has the proof);
//   - each decision is in an append-only audit log before it takes effect;
//   - how a site's file is read, what its columns mean and how many records a study gets is what
//     a person of the site declared (source.Declaration); a plan has no say in it;
//   - whether and when it joins depends on plan, policy, ledger and declarations,
//     never on what a file holds: one that cannot be read as it was declared
//     gives empty records, as many as ever.
//
// What a site says and keeps is in agent/site, what it allows in agent/policy, what its records
// are in agent/source; what a person reads and says in agent/desk, whether all is well in
// agent/health. Here is what happens by itself.
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. pace.go, reports.go (why a study waits), link.go (whom it asks), silence.go; window.go
//     (when it speaks, with the proof); agent.go; learn.go (what it asks).
//  2. A study's way: ending.go (amended), shares.go (a helper), sending.go, preparing.go,
//     serve.go. All of them: open.go, run.go; courier.go (by file).
package agent
