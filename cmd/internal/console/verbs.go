package console

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewRoot makes a program's first command, with what all programs share: --json, --version, checks
// of the files that a command is to write, and errors about flags.
func (c *Console) NewRoot(name, short string, verbs ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		Short:         short,
		SilenceErrors: true, SilenceUsage: true,
		Args:              NoArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: c.CheckOutputs,
		Version:           Version(),
	}
	root.PersistentFlags().BoolVar(&c.JSON, "json", false,
		"write exactly one JSON document to stdout")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return FlagError(cmd, err, "")
	})
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.AddCommand(verbs...)
	return root
}

// Group makes a verb that does nothing but group other verbs.
func Group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Usagef("say which: %s; see %s --help", names(verbs), cmd.CommandPath())
		},
	}
	g.AddCommand(verbs...)
	return g
}

func names(verbs []*cobra.Command) string {
	s := ""
	for i, v := range verbs {
		if i > 0 {
			s += ", "
		}
		s += v.Name()
	}
	return s
}

// NoArguments refuses arguments and suggests verbs.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // as cobra has it, which sets it only after this call
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		return Usagef("%s has no verb %q; did you mean %s? See %s --help", cmd.CommandPath(), args[0], strings.Join(meant, " or "), cmd.CommandPath())
	}
	return Usagef("%s takes no argument %q; see %s --help", cmd.CommandPath(), args[0],
		cmd.CommandPath())
}

// OneArgument checks that a verb has exactly one argument, which what names.
func OneArgument(verb, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usagef("%s takes one %s, and %d were given: %s; see caucus %[1]s --help", verb, what, len(args), strings.Join(args, ", "))
		}
		if len(args) == 0 {
			return Usagef("%s needs one %s; see caucus %s --help", verb, what, verb)
		}
		return nil
	}
}

// EnvironmentFlag adds a flag whose default is an environment variable. Help shows the variable's
// name only.
func EnvironmentFlag(f *pflag.FlagSet, v *string, name, variable, usage string) {
	f.StringVar(v, name, os.Getenv(variable), usage+" (default $"+variable+")")
	f.Lookup(name).DefValue = ""
}

// FlagError returns a usage error of the flag library's error, in plain English. hint, which may
// be empty, says what else to give.
func FlagError(cmd *cobra.Command, err error, hint string) error {
	return Usagef("%s; see %s --help", plainly(err)+hint, cmd.CommandPath())
}

// unread matches the flag library's error for a value that is not a number.
var unread = regexp.MustCompile(`strconv\.\w+: parsing ("(?:[^"\\]|\\.)*"): (value out of range|invalid syntax)`)

func plainly(err error) string {
	if flag, lacks := strings.CutPrefix(err.Error(), "flag needs an argument: "); lacks {
		return flag + " needs a value: " + flag + " VALUE"
	}
	return unread.ReplaceAllStringFunc(err.Error(), func(found string) string {
		m := unread.FindStringSubmatch(found)
		switch {
		case m[2] == "value out of range":
			return m[1] + " is too large"
		case strings.HasPrefix(found, "strconv.ParseBool"):
			return m[1] + " is neither true nor false"
		case strings.HasPrefix(found, "strconv.ParseFloat"):
			return m[1] + " is no number"
		}
		return m[1] + " is no whole number"
	})
}
