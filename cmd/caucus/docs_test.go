package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/internal/yamlfile"
	"caucus/study/kinds"
)

// pageCommand is a caucus command on a page.
type pageCommand struct {
	page  string // from the repository's root
	words []string
	block bool // in a code block, not between backticks
	site  bool // of caucus-agent
	// If the flags come from a table, own is the number of words of the command before them.
	own int
}

func (p pageCommand) String() string {
	program := "caucus "
	if p.site {
		program = "caucus-agent "
	}
	return p.page + ": " + program + strings.Join(p.words, " ")
}

// aCommand matches the start of a command on pages and in deployed files.
var aCommand = regexp.MustCompile(`^(?:\$ |#\s+)?(?:sudo -u \S+ |runuser -u \S+ -- |ExecStart=/usr/local/bin/|go run \./cmd/)?caucus(-agent)?( .*)?$`)

// pagesWithCommands are README, the pages of docs, and the files of deploy.
func pagesWithCommands(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "python/README.md", "docs/*.md",
		"docs/generated/*.md", "deploy/*.service", "deploy/examples/*.yaml"} {
		more, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(more) == 0 {
			t.Fatal(pattern, err)
		}
		pages = append(pages, more...)
	}
	return pages
}

// commandsOf returns the commands of a page, from code blocks and from between backticks. Flags
// alone between backticks, as in tables, belong to the command before them.
func commandsOf(t *testing.T, page string) (found []pageCommand) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
	add := func(text string, block bool) {
		m := aCommand.FindStringSubmatch(strings.TrimSpace(text))
		beside := !block && strings.HasPrefix(text, "--") && strings.ContainsAny(text, " =") &&
			len(found) > 0
		if m == nil && !beside {
			return
		}
		c := pageCommand{page: name, block: block}
		if beside {
			last := found[len(found)-1]
			c.words, c.own, c.site = slices.Clone(last.words[:last.own]), last.own, last.site
			m = []string{"", "", text}
		}
		c.site = c.site || m[1] != ""
		words, err := shellWords(m[2])
		if err != nil {
			t.Errorf("%s: %s: %v", name, text, err)
			return
		}
		if c.words = append(c.words, words...); !beside {
			c.own = len(c.words)
		}
		found = append(found, c)
	}
	fenced, prose := !strings.HasSuffix(page, ".md"), regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
			for part := range strings.SplitSeq(line, "&&") {
				if at := strings.Index(part, " #"); at > 0 {
					part = part[:at]
				}
				add(strings.TrimSpace(part), true)
			}
		default:
			for _, m := range prose.FindAllStringSubmatch(line, -1) {
				add(m[1], false)
			}
		}
	}
	return found
}

// shellWords splits a line into words as a shell does, for lines with quotes at most. It drops a
// redirection with >.
func shellWords(line string) (words []string, err error) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' && in:
			words = append(words, word.String())
			word.Reset()
			in = false
		case r != ' ':
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote does not end")
	}
	if at := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, ">")
	}); at >= 0 {
		words = words[:at]
	}
	return words, nil
}

// TestCommandsOfPages checks every caucus command in README, in docs/ and in deploy, in a code
// block or between backticks: the verb exists, takes this number of arguments and these flags, and
// each term that the command sets is a term of the study's kind with a valid value.
func TestCommandsOfPages(t *testing.T) {
	checked := 0
	for _, page := range pagesWithCommands(t) {
		for _, c := range commandsOf(t, page) {
			checked++
			program := newRoot
			if c.site {
				program = siteRoot
			}
			if wrong := wrongIn(program, c.words,
				c.block || len(c.words) > c.own); wrong != "" {
				t.Errorf("%s: %s", c, wrong)
			}
		}
	}
	if checked < 200 {
		t.Errorf("%d commands were found: pages have another form than this test reads", checked)
	}
}

