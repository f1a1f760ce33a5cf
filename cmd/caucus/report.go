package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"caucus/analyst/report"
	"caucus/cmd/internal/console"
	"caucus/study"
)

func writeReportPage(c *console.Console, p report.Page, name string) error {
	if name == "-" {
		return p.Write(c.Out)
	}
	return c.Write(name, p.Write)
}

// reportSimulated writes the page of a simulation's release and accuracy, if --report names a file.
func reportSimulated(c *console.Console, name string, r *study.Release,
	measured *report.Measurement) error {
	if name == "" {
		return nil
	}
	if r == nil {
		return errors.New("--report: this simulation made no release to report")
	}
	page, err := report.New(*r, report.Options{Measured: measured, Software: console.Version()})
	if err != nil {
		return err
	}
	page.Command = commandLine(os.Args)
	if err := writeReportPage(c, page, name); err != nil {
		return err
	}
	c.Note("wrote %s", name)
	return nil
}

// commandLine quotes a process's arguments for a shell and leaves folders out, because the page is
// passed on.
func commandLine(args []string) string {
	words := []string{"caucus"}
	for _, arg := range args[min(1, len(args)):] {
		words = append(words, quoted(withoutFolders(arg)))
	}
	return strings.Join(words, " ")
}

// withoutFolders keeps only the last part of each path in an argument. A path may be the whole
// argument, the part after its first =, an entry of a list, or a word of an entry that is a
// command. A path is absolute, or its folder exists.
func withoutFolders(arg string) string {
	if last, ok := lastName(arg); ok {
		return last
	}
	if name, value, ok := strings.Cut(arg, "="); ok && !strings.ContainsRune(name, ' ') {
		return name + "=" + withoutFolders(value)
	}
	if entries := strings.Split(arg, ","); len(entries) > 1 {
		for i := range entries {
			entries[i] = withoutFolders(entries[i])
		}
		return strings.Join(entries, ",")
	}
	words := strings.Split(arg, " ")
	for i, word := range words {
		if len(words) > 1 {
			words[i] = withoutFolders(word)
		} else if filepath.IsAbs(word) {
			words[i] = filepath.Base(word)
		}
	}
	return strings.Join(words, " ")
}

// lastName returns the last part of a path whose folder exists. Other words stay as they are.
func lastName(path string) (string, bool) {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "", false
	}
	info, err := os.Stat(filepath.Dir(path))
	return filepath.Base(path), err == nil && info.IsDir()
}

// plainWord matches words that need no quotes in a POSIX shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

func quoted(arg string) string {
	if plainWord.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

const reportFlagHelp = "write a page for people here: what came out, the guarantee, who took part (HTML, one file)"
