// Command report reads the output of "go test -json" and prints failures, the seconds of each
// package, and skipped tests with the reason. It fails if a test fails, if a package takes longer
// than a limit, or if a skipped test is missing in the list of skips.
//
//	go test -json ./... | go run ./internal/testlevel/report --skips .ci/skips --limit 60s
//
// Each line of the list names a package, a test and the test's need.
package main
