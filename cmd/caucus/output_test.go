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
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestWrite: a file is written completely or keeps its content, place and mode, also through a
// link, and no temporary file stays beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.txt"), filepath.Join(dir, "link.txt")
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	check := func(when, want string, mode os.FileMode) {
		t.Helper()
		have, err := os.ReadFile(file)
		if err != nil || string(have) != want {
			t.Fatalf("%s: have %q, %v; want %q", when, have, err, want)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Fatalf("%s: have %v, %v; want mode %v", when, info.Mode(), err, mode)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) > 2 {
			t.Fatalf("%s: the folder has %v, %v", when, files, err)
		}
	}
	c := &console{}
	if err := c.write(file, says("first")); err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	check("new", "first", made.Mode().Perm())
	if err := errors.Join(os.Chmod(file, 0o600), os.Symlink("a.txt", link)); err != nil {
		t.Fatal(err)
	}
	if err := c.write(link, says("second")); err != nil {
		t.Fatal(err)
	}
	check("through a link", "second", 0o600)
	broken := errors.New("no more")
	err = c.write(file, func(w io.Writer) error { return errors.Join(says("half")(w), broken) })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), file) {
		t.Errorf("a write that fails: have %v", err)
	}
	check("after a write that failed", "second", 0o600)
	if err := c.write(os.DevNull, says("gone")); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the device was replaced: %v, %v", info.Mode(), err)
	}

	group := os.FileMode(0o664) // a umask of 022 would remove a bit
	if err := errors.Join(os.Chmod(file, group), c.write(file, says("for a group"))); err != nil {
		t.Fatal(err)
	}
	check("for a group", "for a group", group)
	gone := filepath.Join(dir, "gone", "a.txt")
	if err := c.write(gone, says("no")); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("in no folder: %v", err)
	}

	c.reads(link)
	var usage usageError
	if err := c.write(file, says("third")); !errors.As(err, &usage) {
		t.Errorf("over what is read: have %v, want a usage error", err)
	}
	check("after it was refused", "for a group", group)
}

