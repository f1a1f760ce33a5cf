// Package regress is a party's half of the study kind regress: sums of products of its records'
// columns and outcome (second moments), from which package leastsquares makes coefficients. No
// party needs that package.
//
// It guarantees that a record moves the sums by no more than a bound that the plan gives, whatever
// the record holds (Moments). Read regress.go (the terms), design.go (a record's row of integers),
// then moments.go (sums and proof).
package regress
