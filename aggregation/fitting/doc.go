// Package fitting computes models, pool weights and estimates from released sums. No party needs
// it.
//
//   - Every function takes released numbers and the known law of their noise. This is
//     post-processing, at no privacy cost.
//   - Designs and their sums are those of package aggregation, which explains the words.
//   - A generator for an estimator's draws (fresh public noise) is an argument.
//
// # Words
//
//	law    the distribution of a noise or an error
//	drift  the difference of the records' mean and the pool's, beyond noise and sampling
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. Solving: noise.go, simplex.go, perturbed.go (the search for λ).
//  2. Released sums and their fits: votes.go, moment.go, means.go, cross.go, calibrate.go
//     (probabilities), estimate.go (a ratio and its intervals).
//  3. Pool weights: weights.go, features.go, diagnose.go; queries: answer.go.
//  4. More fits: crossfit.go, onestep.go (removes the ridge), expect.go; for noisy labels
//     labels.go, labelcalibrate.go.
package fitting