// TestCommandsOfCompose: every command of the compose files, of a service or at the top, is one
// that caucus knows, and every service that the top names is there.
func TestCommandsOfCompose(t *testing.T) {
	for _, name := range []string{"compose.yaml", "replicas.yaml"} {
		text := must(os.ReadFile(filepath.Join("..", "..", "deploy", name)))
		var file struct {
			Services map[string]struct {
				Image   string
				Command []string
			}
		}
		must(0, yaml.Unmarshal(text, &file))
		checked := 0
		check := func(words []string) {
			checked++
			if wrong := wrongCommand(words, true); wrong != "" {
				t.Errorf("%s: %v: %s", name, words, wrong)
			}
		}
		for _, s := range file.Services {
			if s.Image == "caucus" && s.Command != nil {
				check(s.Command)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^#   docker compose -f deploy/(\S+) (?:run --rm|up -d(?: --wait)?) (.*)$`).FindAllStringSubmatch(string(text), -1) {
			words := must(shellWords(m[2]))
			for i, w := range words {
				if _, is := file.Services[w]; !is || m[1] != name {
					t.Errorf("%s: %s: there is no service %s", name, m[0], w)
				}
				if w == "operator" || w == "helper-setup" {
					check(words[i+1:])
					break
				}
			}
		}
		if checked < 7 {
			t.Errorf("%s: %d commands were found", name, checked)
		}
	}
}

// TestCommandsThatAreWrong checks that TestCommandsOfPages finds mistakes.
func TestCommandsThatAreWrong(t *testing.T) {
	for line, says := range map[string]string{
		"predict release.json":                                 "there is no such verb",
		"release predict release.json --release x":             "unknown flag: --release",
		"release predict":                                      "release",
		"release compare a.json b.json":                        "takes one FILE",
		"forecast --parties":                                   "needs an argument",
		"forecast --parties many":                              "many",
		"forecast --draws many":                                "invalid argument",
		"simulate describe --set pairs=[[a,b]]":                "pairs is a term of reweigh studies",
		"simulate describe --set bins=few":                     "bins=few",
		"simulate --dataset adult --set by=sex":                "by is a term of",
		"study create x.yaml --set tild=true":                  "there is no term tild",
		"study create describe classify x.yaml":                "takes a kind of study and a study file",
		"simulate --set tilt=true --set classify.tilt=false":   "says classify.tilt already",
		"release query w.json --pool p.csv --where 'age >= 60": "a quote does not end",
	} {
		words, err := shellWords(line)
		wrong := fmt.Sprint(err)
		if err == nil {
			wrong = wrongCommand(words, true)
		}
		if !strings.Contains(wrong, says) {
			t.Errorf("caucus %s: %q, want %q", line, wrong, says)
		}
	}
}

// TestStudyFilesOfPages: simulate, forecast and study create can read every study file in README
// and docs/.
func TestStudyFilesOfPages(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	read := 0
	for _, page := range pagesWithCommands(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllSubmatch(text, -1) {
			file, err := yamlfile.Parse(page, m[1])
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
				continue
			}
			if file.Find("kind") == nil &&
				(file.Find("name") == nil || file.Find("epsilon") == nil) {
				continue // a daemon's configuration, or a schema
			}
			read++
			if _, err := terms.Read(file, ".", ""); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if read < 6 {
		t.Errorf("%d study files were found: pages have another form than this test reads", read)
	}
}

// TestFirstStudyIsRun: the script firststudy has every file of docs/first-study.md, and every
// command in the same order, apart from names of files, folders, addresses and parties.
func TestFirstStudyIsRun(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", "firststudy.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-study.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```yaml\n# (.*?)\n.*?```").FindAllStringSubmatch(string(page), -1)
	if len(files) != 3 {
		t.Errorf("%d files were found", len(files))
	}
	for _, f := range files {
		text := strings.TrimSuffix(strings.TrimPrefix(f[0], "```yaml\n"), "```")
		if !strings.Contains(string(script), "-- page/"+f[1]+" --\n"+text) {
			t.Errorf("the script has another %s", f[1])
		}
	}
	run := typedIn(t, string(script))
	at, shown := 0, 0
	for _, c := range commandsOf(t, filepath.Join("..", "..", "docs", "first-study.md")) {
		if !c.block && !slices.ContainsFunc(c.words, func(w string) bool {
			return strings.HasPrefix(w, "--")
		}) {
			continue // only the name of a verb
		}
		shown++
		next := slices.IndexFunc(run[at:], func(have []string) bool {
			return standAmong(shapeOf(c.words), have)
		})
		if next < 0 {
			t.Errorf("%s: the script does not run it, or not in this order", c)
			continue
		}
		at += next
	}
	if shown < 20 {
		t.Errorf("%d commands were found", shown)
	}
}

// typedIn returns the shapes of the commands that a script types.
func typedIn(t *testing.T, script string) (run [][]string) {
	typed := regexp.MustCompile(`^(?:exec|eventually) caucus (.*)`)
	for line := range strings.Lines(script) {
		if m := typed.FindStringSubmatch(line); m != nil {
			words, err := shellWords(m[1])
			if err != nil {
				t.Fatal(err)
			}
			run = append(run, shapeOf(words))
		}
	}
	return run
}

// serverScripts type what the pages say about the two servers of a study.
var serverScripts = []string{"aggregators", "serverlost", "coordinatorlost", "telephone"}

// TestServersProceduresAreTyped: each command that docs/aggregators.md has for setting up a helper,
// and each that section 7 of docs/operator.md has, is typed by a script with all its flags, apart
// from names; so is each line that the first page has for a site's policy. Each way out of a loss,
// in bold type there, is named by a comment of such a script.
func TestServersProceduresAreTyped(t *testing.T) {
	var run [][]string
	comments := ""
	for _, name := range serverScripts {
		script := string(must(os.ReadFile(filepath.Join("testdata", "script", name+".txtar"))))
		run = append(run, typedIn(t, script)...)
		for line := range strings.Lines(script) {
			if text, is := strings.CutPrefix(line, "# "); is {
				comments += strings.TrimSpace(text) + " "
			}
		}
	}
	page := func(name, from, to string) string {
		text := string(must(os.ReadFile(filepath.Join("..", "..", "docs", name))))
		_, text, found := strings.Cut(text, from)
		text, _, ends := strings.Cut(text, to)
		if !found || !ends {
			t.Fatalf("docs/%s: nothing lies between %q and %q", name, from, to)
		}
		path := filepath.Join(t.TempDir(), name)
		must(0, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	site := string(must(os.ReadFile(filepath.Join("..", "..", "docs", "aggregators.md"))))
	_, site, _ = strings.Cut(site, "```yaml\n")
	site, _, _ = strings.Cut(site, "```")
	typed := string(must(os.ReadFile(filepath.Join("testdata", "script", "telephone.txtar"))))
	if n := strings.Count(site, "\n"); n != 3 {
		t.Errorf("docs/aggregators.md has %d lines for a site's policy", n)
	}
	for line := range strings.Lines(site) {
		if !strings.Contains(typed, "\n"+line) {
			t.Errorf("docs/aggregators.md: the script telephone does not type %q", line)
		}
	}
	shown := 0
	lost := page("operator.md", "## 7. Run a helper", "## When things go wrong")
	for _, path := range []string{page("aggregators.md", "", "Rehearse with"), lost} {
		for _, c := range commandsOf(t, path) {
			if !c.block && !slices.ContainsFunc(c.words, func(w string) bool {
				return strings.HasPrefix(w, "--")
			}) {
				continue // only the name of a verb
			}
			shown++
			shape := shapeOf(c.words)
			if !slices.ContainsFunc(run, func(have []string) bool {
				return slices.Equal(shape[:2], have[:min(2, len(have))]) && standAmong(shape, have)
			}) {
				t.Errorf("%s: none of the scripts %v types it", c, serverScripts)
			}
		}
	}
	if shown < 18 {
		t.Errorf("%d commands were found", shown)
	}
	_, ways, _ := strings.Cut(string(must(os.ReadFile(lost))), "### When one of the two")
	bold := regexp.MustCompile(`\*\*([^*]+)\*\*`).FindAllStringSubmatch(ways, -1)
	for _, m := range bold {
		way := strings.TrimSuffix(m[1], ".")
		if !strings.Contains(strings.ToLower(comments), strings.ToLower(way)) {
			t.Errorf("no comment of the scripts %v has %q", serverScripts, way)
		}
	}
	if len(bold) < 6 {
		t.Errorf("%d ways out were found", len(bold))
	}
}

// shapeOf returns a command's words without names of files, studies and parties.
func shapeOf(words []string) []string {
	name := regexp.MustCompile(`[./:$&]|^hospital-|^[A-Z]+$|^\w{4}(-\w{4}){4}$`)
	shape := slices.Clone(words)
	for i, w := range shape {
		if name.MatchString(w) && !strings.HasPrefix(w, "--") || i > 0 && shape[i-1] == "--dir" {
			shape[i] = "FILE"
		}
	}
	return shape
}

// standAmong reports whether words occur among others, in the same order.
func standAmong(words, others []string) bool {
	for _, w := range words {
		at := slices.Index(others, w)
		if at < 0 {
			return false
		}
		others = others[at+1:]
	}
	return true
}

// TestVerbsThatMoved: docs/operator.md has the table of moved verbs. Each old name is refused with
// the new one, and the new verb exists.
func TestVerbsThatMoved(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moved {
		if !strings.Contains(string(page), "| `"+m[0]+"` | `"+m[1]+"` |\n") {
			t.Errorf("docs/operator.md does not say that %s is now %s", m[0], m[1])
		}
		if wrong := wrongCommand(strings.Fields(m[1]), false); wrong != "" {
			t.Errorf("%s: %s", m[1], wrong)
		}
		var said strings.Builder
		if code := Main(t.Context(), append(strings.Fields(m[0]), "--dir", "x"), io.Discard,
			&said); code != 2 || !strings.HasSuffix(said.String(), " is now caucus "+m[1]+"\n") {
			t.Errorf("%s: %d %s", m[0], code, said.String())
		}
	}
}

// wrongCommand returns what is wrong with a command line, "" if nothing: an unknown verb or flag,
// wrong arguments of a complete line, or a term that the study does not have.
func wrongCommand(words []string, whole bool) string { return wrongIn(newRoot, words, whole) }

// wrongIn is wrongCommand of a program's commands.
func wrongIn(root func(*console.Console) *cobra.Command, words []string, whole bool) string {
	cmd, rest := root(&console.Console{Out: io.Discard, Err: io.Discard}), words
	cmd.InitDefaultCompletionCmd()
	for len(rest) > 0 {
		at := slices.IndexFunc(cmd.Commands(), func(sub *cobra.Command) bool {
			return sub.Name() == rest[0]
		})
		if at < 0 {
			break
		}
		cmd, rest = cmd.Commands()[at], rest[1:]
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return "there is no such verb"
	}
	if len(rest) == 0 && !whole {
		return "" // only the name of a verb
	}
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil && !cmd.HasSubCommands() &&
		(whole || cmd.Flags().NArg() > 0) {
		return err.Error()
	}
	if cmd.Flags().Lookup("set") == nil {
		return ""
	}
	return wrongTerms(cmd)
}

// wrongTerms returns what is wrong with the study terms on a command line.
func wrongTerms(cmd *cobra.Command) string {
	kind, file, err := kindAndFile(cmd, cmd.Flags().Args())
	if err != nil {
		return err.Error()
	}
	var settings []terms.Setting
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if of, ok := f.Value.(*termFlag); ok && of.given && !placeholder(of.value) {
			settings = append(settings,
				terms.Setting{Name: of.name, Value: of.value,
					AsTyped: "--" + f.Name + " " + of.value})
		}
	})
	set, err := cmd.Flags().GetStringArray("set")
	if err != nil {
		return err.Error()
	}
	ofKinds := []string{kind}
	if kind == "" && file != "" { // the file names the kind
		ofKinds = kinds.Names()
	}
	var wrong error
	for _, kind := range ofKinds {
		of, found := slices.Clone(settings), error(nil)
		for _, s := range set {
			name, value, ok := strings.Cut(s, "=")
			switch {
			case !ok:
				return "--set " + s + ": there is no value"
			case !placeholder(value):
				of = append(of, terms.Setting{Name: name, Value: value, AsTyped: "--set " + s})
			case name != placeholderTerm:
				if kind == "" {
					kind = kinds.Default
				}
				if _, err := terms.Find(kind, name); err != nil {
					found = err
				}
			}
		}
		if found == nil {
			_, found = terms.Read(nil, ".", kind, of...)
		}
		if found == nil {
			return ""
		}
		wrong = found
	}
	return wrong.Error()
}

// placeholderTerm is a term in whose place the reader writes another.
const placeholderTerm = "TERM"

// placeholder says whether a value is one that the reader replaces: NAME, FILE, ….
func placeholder(value string) bool {
	return regexp.MustCompile(`^([A-Z]+|.*…)$`).MatchString(value)
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
