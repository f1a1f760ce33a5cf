// Package validation measures how well scores predict a class, from a noisy histogram of score and
// class: the area under the ROC curve, the calibration curve with its slope and intercept, the
// Brier score, and sensitivity, specificity and net benefit at thresholds.
//
// Its input is the count of records by score bin and class, with noise of known variance, and the
// scores of a public pool, which show where scores lie within a bin.
//
//   - Estimates use the raw counts, even those below 0. Moving these to 0 would bias every number.
//   - An interval covers the noise, the sampling of records if asked for, and the uncertainty
//     within bins. A ratio's interval is Fieller's and a slope's inverts its estimating equation,
//     so both are valid under large noise.
//   - A number that noise drowns is unknown, with the reason.
//
// Noise is assumed independent over counts, and large sums of it near normal.
package validation
