package main

import "github.com/spf13/cobra"

// newPrivacy groups the verbs about the cost of mechanisms.
func newPrivacy(c *console) *cobra.Command {
	return group("privacy", "Tell what a privacy mechanism costs, without data", newPrivacyAudit(c), newPrivacyDistortion(c))
}
