package house

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"caucus/internal/testlevel"
)

// mutant is a mistake in the code itself: in a file of a room, one piece of text
// becomes another, and a test of that room must find it.
type mutant struct {
	name, room, file, old, new string
	in                         string // the room whose tests find it, where that is another
	more                       string // at the end of the file
	found                      string // by these tests, as for go test -run
}

const listOfMutants = "internal/house/testdata/mutants.txt"

// readMutants reads the list of mutants, whose head says its form.
func readMutants(t *testing.T, list string) (all []mutant) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range strings.Split(string(text), "\n\n== ")[1:] {
		lines := strings.Split(strings.TrimSuffix(entry, "\n"), "\n")
		m := mutant{name: lines[0]}
		at := strings.Fields(strings.Join(lines[1:2], ""))
		if len(at) < 2 || len(at) > 3 {
			t.Fatalf("%s: %s: write FILE [ROOM] TESTS below the name", list, m.name)
		}
		m.room, m.file, m.found = path.Dir(at[0]), path.Base(at[0]), at[len(at)-1]
		if len(at) == 3 {
			m.in = at[1]
		}
		text := map[byte][]string{}
		for _, line := range lines[2:] {
			if line == "" || !strings.Contains("-+>", line[:1]) {
				t.Fatalf("%s: %s: %q begins with none of - + >", list, m.name, line)
			}
			text[line[0]] = append(text[line[0]], line[1:])
		}
		m.old, m.new = strings.Join(text['-'], "\n"), strings.Join(text['+'], "\n")
		if more := text['>']; more != nil {
			m.more = "\n" + strings.Join(more, "\n") + "\n"
		}
		all = append(all, m)
	}
	return all
}