// TestStopWhileWriting: a command that is stopped before the end writes no file.
func TestStopWhileWriting(t *testing.T) {
	dir := t.TempDir()
	c, writing, done, left := &console{}, make(chan bool), make(chan bool), make(chan error)
	go func() {
		left <- c.write(filepath.Join(dir, "a.txt"), func(io.Writer) error {
			writing <- true
			<-done
			return nil
		})
	}()
	<-writing
	c.stop() // as endsAtOnce does
	close(done)
	select {
	case err := <-left:
		t.Errorf("it goes on: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	c.writing.Unlock()
	if err := <-left; err == nil {
		t.Error("it was written")
	}
}

// TestFolderNotesWhatIsRead: a command does not overwrite a file that it opened in a folder.
func TestFolderNotesWhatIsRead(t *testing.T) {
	dir := t.TempDir()
	read, other := filepath.Join(dir, "read.csv"), filepath.Join(dir, "other.csv")
	if err := errors.Join(os.WriteFile(read, nil, 0o600),
		os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := &console{}
	file, err := c.folder(dir).Open("read.csv")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := c.writeText(read, nil); err == nil {
		t.Error("what was read was written over")
	}
	if err := c.writeText(other, nil); err != nil {
		t.Error(err)
	}
}

// TestOutputs: for every command, no output overwrites an input, by name or by link; and no output
// takes a name of another format.
func TestOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	const file, link = "there.bin", "link.bin"
	if err := errors.Join(os.WriteFile(file, []byte("mine"), 0o600), os.Symlink(file, link),
		os.Mkdir("folder", 0o700), os.Symlink("missing/file", "dangling")); err != nil {
		t.Fatal(err)
	}
	refused := func(cmd *cobra.Command, args ...string) error {
		c := &console{}
		err := c.checkOutputs(cmd, args)
		var usage usageError
		if err != nil && !errors.As(err, &usage) {
			t.Errorf("%s: %v is no usage error", cmd.CommandPath(), err)
		}
		return err
	}
	walk(newRoot(&console{}), func(cmd *cobra.Command) {
		cmd.InheritedFlags() // as Execute merges them
		cmd.Flags().VisitAll(func(out *pflag.Flag) {
			takes, written := out.Annotations[outputTakes]
			if !written {
				return
			}
			set := func(f *pflag.Flag, text string) {
				if list, ok := f.Value.(pflag.SliceValue); ok {
					if text == "" {
						list.Replace(nil)
					} else {
						list.Replace([]string{text})
					}
					return
				}
				if err := f.Value.Set(text); err != nil {
					t.Fatal(err)
				}
			}
			before := out.Value.String()
			defer set(out, before)
			if slices.Contains(takes, asFolder) {
				set(out, file)
				if refused(cmd) == nil {
					t.Errorf("%s --%s takes a file for a folder", cmd.CommandPath(), out.Name)
				}
				set(out, "folder")
				if dir := cmd.Flags().Lookup("data-dir"); dir != nil {
					was := dir.Value.String()
					defer set(dir, was)
					set(dir, "folder")
				}
				if err := refused(cmd); err != nil {
					t.Errorf("%s --%s folder: %v", cmd.CommandPath(), out.Name, err)
				}
				return
			}
			for _, name := range []string{"folder", "missing/new", "there.bin/new", "dangling",
				strings.Repeat("n", 250)} {
				set(out, name)
				if refused(cmd) == nil {
					t.Errorf("%s --%s %s is taken", cmd.CommandPath(), out.Name, name)
				}
			}
			set(out, "-")
			if err := refused(cmd); (err == nil) != slices.Contains(takes, asStdout) {
				t.Errorf("%s --%s -: %v", cmd.CommandPath(), out.Name, err)
			}
			for _, name := range []string{"-", "/dev/stdout"} {
				set(out, name)
				changed := out.Changed
				out.Changed = true
				if err := (&console{json: true}).checkOutputs(cmd, nil); err == nil {
					t.Errorf("%s --%s %s --json is taken", cmd.CommandPath(), out.Name, name)
				}
				out.Changed = changed
			}
			set(out, file)
			if err := refused(cmd); err != nil {
				t.Errorf("%s --%s %s alone: %v", cmd.CommandPath(), out.Name, file, err)
			}
			cmd.Flags().VisitAll(func(in *pflag.Flag) {
				_, read := in.Annotations[inputFile]
				_, written := in.Annotations[outputTakes]
				if in == out || !strings.HasPrefix(in.Value.Type(), "string") {
					return
				}
				was := in.Value.String()
				for _, name := range []string{file, "./" + file, link} {
					set(in, name)
					if err := refused(cmd); (err != nil) != (read || written) {
						t.Errorf("%s --%s %s --%s %s: %v", cmd.CommandPath(), in.Name, name,
							out.Name, file, err)
					}
				}
				set(in, strings.Trim(was, "[]"))
			})
			for _, ending := range []string{".csv", ".xlsx", ".parquet", ".json", ".YAML", ".html",
				".svg", ".r"} {
				every := !slices.ContainsFunc(takes, func(t string) bool {
					return strings.HasPrefix(t, ".")
				})
				own := every || slices.Contains(takes, strings.ToLower(ending))
				set(out, "new"+ending)
				if err := refused(cmd); (err == nil) != own {
					t.Errorf("%s --%s new%s: %v", cmd.CommandPath(), out.Name, ending, err)
				}
			}
		})
	})

	export := newReleaseExport(&console{})
	export.Flags().Set("out", file)
	if refused(export, link) == nil {
		t.Error("an argument that is a file may be written over")
	}
	result, _, err := newRoot(&console{}).Find([]string{"study", "result"})
	if err != nil {
		t.Fatal(err)
	}
	result.Flags().Set("out", file)
	if err := refused(result, file); err != nil {
		t.Errorf("a study called as its file: %v", err)
	}
}

// TestOutputsAreKnown: each flag whose help text names a file to write is marked as an output, or
// has a rule of its own that overwrites nothing.
func TestOutputsAreKnown(t *testing.T) {
	ownRule := []string{"caucus coordinator operator --out"}
	found, verb := 0, regexp.MustCompile(`\bwrite\b`)
	walk(newRoot(&console{}), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			path := fmt.Sprintf("%s --%s", cmd.CommandPath(), f.Name)
			_, written := f.Annotations[outputTakes]
			if written {
				found++
			}
			names := f.Value.Type() == "string" && (f.Name == "out" || verb.MatchString(f.Usage))
			if names && !written && !slices.Contains(ownRule, path) {
				t.Errorf("%s (%s) is not checked: call writes", path, f.Usage)
			}
		})
	})
	if found < 20 {
		t.Errorf("%d outputs were found", found)
	}
}

// TestInputsAreKnown: in a command that writes a file, each flag with a text is an input, an
// output, or no file.
func TestInputsAreKnown(t *testing.T) {
	noFile := strings.Fields(`address as authority classes coordinator data-dir dataset decimal delimiter dir encoding helper id key label mechanism
		name part party prefix query role set sheet tag sweep table to unit where`)
	walk(newRoot(&console{}), func(cmd *cobra.Command) {
		cmd.InheritedFlags() // as Execute merges them
		writes, unknown := false, []string(nil)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, read := f.Annotations[inputFile]
			_, written := f.Annotations[outputTakes]
			writes = writes || written
			if strings.HasPrefix(f.Value.Type(), "string") && !read && !written &&
				!slices.Contains(noFile, f.Name) {
				unknown = append(unknown, f.Name)
			}
		})
		if writes && len(unknown) > 0 {
			t.Errorf("%s: %v are not known: call reads for those that name files", cmd.CommandPath(), unknown)
		}
	})
}

// TestOneWayOut: the command line makes files for people with write alone. Secrets, which are new
// files, have another way.
func TestOneWayOut(t *testing.T) {
	otherwise := map[string]string{"output.go": "write itself", "party.go": "secrets"}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 50 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || otherwise[name] != "" {
			continue
		}
		for _, call := range []string{"os.Create(", "os.WriteFile(", "os.OpenFile("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s): use console.write", name, call)
			}
		}
	}
}

func walk(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		walk(c, do)
	}
}

// full is a writer without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestPrintFails: a failed print is an error, even if no line checked for one.
func TestPrintFails(t *testing.T) {
	c := &console{out: full{}}
	text := func(w io.Writer) { fmt.Fprintln(w, "one"); fmt.Fprintln(w, "two") }
	if err := c.print(nil, text); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("have %v", err)
	}
}
