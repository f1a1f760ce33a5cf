package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTourIsTrue: each file and function in docs/tour.md exists.
func TestTourIsTrue(t *testing.T) {
	page, err := os.ReadFile("docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	stop := regexp.MustCompile(`(?m)^ *((?:\w+/)+\w+\.go) ([\w.]+)`)
	stops := stop.FindAllStringSubmatch(string(page), -1)
	if len(stops) < 40 {
		t.Fatalf("%d stops were read, more are on the page", len(stops))
	}
	for _, s := range stops {
		path, name := s[1], s[2]
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("the tour stops at %s %s: %v", path, name, err)
			continue
		}
		if !declares(file, name) {
			t.Errorf("the tour stops at %s %s, which is not there: mend docs/tour.md", path, name)
		}
	}
}

// designed are the folders of the root that the design names.
var designed = []string{"agent", "coordinator", "protocol", "learners", "aggregation", "privacy",
	"auxdata", "cmd", "deploy"}

// TestRootIsExplained: the root has the folders of the design, and docs/tour.md gives a reason for
// every other entry.
func TestRootIsExplained(t *testing.T) {
	page, err := os.ReadFile("docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "\n## What lies in the root\n")
	section, _, _ := strings.Cut(after, "\n## ")
	explained := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^- .+: .+\.$`).FindAllString(section, -1) {
		for _, m := range regexp.MustCompile("`([^`]+?)/?`[,:]").FindAllStringSubmatch(line, -1) {
			explained[m[1]] = true
		}
	}
	ignored := patternsOf(t, ".gitignore")
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
		is := func(pattern string) bool { ok, _ := path.Match(pattern, e.Name()); return ok }
		if e.Name() == ".git" || slices.ContainsFunc(ignored, is) ||
			slices.Contains(designed, e.Name()) {
			continue
		}
		if !explained[e.Name()] {
			t.Errorf("%s lies in the root: move it into a room, or say in docs/tour.md why it is there",
				e.Name())
		}
	}
	for _, name := range slices.Concat(designed, slices.Sorted(maps.Keys(explained))) {
		if !there[name] {
			t.Errorf("%s is not in the root: mend docs/tour.md", name)
		}
	}
}

// patternsOf are the names of the root that a .gitignore names, with or without slashes.
func patternsOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, line := range strings.Split(string(text), "\n") {
		all = append(all, strings.Trim(line, "/"))
	}
	return all
}

// declares says whether a file has a function, or a method as Type.Method.
func declares(file *ast.File, name string) bool {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := f.Name.Name
		if f.Recv != nil {
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			full = of.(*ast.Ident).Name + "." + full
		}
		if full == name {
			return true
		}
	}
	return false
}
