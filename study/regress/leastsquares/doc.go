// Package leastsquares is about the coefficients of a regress study: it makes them from released
// second moments, with intervals for sampling and noise, and describes them. No party needs it;
// package regress is a party's half.
//
// Read estimate.go (the numbers), result.go (a release's body), then report.go and forecast.go.
package leastsquares
