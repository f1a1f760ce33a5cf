package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/internal/yamlfile"
	"caucus/study/kinds"
)

// termFlags read a study from a command line: [KIND] [STUDY.yaml], --set for every term, flags for
// common terms.
type termFlags struct {
	flags []*termFlag
	set   []string
}

type termFlag struct {
	name, value, kind string
	given             bool
}

func (t *termFlag) String() string     { return t.value }
func (t *termFlag) Type() string       { return t.kind }
func (t *termFlag) Set(v string) error { t.value, t.given = v, true; return nil }

// add declares a flag for each named term. A flag has the term's name, with dashes, and its help
// text.
func (t *termFlags) add(cmd *cobra.Command, names ...string) {
	f := cmd.Flags()
	for _, name := range names {
		of := offered(name)
		flag := &termFlag{name: name,
			kind: strings.ReplaceAll(strings.Fields(of.Type)[0], "whole", "number")}
		help := of.Help
		for part := range strings.SplitSeq(of.Help, "; ") {
			// the help of this verb alone
			if own, is := strings.CutPrefix(part, cmd.Name()+": "); is {
				help = own
			}
		}
		if of.Default != "" {
			help += " (default " + of.Default + ")"
		}
		t.flags = append(t.flags, flag)
		f.Var(flag, strings.ReplaceAll(name, "_", "-"), help)
		if of.Type == "true or false" {
			f.Lookup(strings.ReplaceAll(name, "_", "-")).NoOptDefVal = "true"
		}
		if of.IsFile() {
			console.MarkInputs(f, strings.ReplaceAll(name, "_", "-"))
		}
	}
	f.StringArrayVar(&t.set, "set", nil, "TERM=VALUE: any term of the study, as in a study file; docs/reference.md lists them; may be repeated")
	if err := cmd.RegisterFlagCompletionFunc("set", completeTerm); err != nil {
		panic(err) // a bug: the flag was just made
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		return append(kinds.Names(), "yaml", "yml"), cobra.ShellCompDirectiveDefault
	}
	cmd.Args = cobra.ArbitraryArgs
}

// offered returns a flag's term from the first kind that has it, without a default if kinds differ
// in the default.
func offered(name string) (found terms.Term) {
	for _, kind := range slices.Concat([]string{kinds.Default}, kinds.Names()) {
		t, err := terms.Find(kind, name)
		switch {
		case err != nil:
		case found.Key == "":
			found = t
		case found.Default != t.Default:
			found.Default = ""
		}
	}
	if found.Key == "" {
		panic("no kind has the term " + name)
	}
	return found
}

// asTerm adds advice to an error about an unknown flag, which may be a term or almost the name of a
// flag.
func asTerm(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	if cmd.Flags().Lookup("set") == nil {
		return nearestFlag(cmd, unknown)
	}
	name := strings.ReplaceAll(unknown.GetSpecifiedName(), "-", "_")
	if t, err := terms.Find(kindTyped(cmd.Flags().Args()), name); err == nil {
		return fmt.Sprintf(": it is a term of the study, write --set %s=…", t.Name())
	}
	if now := flagsThatMoved[cmd.Name()][unknown.GetSpecifiedName()]; now != "" {
		return ": it is now " + now
	}
	for _, kind := range kinds.Names() {
		if t, err := terms.Find(kind, name); err == nil {
			return fmt.Sprintf(": it is a term of %s studies, write --set %s=…", kind, t.Name())
		}
	}
	return nearestFlag(cmd, unknown)
}

func nearestFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if nearest := yamlfile.Nearest(unknown.GetSpecifiedName(), names, 2); nearest != "" {
		return " (do you mean --" + nearest + "?)"
	}
	return ""
}

func kindTyped(args []string) string {
	for _, a := range args {
		if _, err := kinds.FindKind(a); err == nil {
			return a
		}
	}
	return kinds.Default
}

// completeTerm completes terms of the typed kind.
func completeTerm(_ *cobra.Command, args []string, _ string) (keys []string,
	how cobra.ShellCompDirective) {
	all, err := terms.Of(kindTyped(args))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, t := range all {
		keys = append(keys, t.Key+"=\t"+t.Help)
	}
	return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// read makes the study from a command line, and records the input files that the study names.
func (t *termFlags) read(c *console.Console, cmd *cobra.Command, args []string) (terms.Study,
	error) {
	kind, path, err := kindAndFile(cmd, args)
	if err != nil {
		return terms.Study{}, err
	}
	var file *yamlfile.Document
	if path != "" {
		c.AddInput(path)
		if file, err = yamlfile.Read(path); err != nil {
			return terms.Study{}, fmt.Errorf("read study file: %w", input.PrefixFileName(path, err))
		}
	}
	settings, err := t.settings()
	if err != nil {
		return terms.Study{}, err
	}
	s, err := terms.Read(file, filepath.Dir(path), kind, settings...)
	var wrong terms.SettingError
	switch {
	case errors.As(err, &wrong):
		return s, console.Usagef("%w", err)
	case err != nil && path == "":
		return s, refused(cmd, err)
	case err != nil:
		return s, refused(cmd, fmt.Errorf("read study file: %w", err))
	}
	for _, replaced := range s.OverrideNotes {
		c.Note("note: %s", replaced)
	}
	for _, name := range s.InputFiles {
		c.AddInput(name)
	}
	return s, c.CheckOutputs(cmd, nil)
}

func kindAndFile(cmd *cobra.Command, args []string) (kind, path string, err error) {
	for _, a := range args {
		_, unknown := kinds.FindKind(a)
		switch {
		case unknown == nil && kind == "":
			kind = a
		case unknown != nil && path == "":
			path = a
		default:
			return "", "", console.Usagef("%s takes a kind of study and a study file, one of each at most; see %[1]s --help", cmd.CommandPath())
		}
	}
	if path != "" && !strings.ContainsAny(path, "./") && !fileThere(path) {
		meant := ""
		if nearest := yamlfile.Nearest(path, kinds.Names(), 2); nearest != "" {
			meant = "; do you mean " + nearest + "?"
		}
		return "", "", console.Usagef("there is no file %s, and no kind of study is called so: the kinds are %s%s", path, strings.Join(kinds.Names(), ", "), meant)
	}
	return kind, path, nil
}

// settings returns the settings from flags and then those from --set.
func (t *termFlags) settings() (all []terms.Setting, err error) {
	for _, f := range t.flags {
		if f.given {
			all = append(all, terms.Setting{Name: f.name, Value: f.value,
				AsTyped: "--" + strings.ReplaceAll(f.name, "_", "-") + " " + f.value})
		}
	}
	for _, s := range t.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, console.Usagef("--set %s: write TERM=VALUE, such as --set epsilon=0.5", s)
		}
		all = append(all, terms.Setting{Name: strings.TrimSpace(name), Value: value,
			AsTyped: "--set " + s})
	}
	return all, nil
}

func fileThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
