package siteverbs

import (
	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/study/verify/evidence"
)

// Verify returns the verb that checks a release by a site's own papers alone, for a program that
// makes no release again.
func (a *Agent) Verify() *cobra.Command {
	var pool string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a release by this site's own papers",
		Long: `Check who signed a release, and compare it with what this site kept: its receipt, its
upload, the amendments that it was told of, and the charges in its ledger, which must be
exactly what plan and pool declare. Check every entry of the ledger, and the heads of
both ledgers, its own and the coordinator's, that this site remembers.

The command does not compute the release again. caucus release verify does that, with
all that this command checks: anybody can run it, on any machine.

The exit code is 1 if a check fails.`,
		Example: "  caucus agent verify release.json --config agent.yaml",
		Args:    console.OneArgument("agent verify", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := input.ReadSigned(args[0])
			if err != nil {
				return err
			}
			var doc ledgerCheck
			place := &ledgerPlace{config: a.config}
			chain, err := doc.follow(cmd.Context(), place, "")
			if err != nil {
				return err
			}
			if chain != nil {
				if err := doc.recall(cmd.Context(), chain, place, nil, nil); err != nil {
					return err
				}
				if err := doc.compare(cmd.Context(), a.Console, chain, place, args[0],
					pool); err != nil {
					return err
				}
			}
			found := append(doc.Findings, evidence.Finding{Subject: "release",
				Verdict: evidence.Unchecked, Text: "bound, noise, cost and result were not computed again: caucus release verify does that"})
			return PrintFindings(a.Console, args[0], r, found,
				"All that this site's papers can show holds.")
		},
	}
	cmd.Flags().StringVar(&pool, "pool", "", "the study's pool (default: the copy that the agent fetched)")
	console.MarkInputs(cmd.Flags(), "pool")
	return cmd
}
