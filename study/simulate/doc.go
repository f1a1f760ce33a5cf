// Package simulate is about studies among virtual parties: records are dealt to a
// pool, parties and a test set, the real machine runs with ledgers that only
// simulate, and what comes out is measured. It is for those who choose between
// plans, and for comparisons.
//
// It guarantees that an answer depends on the seed alone, and that nothing it makes
// passes for a release: plans and publications are stamped simulated, and the
// daemons refuse them.
package simulate
