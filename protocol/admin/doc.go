// Package admin is an operator's half of package protocol: the calls that make, open, change and
// end studies, invite and revoke members and tokens, and carry studies to parties without a
// network; and what they answer with. The coordinator uses its words for members, tokens and tags.
// A party makes none of these calls, so no agent contains them.
//
// Read client.go first, then studies.go, tags.go, members.go and tokens.go; clock.go, pool.go,
// carried.go and enrolment.go in any order.
package admin
