// Package verify is about believing nothing: it makes a release again from plan, pool
// and published numbers, and says of each claim whether it holds, is the
// coordinator's word alone, or must be trusted. It is for parties, analysts and
// anybody else who holds a release and the pool.
//
// Release holds a signed release against all that somebody knows beside it, Recall a
// ledger against what is remembered of it, CompareParty and CompareCoordinator the
// two against each other. Nothing here reads a file: a Known holds values.
//
// It guarantees that a release in which any single thing was changed, added or left
// out fails, but for what it names as somebody's word.
package verify
