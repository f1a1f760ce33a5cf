// Judge reads what go test -json writes and says how the tests went: the seconds of each
// package, the output of each test that failed, and each test that was skipped. It exits
// with 1 where a test failed, where a package took longer than -most, and where a test was
// skipped that the file -skips does not name.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

func (e event) unit() string { return strings.TrimSpace(e.Package + " " + e.Test) }

func main() {
	most := flag.Duration("most", time.Hour, "how long a package may take")
	skips := flag.String("skips", ".ci/skips", "file of tests that may be skipped, a line each: PACKAGE TEST")
	flag.Parse()
	listed, err := os.ReadFile(*skips)
	if err != nil {
		fail(err)
	}
	output, bad := map[string]string{}, false
	var packages, failed, skipped []event
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // a word of the tool's own
			os.Stdout.Write(line)
			continue
		}
		switch e.Action {
		case "output", "build-output":
			output[e.unit()] += e.Output
		case "pass", "fail", "skip":
			switch {
			case e.Action == "fail":
				failed = append(failed, e)
			case e.Action == "skip" && e.Test != "":
				skipped = append(skipped, e)
			}
			if e.Test == "" {
				packages = append(packages, e)
			}
		case "build-fail":
			failed = append(failed, e)
		}
	}
	slices.SortFunc(packages, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	total := 0.
	for _, e := range packages {
		if total += e.Elapsed; e.Elapsed >= 1 {
			fmt.Printf("%7.1f s  %s\n", e.Elapsed, e.Package)
		}
		if e.Elapsed > most.Seconds() {
			fmt.Printf("%s takes longer than %v\n", e.Package, *most)
			bad = true
		}
	}
	fmt.Printf("%7.1f s  all %d packages together\n", total, len(packages))
	for _, e := range failed {
		fmt.Printf("FAILED %s\n%s", e.unit(), tail(output[e.unit()], 100))
	}
	why := map[string]bool{}
	for _, e := range skipped {
		name, _, _ := strings.Cut(e.Test, "/")
		line := e.Package + " " + name
		known := slices.Contains(strings.Split(string(listed), "\n"), line)
		why[line+": "+reason(output[e.unit()])+map[bool]string{true: "", false: " (and .ci/skips does not name it)"}[known]] = true
		bad = bad || !known
	}
	for _, line := range slices.Sorted(maps.Keys(why)) {
		fmt.Println("skipped:", line)
	}
	if bad || len(failed) > 0 || len(packages) == 0 {
		os.Exit(1)
	}
}

// reason is what a test said last, when it was skipped.
func reason(output string) string {
	why := "no reason given"
	for line := range strings.Lines(output) {
		if _, said, ok := strings.Cut(line, "_test.go:"); ok {
			_, why, _ = strings.Cut(strings.TrimSpace(said), ": ")
		}
	}
	return why
}

// tail is the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
