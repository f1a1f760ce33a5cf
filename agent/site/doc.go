// Package site is about a site: what its configuration says, and what lies in its state
// folder. It is for the agent that runs there, for a person's desk and the checks of its
// health, which look at the same folder, and for operators, who hold it against releases and
// reconcile its ledger. It knows no study's way and speaks to nobody.
//
// A state folder holds the identity, the key of shards, the ledger, the audit log,
// declarations, pools, how fast the machine is, and a folder for each study (Dossier): one
// file a fact, so that an operator can read what was agreed and what was sent.
//
// It guarantees that
//
//   - each fact is written whole, synced, and moved into place: one that is there is
//     complete, and a crash leaves none half written;
//   - each decision is in an append-only audit log before it takes effect, without a feature,
//     a label, an unreleased number or the words of a refusal;
//   - what a study costs and how long it is given follows from plan, pool, policy and the
//     declared number of records (CostOf), and from how fast this machine is on made data;
//   - a ledger that is missing, or behind what was contributed, charges nothing; years begin
//     by both clocks and never again; Reconcile charges what a restored ledger forgot;
//   - a yes counts for the very plan and declaration that the person was shown (Approvers);
//   - no command calls the coordinator while an agent on the folder is silent (Speak).
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. What is said: learner.go, dossier.go (a study's folder), config.go.
//  2. syslog.go, syslog_windows.go, audit.go; steptime.go (this machine's speed); site.go,
//     which opens all of them.
//  3. What dossiers hold: facts.go, approvals.go. Price and time: chosen.go, cost.go. What was
//     spent: ledger.go, day.go. Who this is, and whether it may speak: identity.go, voice.go.
//  4. For operators: evidence.go, reconcile.go.
package site
