package main

import "github.com/spf13/cobra"

// newPrivacy groups the verbs that tell what a mechanism costs; each has a file
// of its own.
func newPrivacy(c *console) *cobra.Command {
	return group("privacy", "Tell what a privacy mechanism costs, without data", newPrivacyAudit(c), newPrivacyDistortion(c))
}
