// Package aggregation adds up many parties' votes, sums and counts. It is a party's half: what a
// party computes from its records, and bounds. Package fitting reads what is released.
//
//   - Contributions are integers that are added exactly. Neither order of arrival nor sharding
//     changes a bit.
//   - Decoders accept only valid contributions.
//   - The package draws no privacy noise and does no input or output.
//
// # Words
//
//	pool     public rows without labels, mapped to features (auxdata.Pool)
//	ballot   one classifier's class for each pool row; a tally adds up ballots
//	moments  mu, the mean of row × vote shares or row × label: all that a fit sees of private data
//	design   the public side of a sum: what is summed, and how far one record or ballot moves it
//	tilt     weights ∝ e^{⟨β,x⟩}, which move the pool's mean to a released mean
//	λ        a fit's ridge
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. Votes: ballot.go, tally.go, votes.go; moment.go (votes by a matrix).
//  2. Sums of records: means.go, cross.go, features.go, counted.go.
//  3. Fits that a party computes before its noise: surely.go, density.go.
//  4. labels.go (terms of a fit to noisy labels), estimate.go (of intervals).
package aggregation
