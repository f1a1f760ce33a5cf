// Command tokens counts what must be understood of Go files: their tokens, comments and automatic
// semicolons apart. It reads file names from standard input, and prints one number.
//
//	git ls-files '*.go' | go run ./internal/testlevel/tokens
package main
