package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsOfPages: every caucus command that README or a page of docs/ has in a block
// of code or between backticks is there, with the flags that stand behind it.
func TestCommandsOfPages(t *testing.T) {
	pages := []string{filepath.Join("..", "..", "README.md")}
	for _, pattern := range []string{"*.md", filepath.Join("generated", "*.md")} {
		more, err := filepath.Glob(filepath.Join("..", "..", "docs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	block := regexp.MustCompile("(?s)```.*?```")
	inline := regexp.MustCompile("`([^`\n]+)`")
	command := regexp.MustCompile(`^(?:\$ |sudo -u \S+ |go run \./cmd/)?caucus( .*)?$`)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, b := range block.FindAllString(string(text), -1) {
			for _, l := range strings.Split(strings.ReplaceAll(b, "\\\n", " "), "\n") {
				l, _, _ = strings.Cut(l, " #")
				lines = append(lines, strings.Split(l, "&&")...)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(block.ReplaceAllString(string(text), ""), -1) {
			lines = append(lines, m[1])
		}
		for _, l := range lines {
			m := command.FindStringSubmatch(strings.TrimSpace(l))
			if m == nil {
				continue
			}
			checked++
			if wrong := wrongCommand(strings.Fields(m[1])); wrong != "" {
				t.Errorf("%s: %s: %s", page, strings.TrimSpace(l), wrong)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d commands were found: pages have another form than this test reads", checked)
	}
}

// TestVerbsThatMoved: docs/operator.md has the table of moved verbs, each old name is refused
// with the new one, and the new one is there.
func TestVerbsThatMoved(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moved {
		if !strings.Contains(string(page), "| `"+m[0]+"` | `"+m[1]+"` |\n") {
			t.Errorf("docs/operator.md does not say that %s is now %s", m[0], m[1])
		}
		if wrong := wrongCommand(strings.Fields(m[1])); wrong != "" {
			t.Errorf("%s: %s", m[1], wrong)
		}
		var said strings.Builder
		if code := Main(t.Context(), append(strings.Fields(m[0]), "--dir", "x"), io.Discard, &said); code != 2 || !strings.HasSuffix(said.String(), " is now caucus "+m[1]+"\n") {
			t.Errorf("%s: %d %s", m[0], code, said.String())
		}
	}
}

// wrongCommand says what of a command line there is not: its verb, or a flag; "" where
// all is.
func wrongCommand(words []string) string {
	cmd, rest := newRoot(&console{out: io.Discard, err: io.Discard}), words
	cmd.InitDefaultCompletionCmd()
	for len(rest) > 0 {
		at := slices.IndexFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == rest[0] })
		if at < 0 {
			break
		}
		cmd, rest = cmd.Commands()[at], rest[1:]
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return "there is no such verb"
	}
	for _, w := range rest {
		w = strings.Trim(w, "[]")
		if !strings.HasPrefix(w, "--") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if cmd.Flag(name) == nil && name != "version" {
			return "there is no flag --" + name
		}
	}
	return ""
}
