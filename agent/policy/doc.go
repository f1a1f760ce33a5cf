// Package policy is about what a site allows: the kinds, mechanisms and units of studies, how
// much each may cost and all together, whom the site trusts, and who has the last word. It is
// for a site's own person, who writes it in the configuration, and for all of the agent.
//
// It guarantees that
//
//   - what a Policy does not name is refused, so that the zero Policy refuses everything;
//   - whether it allows a plan follows from the plan and the policy alone (Objections),
//     whether an amended ending from both and the amendment, whether a pool from its size;
//   - a policy whose limits could not hold is refused when it is read (Validate);
//   - the helper that is trusted is named by its keys, which no coordinator has a say in.
//
// What was spent is the ledger's to know: see agent/site.
package policy
