// Package policy holds a site's rules: which studies are allowed, what they may cost, whom the site
// trusts, and who decides last. A person of the site writes the rules in the configuration.
//
// It guarantees that a Policy allows only what it names, so the zero Policy refuses everything;
// that its decision on a plan follows from plan and policy alone (Objections); and that Validate
// refuses limits that could not hold. agent/site compares spending with the limits.
package policy
