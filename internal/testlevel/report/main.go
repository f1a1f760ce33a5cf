package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	skips := flag.String("skips", "", "the list of the tests that may be skipped")
	limit := flag.Duration("limit", 0, "how long a package may take, 0 for any time")
	flag.Parse()
	allowed := ""
	if *skips != "" {
		text, err := os.ReadFile(*skips)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		allowed = string(text)
	}
	if err := report(os.Stdin, os.Stdout, allowed, *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// event is one line of "go test -json": see "go doc test2json".
type event struct {
	Action, Package, Test, ImportPath, Output string
	Elapsed                                   float64 // seconds
}

type unit struct{ pkg, test string }

// report prints the results of the tests in r. It returns an error if a requirement is not met.
func report(r io.Reader, w io.Writer, allowed string, limit time.Duration) error {
	var wrong []error
	// the need of each test that may be skipped where its need is missing
	wants := map[unit]string{}
	for line := range strings.Lines(allowed) {
		if words := strings.Fields(line); len(words) > 2 {
			wants[unit{words[0], words[1]}] = strings.Join(words[2:], " ")
		} else if len(words) > 0 {
			wrong = append(wrong, fmt.Errorf("the list of skips: %q: give a package, a test and what it wants", strings.TrimSpace(line)))
		}
	}
	var (
		said    = map[unit]string{} // output of tests that have not ended
		seconds = map[string]float64{}
		ran     = map[unit]bool{}
		skipped = map[string][]string{} // tests, by their need
	)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(w, lines.Text()) // go's own message
			wrong = append(wrong, fmt.Errorf("not a line of go test -json: %s", lines.Text()))
			continue
		}
		at := unit{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			said[at] += e.Output
		case "pass", "skip", "fail":
			if e.Test == "" {
				seconds[e.Package] = e.Elapsed
			}
			if e.Action == "fail" {
				fmt.Fprint(w, said[at])
				wrong = append(wrong, fmt.Errorf("failed: %s %s", e.Package, e.Test))
			}
			if e.Test != "" {
				whole, _, _ := strings.Cut(e.Test, "/")
				ran[unit{e.Package, whole}] = true
				if want := wants[unit{e.Package, whole}]; e.Action == "skip" && want == "" {
					wrong = append(wrong, fmt.Errorf("skipped, and the list of skips does not name the test: %s %s\n%s", e.Package, e.Test, said[at]))
				} else if e.Action == "skip" {
					skipped[want] = append(skipped[want], e.Package+" "+e.Test)
				}
			}
			delete(said, at)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for at := range wants {
		if !ran[at] {
			wrong = append(wrong, fmt.Errorf("the list of skips names %s %s, which did not run: take it from the list", at.pkg, at.test))
		}
	}
	total := 0.
	fmt.Fprintln(w, "\nseconds a package:")
	for _, p := range byValue(seconds) {
		if total += seconds[p]; seconds[p] >= 1 {
			fmt.Fprintf(w, "%7.1f  %s\n", seconds[p], p)
		}
		if limit > 0 && seconds[p] > limit.Seconds() {
			wrong = append(wrong, fmt.Errorf("%s takes %.0f s, the limit is %.0f s: give its long tests fewer cases by default", p, seconds[p], limit.Seconds()))
		}
	}
	fmt.Fprintf(w, "%7.1f  all %d\n", total, len(seconds))
	for want, tests := range skipped {
		slices.Sort(tests)
		fmt.Fprintf(w, "skipped, for want of %s:\n\t%s\n", want, strings.Join(tests, "\n\t"))
	}
	if len(seconds) == 0 {
		wrong = append(wrong, errors.New("no package was tested"))
	}
	return errors.Join(wrong...)
}

// byValue returns the keys of a map, the largest value first.
func byValue(of map[string]float64) []string {
	var keys []string
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if of[a] != of[b] {
			if of[a] > of[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}
