package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/study"
)

// flagsOf maps plan fields to flags where the two names differ.
var flagsOf = map[string][]string{"minimum": {"parties"}, "roster": {"parties"}}

// refused turns the refusal of a plan's field into a usage error about the flag that set it. Other
// errors pass.
func refused(cmd *cobra.Command, err error) error {
	var plan *study.Refusal
	if !errors.As(err, &plan) {
		return err
	}
	// fields of a kind's terms begin with the kind, as in classify.shards
	_, last, _ := strings.Cut(plan.Field, ".")
	if set, err := cmd.Flags().GetStringArray("set"); err == nil {
		for _, s := range set {
			name, _, _ := strings.Cut(s, "=")
			if name = strings.TrimSpace(name); name == plan.Field || name == last ||
				strings.HasSuffix(plan.Field, "."+name) {
				return console.Usagef("--set %s: %s", s, plan.Reason)
			}
		}
	}
	for _, name := range append(flagsOf[plan.Field], plan.Field, last) {
		name = strings.ReplaceAll(name, "_", "-")
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return console.Usagef("--%s: %s", name, plan.Reason)
		}
	}
	return console.Usagef("%w", err)
}
