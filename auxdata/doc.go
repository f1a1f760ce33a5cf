// Package auxdata handles the public pool: unlabelled rows that every party may see. Local
// classifiers vote on them, and private feature sums are compared with them.
//
//   - A pool is named by the SHA-256 digest of its canonical bytes: parties that agree on a digest
//     agree on every row and weight.
//   - Nothing here depends on private data, except numbers that were already released.
//   - Make draws a pool if there is none, and Check says what a pool lacks.
package auxdata
