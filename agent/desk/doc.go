// Package desk is where a person of a site decides: it shows what a study would take, guarantee and cost
// and how the site's records look to it, takes yes or no, and declares sources. That person uses the
// command line or a page, which do the same. It works on an open state folder, also while an agent runs
// there.
//
// It guarantees:
//
//   - Looking draws no noise (reviewdata.go has the proof), sends nothing and spends nothing; what is
//     computed from the records is shown, and kept nowhere.
//   - A yes covers what was shown: one plan, and one declaration of its source. No yes allows what
//     policy or ledger refuse; a no is for good, and its reason stays here.
//   - Each decision is in the audit log before it takes effect.
//   - Text that others wrote stays on its own line on a terminal, whatever it holds.
//   - Only a person with access to the folder can open the page: it needs a link that was made there.
//
// Read desk.go, sight.go, values.go; review.go and reviewdata.go, a study's review, and wording.go, its
// text; approval.go and page.go.
package desk
