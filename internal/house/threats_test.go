package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateThreats = flag.Bool("update-threats", false, "write docs/generated/threats.md anew")

// TestThreatModel: every claim of the threat model (a list item that begins with its name) has a
// line of tests in testdata/threats.txt. Every such test exists, and every line belongs to a claim.
// docs/generated/threats.md shows both side by side.
func TestThreatModel(t *testing.T) {
	const model, shown, generated = "docs/threat-model.md", "internal/house/testdata/threats.txt",
		"docs/generated/threats.md"
	tests := threatTests(t, shown)
	page, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"# What holds the threat model", "", "Made of " + model + " and " + shown + ": `go test ./internal/house -run TestThreatModel -update-threats`.", "", "| claim | tests |", "|---|---|"}
	claims := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([a-z-]+)` (.+)$").FindAllStringSubmatch(string(page), -1) {
		name, says := m[1], m[2]
		if claims[name] {
			t.Errorf("%s makes the claim %s twice", model, name)
		}
		claims[name] = true
		if len(tests[name]) == 0 {
			t.Errorf("%s claims %s, which no test shows: name one in %s", model, name, shown)
		}
		lines = append(lines, fmt.Sprintf("| `%s` %s | %s |", name, strings.ReplaceAll(says, "](", "](../"), strings.Join(tests[name], ", ")))
	}
	for name := range tests {
		if !claims[name] {
			t.Errorf("%s names tests of %s, which %s does not claim", shown, name, model)
		}
	}
	if len(claims) < 100 {
		t.Errorf("%d claims were found: %s has another form than this test reads", len(claims), model)
	}
	whole := strings.Join(lines, "\n") + "\n"
	if *updateThreats {
		if err := os.WriteFile(generated, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(generated); err != nil || string(have) != whole {
		t.Errorf("%s is not of the threat model (%v): go test ./internal/house -run TestThreatModel -update-threats", generated, err)
	}
}

// threatTests reads which tests show each claim, and holds that they exist.
func threatTests(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]map[string]bool{} // room, test
	of := map[string][]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, tests, _ := strings.Cut(line, ": ")
		if of[name] != nil {
			t.Errorf("%s:%d: %s has a line already", path, i+1, name)
		}
		for _, test := range strings.Fields(tests) {
			slash := strings.LastIndex(test, "/")
			if slash < 0 {
				t.Errorf("%s:%d: %s: write room/Test", path, i+1, test)
				continue
			}
			room := test[:slash]
			if there[room] == nil {
				there[room] = testsIn(t, room)
			}
			if !there[room][test[slash+1:]] {
				t.Errorf("%s:%d names %s, which room %s does not have", path, i+1, test[slash+1:],
					room)
			}
			of[name] = append(of[name], "`"+test+"`")
		}
	}
	return of
}

// testsIn are the names of a room's tests.
func testsIn(t *testing.T, room string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(room), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil &&
				(strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" ||
					strings.HasPrefix(f.Name.Name, "Fuzz")) {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
