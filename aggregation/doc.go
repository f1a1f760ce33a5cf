// Package aggregation adds up many parties' votes, sums and counts, and computes from released sums.
//
//   - Contributions are integers added exactly: neither order of arrival nor sharding changes a bit.
//   - Decoders accept only valid contributions.
//   - Every fit takes released numbers and the known law of their noise: post-processing, at no
//     privacy cost.
//   - The package draws no privacy noise and does no input or output. A generator for an estimator's
//     draws (fresh public noise, random features) is an argument.
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. Votes: ballot.go, tally.go.
//  2. Solving: ridged.go, moments.go (noise), simplex.go, perturbed.go, surely.go.
//  3. Sums and their fits: votes.go, moment.go (votes by a matrix), means.go, cross.go (record sums),
//     calibrate.go (probabilities).
//  4. Pool weights: weights.go, features.go, density.go, diagnose.go; queries: answer.go, counted.go.
//  5. More fits: crossfit.go, onestep.go (without its ridge), expect.go; from noisy labels labels.go,
//     labelcalibrate.go.
package aggregation
