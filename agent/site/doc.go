// Package site holds a site's configuration and its state folder, for the agent, for the desk and the checks, which
// read the same folder, and for operators, who compare it with releases and reconcile its ledger.
//
// It guarantees:
//
//   - Each fact of a study's folder (Dossier) is written whole, synced, and moved into place.
//   - Each decision is in an append-only audit log before it takes effect, without a feature, a label, an
//     unreleased number or the words of a refusal.
//   - A study's cost and its window follow from plan, pool, policy, the declared number of records, and
//     this machine's speed on made data (CostOf).
//   - A ledger that is missing, or behind the site's contributions, charges nothing; Reconcile charges
//     the entries that a restored ledger forgot.
//   - An approval counts for the plan and declaration that the person was shown (Approvers).
//   - No command calls the coordinator while an agent on the folder is silent (Speak).
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. learner.go, dossier.go, config.go (what is said); syslog.go, syslog_windows.go, audit.go;
//     steptime.go (this machine's speed); site.go, which opens all of them.
//  2. facts.go (what dossiers hold), cost.go (price and time), ledger.go (what was spent),
//     identity.go (who this is, and whether it may speak); evidence.go, reconcile.go.
package site
