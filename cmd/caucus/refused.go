package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"caucus/study"
)

// flagsOf are the flags that give a plan's field where they are not called as it is.
var flagsOf = map[string][]string{"classify.class_shares": {"classes"}, "minimum": {"sites", "parties"}, "roster": {"sites", "parties"}}

// refused makes a usage error of a refused plan, said of the flag that the person gave
// where one gave the field. Other errors stay what they are.
func refused(cmd *cobra.Command, err error) error {
	var plan *study.Refusal
	if !errors.As(err, &plan) {
		return err
	}
	_, last, _ := strings.Cut(plan.Field, ".") // a kind's own terms are its name, a point, and theirs
	for _, name := range append(flagsOf[plan.Field], plan.Field, last) {
		name = strings.ReplaceAll(name, "_", "-")
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return usagef("--%s: %s", name, plan.Why)
		}
	}
	return usageError{err}
}
