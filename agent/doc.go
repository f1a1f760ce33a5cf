// Package agent is about a party's side of a study: the daemon beside the
// data. It is for whoever owns records and lets studies learn from them.
//
// It guarantees that
//
//   - it only dials out; its page and its metrics listen where the site says so;
//   - nothing leaves that the site's Policy does not allow, and the zero Policy
//     allows nothing; a Policy may ask that a person approves each study;
//   - what leaves is charged to the site's own ledger before the data file is
//     opened, whoever adds the noise, and a study that would pass a limit of that
//     ledger is refused;
//   - when it leaves is fixed then too, and until that moment nothing is said: how
//     long the records take is not heard (window has the proof and what it
//     assumes);
//   - a finished upload is on the disk before its first byte leaves, and only
//     those bytes are ever sent for that study: after a crash, the same bytes
//     again;
//   - records, labels and unreleased numbers never reach a log or an error
//     that leaves the machine. What the coordinator learns of a refusal is that
//     this party takes no part, not who or what refused, nor why; of a study that waits
//     here, one of few words that no record decides (reports has the proof);
//   - each decision is in an append-only audit log before it takes effect;
//   - how a site's file is read, what its columns mean and how many records a
//     study gets is what a person of the site declared (source.Declaration); a plan
//     has no say in it;
//   - whether and when it joins depends on plan, policy, ledger and declarations,
//     never on what a file holds: one that cannot be read as it was declared
//     gives empty records, as many as ever.
//
// A study's files lie in one folder below the state directory, one file a
// fact, so that an operator can read what was agreed and what was sent. Each
// is written whole, synced, and moved into place.
//
// # In which order to read it
//
// No file uses what a later one declares, but in part 2, most of which is a circle.
//
//  1. Small things: pace.go, day.go, syslog.go, syslog_windows.go,
//     diskspace_unix.go, diskspace_other.go; steptime.go (this machine's speed),
//     spending.go, reports.go (why it waits); helper.go, policy.go (what is allowed).
//  2. What the site says: config.go, audit.go, learner.go. When it speaks, with the
//     proof: window.go. A study's folder: dossier.go. All it keeps: state.go. Whom it asks: link.go, silence.go. A study's way: agent.go, serve.go, shares.go,
//     ending.go, evidence.go. What a person reads and says: sight.go, review.go,
//     reviewdata.go, wording.go, preview.go, approval.go, declaring.go,
//     desk.go. Health:
//     constants.go, checkup.go, metrics.go, shown.go.
//  3. Beside it: compare.go (own records), courier.go (by file), reconcile.go.
package agent
