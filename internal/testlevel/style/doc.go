// Command style counts where Go files leave the house's rules. It reads file names from standard
// input and prints one line for each rule, "number rule"; with -v it prints each place before.
//
//	git ls-files '*.go' | go run ./internal/testlevel/style -v
package main
