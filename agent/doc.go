// Package agent runs a party's side of a study: the daemon beside the data, for owners of records
// who let studies learn from them.
//
// It guarantees:
//
//   - The agent only makes outgoing connections. Its page and its metrics listen where the site's
//     configuration says.
//   - Nothing leaves that the site's Policy does not allow, and the zero Policy allows nothing. A
//     Policy may require that a person approves each study.
//   - Everything that leaves is charged to the site's ledger before the data file is opened, no
//     matter who adds the noise. A study that would exceed a limit of that ledger is refused.
//   - The time of the upload is also fixed before the file is opened, and the agent sends nothing
//     until then. So nobody can observe how long the records take (window has the proof and its
//     assumptions).
//   - A finished upload is on the disk before its first byte leaves. Only those bytes are ever sent
//     for that study, also after a crash.
//   - Records, labels and unreleased numbers never reach a log, or an error that leaves the
//     machine. A refusal tells the coordinator only that this party does not take part. Of a study
//     that waits here, the coordinator gets one of a few words, which depend on no record (reports
//     has the proof).
//   - Each decision is in an append-only audit log before it takes effect.
//   - A person of the site declares how a file is read, what its columns mean and how many records
//     a study gets (source.Declaration). A plan cannot change that.
//   - Whether and when the agent joins depends on plan, policy, ledger and declarations, never on a
//     file's content. If a file cannot be read as declared, the agent uses the declared number of
//     empty records instead.
//
// agent/site holds a site's configuration and state, agent/policy its policy, agent/source its
// records, agent/desk the page and commands for people, agent/health the checks and metrics. This
// package does all work that needs no person.
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. pace.go (when to poll), reports.go (why a study waits), link.go (the connection), silence.go;
//     window.go (when the agent sends, with the proof); agent.go; learn.go (fetches plans).
//  2. A study's way: ending.go (amendments), shares.go (a helper), sending.go, preparing.go,
//     serve.go. All of them: open.go, run.go; courier.go (by file); leave.go (the end).
package agent
