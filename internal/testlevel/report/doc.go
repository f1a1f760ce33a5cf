// Command report reads the output of "go test -json" and prints what failed, the seconds of each
// package, and which tests were skipped for want of what. It fails if a test fails, if a package
// takes longer than a limit, and if a test was skipped that the list of skips does not name.
//
//	go test -json ./... | go run ./internal/testlevel/report --skips .ci/skips --limit 60s
//
// Each line of the list names a package, a test and then what the test wants.
package main
