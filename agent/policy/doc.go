// Package policy holds a site's rules: the allowed studies, their cost, whom the site trusts, and who
// has the last word. A person of the site writes them in the configuration.
//
// It guarantees that a Policy allows only what it names, so the zero Policy refuses everything; that its
// decision on a plan follows from plan and policy alone (Objections); and that a Policy with limits that
// could not hold is refused when read (Validate). agent/site compares spending with the limits.
package policy
