package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputTakes is the annotation of a flag that names what a command writes; its values
// are the endings that belong to it, none where any does, and asStdout or asFolder.
const outputTakes = "caucus_output_takes"

const (
	// asStdout: the flag takes -, for the one document that the command writes.
	asStdout = "-"
	// asFolder: it names a folder, which the command makes.
	asFolder = "/"
)

// writes says that a flag names what the command writes, and what it takes.
func writes(f *pflag.FlagSet, name string, takes ...string) {
	if err := f.SetAnnotation(name, outputTakes, takes); err != nil {
		panic(err) // there is no such flag
	}
}

// inputFile is the annotation of a flag that names a file which the command reads.
const inputFile = "caucus_input_file"

// reads says that flags name files which the command reads. Folders are not marked: a
// folder notes what is opened in it.
func reads(f *pflag.FlagSet, flags ...string) {
	for _, name := range flags {
		if err := f.SetAnnotation(name, inputFile, nil); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// knownEndings each mean a format to whoever reads the name.
var knownEndings = []string{
	".csv", ".tsv", ".gz", ".zst", ".zip", ".xls", ".xlsx", ".parquet", ".json", ".jsonl", ".yaml", ".yml",
	".html", ".htm", ".svg", ".png", ".jpg", ".jpeg", ".pdf", ".onnx", ".py", ".r", ".sql",
}

// checkEnding refuses a name that says another format than what is written. An ending
// that means none, as .bin, is anybody's to choose.
func checkEnding(flag, name string, takes ...string) error {
	endings := slices.DeleteFunc(slices.Clone(takes), func(t string) bool { return t == asStdout || t == asFolder })
	ending := strings.ToLower(filepath.Ext(name))
	same := func(e string) bool { return strings.EqualFold(e, ending) }
	if len(endings) == 0 || slices.ContainsFunc(endings, same) || !slices.Contains(knownEndings, ending) {
		return nil
	}
	return usagef("--%s %s: what is written is no %s file: give a name that ends in %s", flag, name, ending, strings.Join(endings, " or "))
}

// given is a file's name and who named it: a flag, or "" for an argument.
type given struct{ flag, name string }

// checkOutputs refuses, before anything is done, to write over what the command reads, to
// write two things to one file, a file that has no folder, and a name that says another
// format. It keeps what the flags and arguments name for write.
func (c *console) checkOutputs(cmd *cobra.Command, args []string) error {
	var outputs []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, written := f.Annotations[outputTakes]; written && f.Value.String() != "" {
			outputs = append(outputs, f)
		}
		if _, read := f.Annotations[inputFile]; !read {
			return
		}
		all := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			all = list.GetSlice()
		}
		for _, name := range all {
			if name != "" && name != "-" {
				c.inputs = append(c.inputs, given{f.Name, name})
			}
		}
	})
	// A study or a source is known by its name, and its file may well be called the same.
	if !strings.Contains(cmd.Use, "STUDY") && !strings.Contains(cmd.Use, "NAME") {
		for _, name := range args {
			c.inputs = append(c.inputs, given{name: name})
		}
	}
	for i, o := range outputs {
		name, takes := o.Value.String(), o.Annotations[outputTakes]
		if err := c.checkStdout(o); err != nil {
			return err
		}
		if name == "-" {
			continue
		}
		if err := c.notRead(name); err != nil {
			return err
		}
		for _, other := range outputs[:i] {
			if also := other.Value.String(); where(name) == where(also) || sameFile(name, also) {
				return usagef("--%s and --%s both name %s: give each a file of its own", other.Name, o.Name, name)
			}
		}
		if err := checkEnding(o.Name, name, takes...); err != nil {
			return err
		}
		if err := checkPlace(o.Name, name, slices.Contains(takes, asFolder)); err != nil {
			return err
		}
	}
	return nil
}

