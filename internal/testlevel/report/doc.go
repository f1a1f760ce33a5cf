// Command report reads what "go test -json" writes, and says what a person wants to know
// of it: what failed, the seconds of each package, and what was skipped, and for want of
// what. It fails where a test fails, where a package takes longer than a limit, and where
// a test was skipped that the list of skips does not name.
//
//	go test -json ./... | go run ./internal/testlevel/report --skips .ci/skips --limit 60s
//
// Each line of the list names a package, a test and, in the words that follow, what the
// test wants.
package main
