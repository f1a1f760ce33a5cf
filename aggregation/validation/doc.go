// Package validation measures how well scores predict a class, from a noisy histogram of score and
// class: the area under the ROC curve, the calibration curve with its slope and intercept, the
// Brier score, and sensitivity, specificity and net benefit at thresholds.
//
// It reads counts of records by bin of the score and class, each with noise of a known variance,
// and the scores of a public pool, which show where scores lie within a bin.
//
//   - Estimates use the raw counts, even those below 0: moving counts to 0 would bias every number.
//   - An interval covers the noise, the sampling of records if asked for, and what the bins hide. A
//     ratio's is Fieller's and a slope's inverts its estimating equation, so both are valid under large
//     noise.
//   - A number that noise drowns is unknown and says why, instead of a wide guess.
//
// Noise is assumed independent over counts, and large sums of it near normal.
package validation
