package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/coordinator"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
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
				e, err := coordinator.ReadEvidence(cmd.Context(), place.dir)
				if err != nil {
					return err
				}
				doc.signed(r, e.Keys)
				for _, cost := range r.Release.Costs {
					line, found, err := privacy.LineOf(cmd.Context(), j, study.ReleaseID(r.Release.PlanHash, cost.Output))
					if err != nil {
						return err
					}
					doc.same(cost.Output, p, r.Release.Ledger, line, found)
				}
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
			doc.signed(r, e.Keys)
			if pool == "" {
				pool = e.PoolFile(p.Pool)
			}
			made, err := poolUnder(c, new(reading), pool, dataset.Format{}, p)
			if err != nil {
				return err
			}
			charged, err := e.Charged(cmd.Context(), r.Release, made)
			if err != nil {
				return err
			}
			doc.Findings = append(append(doc.Findings, e.Witness(r.Release)...), charged...)
			return c.tellLedger(doc)
		},
	}
	place.flags(cmd.Flags())
	cmd.Flags().StringVar(&release, "release", "", "the signed release of the study")
	cmd.Flags().StringVar(&pool, "pool", "", "the study's pool (default: the copy that the agent fetched)")
	return cmd
}

func (d *ledgerCheck) signed(r protocol.SignedRelease, key protocol.Verifier) {
	if err := r.Check(key); err != nil {
		d.add(verify.Fails, "signature", "the release is not what this coordinator signed: %v", err)
		return
	}
	d.add(verify.Holds, "signature", "the coordinator signed the release")
}

// same compares a coordinator's entry of an output with the release's lines.
func (d *ledgerCheck) same(output string, p study.Plan, lines []privacy.Line, have privacy.Line, found bool) {
	var named *privacy.Line
	for i, l := range lines {
		if l.ID == have.ID {
			named = &lines[i]
		}
	}
	switch {
	case p.Noise == study.NoiseSite && !found:
		d.add(verify.Holds, "charge", "each party released %s itself, and this ledger was charged nothing for it", output)
	case p.Noise == study.NoiseSite:
		d.add(verify.Fails, "charge", "each party released %s itself, but this ledger was charged for it in entry %d", output, have.Sequence)
	case !found:
		d.add(verify.Fails, "charge", "the release names an entry for %s that this ledger does not have: its end was cut off, or it was put back to an older state", output)
	case named == nil:
		d.add(verify.Fails, "charge", "this ledger was charged for %s in entry %d, which the release does not name", output, have.Sequence)
	default:
		a, errA := json.Marshal(named)
		b, errB := json.Marshal(have)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			d.add(verify.Fails, "charge", "entry %d of this ledger is not the one that the release names (%s): %s was released a second time, or the ledger was written anew", have.Sequence, named.Head(), output)
			return
		}
		d.add(verify.Holds, "charge", "entry %d of this ledger is the one that the release names for %s: %s", have.Sequence, output, have.Costs[0])
	}
}
