package main

import (
	"strings"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

// moved lists renamed verbs, old and new, as docs/operator.md does.
var moved = [][2]string{
	{"predict", "release predict FILE"},
	{"ratio", "release predict FILE"},
	{"query", "release query FILE"},
	{"export", "release export FILE"},
	{"verify", "release verify FILE"},
	{"study report", "release report FILE"},
	{"agent compare", "release compare FILE"},
	{"pool weigh", "release export FILE --to pool"},
	{"ledger", "ledger show"},
	{"ledger compare", "ledger verify --release FILE"},
	{"helper reconcile", "ledger reconcile"},
	{"helper show", "helper keys"},
	{"coordinator helper", "helper keys"},
	{"agent accept", "agent unpack PACK"},
	{"agent studies", "agent preview"},
	{"agent source check", "agent check --source NAME"},
	{"agent source list", "agent source"},
	{"party enrol", "coordinator operator --invitation FILE"},
	{"party label", "party tag"},
	{"party token list", "party list --tokens"},
	{"party token revoke", "party revoke TOKEN"},
	{"dataset list", "dataset schema"},
	{"privacy labels", "forecast labels"},
	{"version", "--version"},
}

// flagsThatMoved has, for each verb, its former flags and what replaced them. It leaves out flags
// that became terms of the same name.
var flagsThatMoved = map[string]map[string]string{
	"forecast": {"sites": "--parties"},
	"simulate": {
		"sets": "--parties", "set-size": "--records", "party-records": "--records", "count": "--set count=true, of kind describe",
		"voter": "--set voters=…", "class": "--set classes=…", "threshold": "--set thresholds=…",
		"skew": "--set main_class_share=…", "made": "--set sets=made --set skew=…", "pair": "--set 'pairs=[[COLUMN, COLUMN]]'",
	},
	"create": {
		"classes": "--set class_shares=…", "count": "--set count=true, of kind describe", "roster-label": "--set 'roster={tags: {KEY: VALUE}}'",
		"seal-share": "--set seal.share=…", "seal-quiet": "--set seal.quiet_seconds=…",
	},
}

// nameMoved lets every verb that takes words say the new name of a renamed verb, before it refuses
// them.
func nameMoved(cmd *cobra.Command) {
	if takes := cmd.Args; takes != nil {
		cmd.Args = func(cmd *cobra.Command, words []string) error {
			if was := wasMoved(cmd, words); was != nil && len(words) > 0 {
				return was
			}
			return takes(cmd, words)
		}
	}
	for _, verb := range cmd.Commands() {
		nameMoved(verb)
	}
}

// wasMoved returns an error that names the new verb if words are a renamed verb; else nil.
func wasMoved(cmd *cobra.Command, words []string) error {
	for n := min(1, len(words)); n <= len(words); n++ {
		typed := strings.Join(append([]string{cmd.CommandPath()}, words[:n]...), " ")
		for _, m := range moved {
			if typed == "caucus "+m[0] {
				return console.Usagef("%s is now caucus %s", typed, m[1])
			}
		}
	}
	return nil
}
