// Package evidence is about what a party and a ledger can prove about a release without making it
// again: who signed it, whether receipt, amendments, upload and charges agree (CompareParty),
// whether a ledger is the one that others remember (CompareMemory), and whether a coordinator's has
// the entries that its releases name (CompareCoordinator).
//
// A site needs no more to catch a coordinator's contradictions. Package verify checks the rest of a
// release.
package evidence
