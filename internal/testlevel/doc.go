// Package testlevel says how much a run of the tests does: a few cases of each long
// test, or, with CAUCUS_TEST=long, many. It is for tests alone. No test is left out of
// a run for its length: it has fewer cases there.
package testlevel
