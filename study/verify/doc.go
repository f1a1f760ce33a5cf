// Package verify checks a release without trusting anybody. It makes the release again from plan, pool and
// published numbers. Of each claim it says whether the claim holds, rests on the coordinator's word alone, or
// must be trusted. It serves parties, analysts and anybody with a release and the pool.
//
// Release checks a signed release against all that the caller knows. Recall checks a ledger against remembered
// states. CompareParty and CompareCoordinator check ledgers and releases against each other. No function reads
// a file: a Known holds values.
//
// It guarantees that a release fails if anything in it was changed, added or left out, except for claims
// reported as somebody's word.
package verify