// TestMutantsFit: the text that a mutant replaces occurs exactly once in the code. Whoever changes
// that code must adapt the mutant.
func TestMutantsFit(t *testing.T) {
	for _, m := range readMutants(t, listOfMutants) {
		source, err := os.ReadFile(filepath.Join(m.room, m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := len(m.places(string(source))); n != 1 {
			t.Errorf("%s: %s/%s has its text %d times, not once: make the mistake anew in the code "+
				"as it is now\n%s", m.name, m.room, m.file, n, m.old)
		}
	}
}

// space is what places takes for the same, however long.
var space = regexp.MustCompile(`\s+`)

// places returns the offsets, first and last, at which a mutant's text is in a file. A line that is
// broken elsewhere changes nothing.
func (m mutant) places(source string) [][]int {
	words := space.Split(m.old, -1)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	pattern := strings.Join(words, `\s+`)
	if strings.HasPrefix(m.old, "\t") { // and not what ends the line before
		pattern = `\t+` + strings.TrimPrefix(pattern, `\s+`)
	}
	return regexp.MustCompile(pattern).FindAllStringIndex(source, -1)
}

// TestMutants: each mutant is found by the tests that it names, and they pass
// without it. It builds the rooms' tests with all mutants in them, asleep, and wakes one
// at a time.
func TestMutants(t *testing.T) {
	mutants := readMutants(t, listOfMutants)
	some := mutants[:testlevel.N(t, 1, len(mutants))]
	built := build(t, mutants, some)
	honest := map[string]bool{}
	for i, m := range some {
		t.Run(m.name, func(t *testing.T) {
			if unit := m.tests() + " " + m.found; !honest[unit] {
				honest[unit] = true
				if out, err := m.run(t, built, asleep); err != nil ||
					strings.Contains(out, "no tests to run") {
					t.Fatalf("without the mutant: %v\n%s", err, out)
				}
			}
			out, err := m.run(t, built, i+1)
			if err == nil {
				t.Fatalf("it lives: %s do not find it", m.found)
			}
			said := ""
			for _, line := range strings.Split(out, "\n") {
				if strings.Contains(line, "_test.go:") {
					said = strings.TrimSpace(line)
				}
			}
			t.Log(said)
		})
	}
}

// tests is the room whose tests find the mutant.
func (m mutant) tests() string { return cmp.Or(m.in, m.room) }

// run runs the tests that find a mutant, with one awake.
func (m mutant) run(t *testing.T, built string, awake int) (string, error) {
	t.Helper()
	binary := filepath.Join(built, strings.ReplaceAll(m.tests(), "/", "."))
	c := exec.CommandContext(t.Context(), binary, "-test.run", "^("+m.found+")", "-test.timeout",
		"10m")
	c.Dir, c.Env = m.tests(), append(os.Environ(), fmt.Sprintf("%s=%d", wakes, awake))
	out, err := c.CombinedOutput()
	return string(out), err
}

const (
	wakes  = "CAUCUS_MUTANT" // the number of the mutant that is awake, from 1
	asleep = 0
)

// build compiles the tests of the rooms that find some mutants, with all mutants in them,
// and says in which folder they lie, each by its room's name with dots.
func build(t *testing.T, mutants, some []mutant) string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{} // path in the module: file with the mutants
	write := func(path, text string) {
		real, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if replaced[real] != "" {
			return
		}
		replaced[real] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(replaced[real], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := map[string][]int{}
	for i, m := range mutants {
		path := filepath.Join(m.room, m.file)
		of[path] = append(of[path], i)
	}
	for path, which := range of {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, name := withMutants(t, mutants, path, string(source), which)
		write(path, text)
		write(filepath.Join(filepath.Dir(path), "mutant_awake.go"), fmt.Sprintf(
			"package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar mutantAwake, _ = strconv.Atoi(os.Getenv(%q))\n", name, wakes))
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for _, m := range some {
		rooms = append(rooms, m.tests())
	}
	slices.Sort(rooms)
	for _, room := range slices.Compact(rooms) { // one by one: two rooms' folders may have one name
		binary := filepath.Join(dir, strings.ReplaceAll(room, "/", "."))
		if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay",
			overlay, "-o", binary, "./"+room).CombinedOutput(); err != nil {
			t.Fatalf("a mutant does not compile:\n%s", out)
		}
	}
	return dir
}

// withMutants returns a file with mutants, and its package's name. For each mutant the file has a
// copy of one function with the mistake in it, which is called while the mutant is switched on.
func withMutants(t *testing.T, mutants []mutant, path, source string, which []int) (text,
	name string) {
	t.Helper()
	honest := parsed(t, path, source)
	edits := map[int]edit{} // of the honest text, by offset
	copies := ""
	for _, i := range which {
		m := mutants[i]
		at := m.places(source)[0]
		f := enclosing(honest, at[0])
		if f == nil {
			t.Fatalf("%s: what it changes is not in a function", m.name)
		}
		changed := source[:at[0]] + m.new + source[at[1]:]
		wrong := sameFunction(parsed(t, path, changed), f)
		if wrong == nil {
			t.Fatalf("%s: it may not rename its function", m.name)
		}
		called := fmt.Sprintf("%sMutant%d", f.Name.Name, i+1)
		copies += "\n//line " + m.name + ":1\n" + changed[wrong.Pos()-1:wrong.Name.Pos()-1] +
			called + changed[wrong.Name.End()-1:wrong.End()-1] + "\n" + m.more
		wake := edits[int(f.Body.Lbrace)]
		wake.text += fmt.Sprintf("\n\tif mutantAwake == %d {\n\t\t%s\n\t}\n", i+1,
			call(f, called, edits))
		edits[int(f.Body.Lbrace)] = wake
	}
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(edits))) {
		source = source[:at] + edits[at].text + source[at+edits[at].drop:]
	}
	return source + copies, honest.Name.Name
}

// edit replaces a number of bytes by a text.
type edit struct {
	drop int
	text string
}

// call writes a function's call of its copy, and names what has no name in its head.
func call(f *ast.FuncDecl, called string, edits map[int]edit) string {
	named := func(p *ast.Field, as string) (names []string) {
		for _, n := range p.Names {
			if n.Name == "_" {
				n = &ast.Ident{NamePos: n.NamePos, Name: fmt.Sprintf("%s%d", as, n.NamePos)}
				edits[int(n.NamePos)-1] = edit{1, n.Name}
			}
			names = append(names, n.Name)
		}
		if len(names) == 0 {
			names = []string{fmt.Sprintf("%s%d", as, p.Pos())}
			edits[int(p.Type.Pos())-1] = edit{0, names[0] + " "}
		}
		return names
	}
	var arguments []string
	for _, p := range f.Type.Params.List {
		arguments = append(arguments, named(p, "p")...)
		if _, several := p.Type.(*ast.Ellipsis); several {
			arguments[len(arguments)-1] += "..."
		}
	}
	if f.Recv != nil {
		called = named(f.Recv.List[0], "r")[0] + "." + called
	}
	called += "(" + strings.Join(arguments, ", ") + ")"
	if f.Type.Results == nil {
		return called + "\n\t\treturn"
	}
	return "return " + called
}

func parsed(t *testing.T, path, source string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// enclosing is the function that a place of a file is in, or nil. Positions of a file that
// was parsed alone are its offsets, from 1.
func enclosing(file *ast.File, offset int) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && int(f.Pos()) <= offset+1 && offset+1 < int(f.End()) {
			return f
		}
	}
	return nil
}

// sameFunction is a function in another version of its file, or nil.
func sameFunction(file *ast.File, f *ast.FuncDecl) *ast.FuncDecl {
	for _, d := range file.Decls {
		if g, ok := d.(*ast.FuncDecl); ok && g.Name.Name == f.Name.Name &&
			receiver(g) == receiver(f) {
			return g
		}
	}
	return nil
}

// receiver is the name of the type of a method's receiver.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	x := f.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return ""
		}
	}
}
