// Package desk lets a person of a site decide. It shows what a study would take, guarantee and
// cost, and how the study sees the site's records. It takes approvals and refusals, and
// declarations of sources. The command line and a web page offer the same. The package works on an
// open state folder, also while an agent runs there.
//
// It guarantees:
//
//   - A look draws no noise (reviewdata.go has the proof), sends nothing and spends nothing. Values
//     computed from the records are shown but not stored.
//   - An approval covers what was shown: one plan, and one declaration of its source. No approval
//     overrides policy or ledger. A refusal is permanent, and its reason stays here.
//   - Each decision is in the audit log before it takes effect.
//   - Text that others wrote stays on its own line on a terminal, whatever characters it has.
//   - Only a person with access to the folder can open the page, by a link that was made there.
//
// Read desk.go, recordsummary.go, values.go; then review.go and reviewdata.go (a study's review)
// and wording.go (its text); approval.go and page.go.
package desk
