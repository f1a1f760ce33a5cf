// Package validation is about how well scores foretell a class, read off a noisy
// histogram of score and class: the area under the ROC curve, the calibration curve with
// its slope and intercept, the Brier score, and what a threshold gives.
//
// It is for whoever has the counts of records by bin of the score and class, each with
// noise of a known variance, and the scores of a public pool, which tell where in a bin
// scores lie. It guarantees that
//
//   - estimates start from the counts as they are, some of them below 0: counts moved to
//     0 first would bias every number;
//   - an interval holds the noise, if asked for the sampling of records, and what the
//     bins hide. A ratio's is Fieller's, a slope's inverts its estimating equation, so
//     that both are honest where the noise is large;
//   - a number that noise drowns is unknown and says why, instead of a wide guess.
//
// Noise is taken to be independent over counts, and large sums of it to be near normal.
package validation
