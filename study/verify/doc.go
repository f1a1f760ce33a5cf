// Package verify checks a release without believing anybody: it makes the release again from plan, pool
// and published numbers, and says of each claim whether it holds, is the coordinator's word alone, or
// must be trusted. It serves parties, analysts and everybody else with a release and the pool.
//
// Release checks a signed release against all that the caller knows; Recall checks a ledger against
// remembered states; CompareParty and CompareCoordinator check ledgers and releases against each other.
// No function reads a file: a Known holds values.
//
// It guarantees that a release fails if any single thing in it was changed, added or left out, except
// for claims reported as somebody's word.
package verify
