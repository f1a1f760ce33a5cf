// Package auxdata handles the public pool: unlabelled rows that every party may see. Local
// classifiers vote on them, and private feature sums are compared with them.
//
//   - A pool is named by the SHA-256 digest of its canonical bytes: parties with the same digest have the
//     same rows and weights.
//   - Nothing here depends on private data, except on numbers already released.
//   - Make draws a pool if there is none, and Check lists gaps of a pool.
package auxdata