// checkStdout refuses - where stdout has the command's answer. Where nothing given means
// stdout already, it is what - means.
func (c *console) checkStdout(f *pflag.Flag) error {
	name := f.Value.String()
	n, open := openNumber(name)
	switch {
	case name == "-" && !slices.Contains(f.Annotations[outputTakes], asStdout):
		return usagef("--%s -: what this command says is on stdout: name a file", f.Name)
	case c.json && f.Changed && (name == "-" || open && n == 1):
		return usagef("--%s %s and --json both want stdout: name a file", f.Name, name)
	case name == "-" && f.DefValue == "":
		return f.Value.Set("")
	}
	return nil
}

// checkPlace refuses a file in a folder that is not there, and a folder for a file.
func checkPlace(flag, name string, folder bool) error {
	at, err := place(name)
	if err != nil {
		return usagef("--%s %s: %w", flag, name, err)
	}
	if _, open := openNumber(at); open {
		return nil
	}
	info, err := os.Stat(at)
	switch {
	case folder && err == nil && !info.IsDir():
		return usagef("--%s %s: it is a file: name a folder", flag, name)
	case folder:
		return nil
	case err == nil && info.IsDir():
		return usagef("--%s %s: it is a folder: name a file", flag, name)
	}
	above := filepath.Dir(at)
	if info, err := os.Stat(above); err != nil || !info.IsDir() {
		return usagef("--%s %s: there is no folder %s", flag, name, above)
	}
	return nil
}

// reads notes a file that the command reads and no flag names.
func (c *console) reads(name string) { c.inputs = append(c.inputs, given{name: name}) }

// owns notes a daemon's folder that the command reads: keys and ledger lie there, and
// nothing for people.
func (c *console) owns(dir string) { c.owned = append(c.owned, dir) }

// notRead refuses a file that the command reads, by whatever name or link, and a file in a
// daemon's folder.
func (c *console) notRead(name string) error {
	for _, dir := range c.owned {
		if in, err := filepath.Rel(where(dir), where(name)); err == nil && filepath.IsLocal(in) {
			return usagef("%s would be written into %s, a daemon's own folder: give a name elsewhere", name, dir)
		}
	}
	for _, in := range c.inputs {
		if !sameFile(in.name, name) {
			continue
		}
		if in.flag == "" {
			return usagef("%s would be written over what this command reads: give another name", name)
		}
		return usagef("%s would be written over what --%s names: give another name", name, in.flag)
	}
	return nil
}

// sameFile says whether two names are of one file. A folder or a device is none.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.Mode().IsRegular() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// place follows links from a name to where its file is, or will be.
func place(name string) (string, error) {
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(name)
		if _, open := openNumber(name); open || err != nil {
			return name, nil // it is no link, or one to what is open
		}
		if !filepath.IsAbs(to) {
			folder, _ := filepath.Split(name) // not cleaned: a folder before .. may be a link
			to = folder + to
		}
		name = to
	}
	return "", errors.New("too many links")
}

// where is the one name that a file has, whether or not it is there yet.
func where(name string) string {
	at, err := place(filepath.Clean(name))
	if err != nil {
		at = name
	}
	if at, err = filepath.Abs(at); err != nil {
		return filepath.Clean(name)
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil {
		return filepath.Join(folder, filepath.Base(at))
	}
	return at
}

// readFolder is a folder that notes each file which is opened in it.
type readFolder struct {
	fs.FS
	c   *console
	dir string
}

// folder opens one whose files the command reads.
func (c *console) folder(dir string) fs.FS { return readFolder{os.DirFS(dir), c, dir} }

func (r readFolder) Open(name string) (fs.File, error) {
	r.c.reads(filepath.Join(r.dir, filepath.FromSlash(name)))
	return r.FS.Open(name)
}

// write writes a file for a person, whole or not at all: see writeWhole. A file that is
// there already is replaced, as by the same command a moment ago, unless the command
// reads it.
func (c *console) write(name string, write func(io.Writer) error) error {
	if err := c.notRead(name); err != nil {
		return err
	}
	if err := c.writeWhole(name, write); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeText writes a file of a text.
func (c *console) writeText(name string, text []byte) error {
	return c.write(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}
