// Package testlevel decides how much the tests do: a few cases of each long test or, with
// CAUCUS_TEST=long, many. Only tests use it. No test is skipped for its length; it runs fewer cases
// instead.
package testlevel
