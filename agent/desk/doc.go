// Package desk is where a person of a site decides. It shows what a study would take, guarantee and cost, and how
// the study sees the site's records; it takes approvals and refusals, and declares sources. The command line and a
// page do the same. It works on an open state folder, also while an agent runs there.
//
// It guarantees:
//
//   - A look draws no noise (reviewdata.go has the proof), sends nothing and spends nothing; values
//     computed from the records are shown, and stored nowhere.
//   - An approval covers what was shown: one plan, and one declaration of its source. No approval
//     overrides policy or ledger; a refusal is for good, and its reason stays here.
//   - Each decision is in the audit log before it takes effect.
//   - Text that others wrote stays on its own line on a terminal, whatever its characters.
//   - Only a person with access to the folder can open the page: it needs a link that was made there.
//
// Read desk.go, sight.go, values.go; review.go and reviewdata.go, a study's review, and wording.go, its
// text; approval.go and page.go.
package desk
