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
