// Package policy says what a site allows: which studies, at what cost, whom it trusts, and who has the
// last word. A person of the site writes it in the configuration.
//
// It guarantees that what a Policy does not name is refused, so that the zero Policy refuses everything;
// that whether it allows a plan follows from plan and policy alone (Objections); and that a Policy whose
// limits could not hold is refused when it is read (Validate). Spending is the ledger's matter: see
// agent/site.
package policy
