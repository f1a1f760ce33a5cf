// Package auxdata handles the public pool: unlabelled rows that every party may see. Local
// classifiers vote on the rows, and private feature sums are compared with them.
//
//   - A pool is identified by the SHA-256 digest of its canonical bytes. Parties with the same
//     digest have the same rows and weights.
//   - Nothing here depends on private data, except on numbers that were released already.
//   - Package support draws a pool if there is none, and lists gaps of a pool.
package auxdata
