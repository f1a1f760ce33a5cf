package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study/verify"
)

// reconciled is the JSON document of ledger reconcile.
type reconciled struct {
	Ledger string `json:"ledger"`
	// Studies are an agent's whose charges were found lost, Charged all costs
	// that were charged again.
	Studies []agent.Lost   `json:"studies,omitempty"`
	Charged []privacy.Cost `json:"charged"`
	// Releases are those that were given to a coordinator.
	Releases []folder.Returned `json:"releases,omitempty"`
	Behind   bool              `json:"behind"`
}

func newLedgerReconcile(c *console) *cobra.Command {
	var place ledgerPlace
	var releases, charges []string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Charge again what a ledger restored from a backup has forgotten",
		Long: `After a ledger, or a whole folder, was restored from a backup: charge again what
it has forgotten, whatever the limits say, and pass over every entry that is known
to have been published. Stop the daemon first.

An agent's studies say themselves what was charged for them. A coordinator's
releases name their entries: those in its store, and those given with --release.
Give each release that was published since the backup: it is put back, and its
study ends as released, in place of being released again. --charge names a cost
that nothing else remembers, as UNIT:epsilon=E or UNIT:rho=R.`,
		Example: `  caucus ledger reconcile --config agent.yaml
  caucus ledger reconcile --dir /var/lib/caucus/coordinator --release march.json --release april.json
  caucus ledger reconcile --config agent.yaml --charge record:epsilon=1`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("reconcile"); err != nil {
				return err
			}
			lost, err := costsOf(charges)
			if err != nil {
				return err
			}
			var doc reconciled
			if place.config != "" {
				if len(releases) > 0 {
					return usagef("--release is for a coordinator's ledger: an agent's studies say what was charged")
				}
				config, err := agent.LoadConfig(place.config)
				if err != nil {
					return err
				}
				doc.Ledger = agent.LedgerFile(config)
				if doc.Studies, err = agent.Reconcile(cmd.Context(), config, lost); err != nil {
					return err
				}
				for _, s := range doc.Studies {
					doc.Charged = append(doc.Charged, s.Costs...)
				}
				doc.Charged = append(doc.Charged, lost...)
			} else {
				e, err := folder.ReadEvidence(cmd.Context(), place.dir)
				if err != nil {
					return err
				}
				var published []protocol.SignedRelease
				var lines []privacy.Line
				for _, name := range releases {
					r, err := readSigned(name)
					if err != nil {
						return err
					}
					named, err := verify.ReleaseLines(r, e.Keys)
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					published, lines = append(published, r), append(lines, named...)
				}
				if doc.Releases, err = folder.PutBack(cmd.Context(), place.dir, published, time.Now()); err != nil {
					return err
				}
				doc.Ledger = place.dir
				if doc.Charged, err = folder.Reconcile(cmd.Context(), place.dir, lines, lost); err != nil {
					return err
				}
			}
			doc.Behind = len(doc.Charged) > 0
			return c.print(doc, doc.writeText)
		},
	}
	f := cmd.Flags()
	place.flags(f)
	f.StringArrayVar(&releases, "release", nil, "a release that the coordinator published and may have forgotten (repeatable)")
	f.StringArrayVar(&charges, "charge", nil, "another lost cost, UNIT:epsilon=E or UNIT:rho=R (repeatable)")
	return cmd
}

func (d reconciled) writeText(w io.Writer) error {
	for _, s := range d.Releases {
		if s.Why != "" {
			fmt.Fprintf(w, "study %s (%s): its release is not put back: %s\n", s.Name, s.Study, s.Why)
		} else {
			fmt.Fprintf(w, "study %s (%s) is released; it was %s\n", s.Name, s.Study, cmp.Or(string(s.Was), "not known"))
		}
	}
	if !d.Behind {
		_, err := fmt.Fprintln(w, "nothing is missing: the ledger is not behind what is remembered of it")
		return err
	}
	for _, s := range d.Studies {
		what := "was forgotten"
		if s.Answer {
			what = "was charged, and its answer may have been forgotten"
		}
		fmt.Fprintf(w, "study %s (%s) %s\n", s.Name, s.Study, what)
	}
	for _, cost := range d.Charged {
		fmt.Fprintf(w, "charged again: %s\n", cost)
	}
	return nil
}

// costsOf reads what --charge was given.
func costsOf(charges []string) ([]privacy.Cost, error) {
	var all []privacy.Cost
	for _, text := range charges {
		cost, err := privacy.ParseCost(text)
		if err != nil {
			return nil, usagef("--charge %q: %v", text, err)
		}
		all = append(all, cost)
	}
	return all, nil
}
