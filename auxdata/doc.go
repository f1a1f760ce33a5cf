// Package auxdata is about the public pool: unlabelled rows that every party
// may see, on which local classifiers vote and against which private feature
// sums are compared.
//
// It is for studies that need a common public ground. It guarantees that a
// pool is named by the SHA-256 digest of its canonical bytes, so that two
// parties that agree on a digest agree on every row; that weights attached to
// a pool change its digest; and that nothing in here depends on private data
// other than numbers that were already released. Make draws a pool for those who
// have none, and Check tells what a pool lacks.
package auxdata
