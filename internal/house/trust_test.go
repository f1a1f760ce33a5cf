package house

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWhatASiteTrusts: the README's figures of what a site has to trust are the code's, to three in
// a hundred. A token is what .ci/count counts.
func TestWhatASiteTrusts(t *testing.T) {
	const about = .03
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(\d+) of (\d+) packages, about ([\d,]+) of ([\d,]+) tokens`).
		FindStringSubmatch(string(page))
	if said == nil {
		t.Fatal("the README does not say what a site has to trust")
	}
	var all, reached []string
	reach := reachOf("cmd/caucus-agent")
	for room := range rooms {
		if slices.Contains([]string{"lab", "deploy", "internal/house"}, room) ||
			slices.Contains(forTests, room) {
			continue
		}
		all = append(all, room)
		if reach[room] {
			reached = append(reached, room)
		}
	}
	for i, have := range []int{len(reached), len(all), tokensOf(t, reached), tokensOf(t, all)} {
		want, err := strconv.Atoi(strings.ReplaceAll(said[i+1], ",", ""))
		if err != nil || math.Abs(float64(have-want)) > about*float64(want) {
			t.Errorf("the README says %q of %q: it is %d", said[i+1], said[0], have)
		}
	}
}

// tokensOf counts the tokens of rooms, without tests and generated files.
func tokensOf(t *testing.T, rooms []string) int {
	t.Helper()
	var names []string
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".pb.go") {
				names = append(names, file)
			}
		}
	}
	count := exec.Command("go", "run", "./internal/testlevel/tokens")
	count.Stdin = strings.NewReader(strings.Join(names, "\n"))
	out, err := count.Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
