// Package site holds a site's configuration and its state folder. It serves the agent; the desk and
// the checks, which read the same folder; and operators, who compare the folder with releases and
// reconcile its ledger.
//
// It guarantees:
//
//   - Each fact of a study's folder (StudyFolder) is written whole, synced, and moved into place.
//   - Each decision is in an append-only audit log before it takes effect. The log contains no
//     feature, label or unreleased number, and not the words of a refusal.
//   - A study's cost and its window follow from plan, pool, policy, the declared number of records,
//     and this machine's speed on made data (CostOf).
//   - A ledger that is missing, or older than the site's contributions, charges nothing. Reconcile
//     charges the entries that a restored ledger lost.
//   - An approval counts for the plan and declaration that the person was shown (Approvers).
//   - No command calls the coordinator while an agent on the folder is silent (LockCalls).
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. learner.go, studyfolder.go, config.go (the configuration); syslog.go, syslog_windows.go,
//     audit.go; steptime.go (this machine's speed); site.go, which opens all of them.
//  2. facts.go (what study folders contain), cost.go (price and time), ledger.go (what was spent),
//     identity.go (who this site is, and whether it may call); evidence.go, reconcile.go.
package site
