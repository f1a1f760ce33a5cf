// Package testlevel sets the number of cases in long tests: a few, or many with CAUCUS_TEST=long.
// Only tests import it. No test is skipped for its length; it runs fewer cases.
package testlevel
