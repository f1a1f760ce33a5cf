// Package verify believes nothing: it makes a release again from plan, pool and published numbers, and
// says of each claim whether it holds, is the coordinator's word alone, or must be trusted. It serves
// parties, analysts and anybody else who holds a release and the pool.
//
// Release checks a signed release against everything that somebody knows beside it, Recall a ledger
// against everything remembered of it; CompareParty and CompareCoordinator check ledgers and releases
// against each other. Nothing here reads a file: a Known holds values.
//
// It guarantees that a release fails if any single thing in it was changed, added or left out, except
// what it reports as somebody's word.
package verify
