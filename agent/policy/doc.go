// Package policy is about what a site allows: which studies, at what cost, whom it trusts, and
// who has the last word. It is for a site's own person, who writes it in the configuration.
//
// It guarantees that what a Policy does not name is refused, so that the zero Policy refuses
// everything; that whether it allows a plan follows from plan and policy alone (Objections); and
// that one whose limits could not hold is refused when it is read (Validate). What was spent is
// the ledger's to know: see agent/site.
package policy
