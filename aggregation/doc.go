// Package aggregation adds up many parties' votes, sums and counts, and computes from released
// sums.
//
//   - Contributions are integers that are added exactly. Neither order of arrival nor sharding
//     changes a bit.
//   - Decoders accept only valid contributions.
//   - Every fit takes released numbers and the known distribution of their noise. This is
//     post-processing, at no privacy cost.
//   - The package draws no privacy noise and does no input or output. A generator for an
//     estimator's draws (fresh public noise, random features) is an argument.
//
// # Words
//
//	pool     public rows without labels, mapped to features (auxdata.Pool)
//	ballot   one classifier's class for each pool row; a tally adds up ballots
//	moments  mu, the mean of row × vote shares or row × label: a fit sees nothing else of private data
//	tilt     weights ∝ e^{⟨β,x⟩}, which move the pool's mean to a released mean
//	drift    the difference of the records' mean and the pool's, beyond noise and sampling
//	law      the distribution of a noise or an error
//	λ        a fit's ridge
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. Votes: ballot.go, tally.go.
//  2. Solving (package solving): moments.go (noise), simplex.go, perturbed.go, surely.go.
//  3. Sums and their fits: votes.go, moment.go (votes by a matrix), means.go, cross.go (record
//     sums), calibrate.go (probabilities), estimate.go (a ratio and its intervals).
//  4. Pool weights: weights.go, features.go, density.go, diagnose.go; queries: answer.go,
//     counted.go.
//  5. More fits: crossfit.go, onestep.go (removes the ridge), expect.go; for noisy labels
//     labels.go, labelcalibrate.go.
package aggregation
