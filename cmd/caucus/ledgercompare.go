package main

import (
	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study/kinds"
	"caucus/study/verify"
)

func newLedgerCompare(c *console) *cobra.Command {
	var place ledgerPlace
	var release, pool string
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Hold a ledger against a release: was it charged exactly what the release says?",
		Long: `Compare one study in a ledger with its release. An agent's ledger must hold
exactly the charge that plan and pool declare, if the release counts the site. A
coordinator's must hold exactly the entries that the release names, where the
coordinator added the noise, and none where each site did.`,
		Example: `  caucus ledger compare --config agent.yaml --release release.json
  caucus ledger compare --dir /var/lib/caucus/coordinator --release release.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("compare"); err != nil {
				return err
			}
			if release == "" {
				return usagef("ledger compare needs --release FILE")
			}
			r, err := readSigned(release)
			if err != nil {
				return err
			}
			p, err := kinds.PlanOf(r.Release)
			if err != nil {
				return err
			}
			j, file, err := place.open()
			if err != nil {
				return err
			}
			defer j.Close()
			doc := ledgerCheck{Ledger: file}
			chain, err := privacy.Walk(cmd.Context(), j, func(privacy.Line) error { doc.Entries++; return nil })
			if err != nil {
				return err
			}
			doc.Head = chain.Head().String()
			if place.dir != "" {
				e, err := folder.ReadEvidence(cmd.Context(), place.dir)
				if err != nil {
					return err
				}
				doc.Findings = verify.CompareCoordinator(r, e.Keys, func(id string) (privacy.Line, bool, error) {
					return privacy.LineOf(cmd.Context(), j, id)
				})
				return c.tellLedger(doc)
			}
			config, err := agent.LoadConfig(place.config)
			if err != nil {
				return err
			}
			e, err := agent.ReadEvidence(config)
			if err != nil {
				return err
			}
			if pool == "" {
				pool = e.PoolFile(p.Pool)
			}
			made, err := poolUnder(c, new(reading), pool, dataset.Format{}, p)
			if err != nil {
				return err
			}
			doc.Findings = verify.CompareSite(r, made, e.Site(cmd.Context(), r.Release))
			return c.tellLedger(doc)
		},
	}
	place.flags(cmd.Flags())
	cmd.Flags().StringVar(&release, "release", "", "the signed release of the study")
	cmd.Flags().StringVar(&pool, "pool", "", "the study's pool (default: the copy that the agent fetched)")
	return cmd
}
