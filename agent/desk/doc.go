// Package desk is about what a person of a site reads and says: what a study would take,
// guarantee and cost, what the records look like to it, and yes or no to it; and how a source is
// to be read. It is for that person, by the command line or on a page, whose acts are the same.
// It works on an open state folder, also while an agent runs there.
//
// It guarantees that
//
//   - no noise is drawn for a look (reviewdata.go has the proof), nothing is sent and nothing is
//     spent; what is computed from the records is shown, and kept nowhere;
//   - a yes is to what was shown: one plan, and one declaration of its source. What policy or
//     ledger refuse no yes allows; a no is for good, and its reason stays here;
//   - each decision is in the audit log before it takes effect;
//   - whatever a text holds that others wrote, on a terminal it stays in its line;
//   - the page is for who has the folder: it asks for a link that was made there.
//
// Read desk.go, sight.go, values.go; review.go and reviewdata.go, a study's review, and wording.go,
// its text; approval.go and page.go.
package desk
