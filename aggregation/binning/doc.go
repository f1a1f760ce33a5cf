// Package binning is about the bins that a score's range is cut into: in which of them a score
// lies, and how many there are. Parties count by them. What counts by bin tell of a score is for
// package aggregation/validation, which no party needs.
package binning
