// Package aggregation is about the mathematics of many contributions: how
// votes, sums and counts of many parties are added, and what may be computed
// from a sum once it has been released.
//
// It is for the study machine and for researchers who want the estimators
// alone. It guarantees that contributions are integers added exactly, so that
// neither order of arrival nor sharding changes a bit; that decoders accept
// only valid contributions; and that every fit takes released numbers and the
// known law of their noise, so that all of it is free post-processing.
// It draws no privacy noise and does no input or output. Where an estimator
// needs random draws of its own (fresh public noise, random features), the
// generator is an argument.
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. Votes: ballot.go, tally.go.
//  2. Solving: ridged.go, moments.go (noise), simplex.go, perturbed.go, surely.go.
//  3. What is summed, and its fit: votes.go, moment.go (votes by a matrix),
//     means.go, cross.go (record sums), calibrate.go (probabilities).
//  4. Weights of a pool: weights.go, features.go, density.go, diagnose.go; asking
//     them: answer.go, counted.go.
//  5. More fits: crossfit.go, onestep.go (without its ridge), expect.go; from noisy
//     labels labels.go, labelcalibrate.go.
package aggregation
