// Package lifetable is about the curves of a survival study: it makes them from released counts,
// with intervals for sampling and noise, and describes them. No party needs it; package survival is
// a party's half.
//
// Curves are life tables (Cutler & Ederer 1958), not Kaplan-Meier curves of the intervals: who is
// last seen inside an interval counts as half at risk there. Counted as at risk to the end, they
// bias a curve of few intervals by more than its standard error.
package lifetable
