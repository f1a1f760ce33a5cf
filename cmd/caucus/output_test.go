package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/cmd/internal/console"
)

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
		c := &console.Console{}
		err := c.CheckOutputs(cmd, args)
		var usage console.UsageError
		if err != nil && !errors.As(err, &usage) {
			t.Errorf("%s: %v is no usage error", cmd.CommandPath(), err)
		}
		return err
	}
	walk(newRoot(&console.Console{}), func(cmd *cobra.Command) {
		cmd.InheritedFlags() // as Execute merges them
		cmd.Flags().VisitAll(func(out *pflag.Flag) {
			takes, written := out.Annotations[console.OutputAnnotation]
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
			if slices.Contains(takes, console.AcceptsFolder) {
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
			if err := refused(cmd); (err == nil) != slices.Contains(takes, console.AcceptsStdout) {
				t.Errorf("%s --%s -: %v", cmd.CommandPath(), out.Name, err)
			}
			for _, name := range []string{"-", "/dev/stdout"} {
				set(out, name)
				changed := out.Changed
				out.Changed = true
				if err := (&console.Console{JSON: true}).CheckOutputs(cmd, nil); err == nil {
					t.Errorf("%s --%s %s --json is taken", cmd.CommandPath(), out.Name, name)
				}
				out.Changed = changed
			}
			set(out, file)
			if err := refused(cmd); err != nil {
				t.Errorf("%s --%s %s alone: %v", cmd.CommandPath(), out.Name, file, err)
			}
			cmd.Flags().VisitAll(func(in *pflag.Flag) {
				_, read := in.Annotations[console.InputAnnotation]
				_, written := in.Annotations[console.OutputAnnotation]
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

	export := newReleaseExport(&console.Console{})
	export.Flags().Set("out", file)
	if refused(export, link) == nil {
		t.Error("an argument that is a file may be written over")
	}
	result, _, err := newRoot(&console.Console{}).Find([]string{"study", "result"})
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
	walk(newRoot(&console.Console{}), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			path := fmt.Sprintf("%s --%s", cmd.CommandPath(), f.Name)
			_, written := f.Annotations[console.OutputAnnotation]
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
	walk(newRoot(&console.Console{}), func(cmd *cobra.Command) {
		cmd.InheritedFlags() // as Execute merges them
		writes, unknown := false, []string(nil)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, read := f.Annotations[console.InputAnnotation]
			_, written := f.Annotations[console.OutputAnnotation]
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
	otherwise := map[string]string{"writing.go": "write itself", "party.go": "secrets"}
	here, err := filepath.Glob("*.go")
	shared, no := filepath.Glob("../internal/*/*.go")
	if err = errors.Join(err, no); err != nil || len(here) < 50 || len(shared) < 5 {
		t.Fatal(here, shared, err)
	}
	for _, path := range append(here, shared...) {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || otherwise[name] != "" {
			continue
		}
		for _, call := range []string{"os.Create(", "os.WriteFile(", "os.OpenFile("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s): use Console.Write", path, call)
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
