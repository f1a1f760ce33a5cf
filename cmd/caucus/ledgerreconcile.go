package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/aggregator/helper"
	"caucus/cmd/internal/console"
	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study/verify/evidence"
)

// reconciled is the JSON document of "caucus ledger reconcile".
type reconciled struct {
	Ledger string `json:"ledger"`
	// Studies are an agent's studies whose charges were lost. Charged has all costs that were
	// charged again.
	Studies []site.Lost    `json:"studies,omitempty"`
	Charged []privacy.Cost `json:"charged"`
	// Releases are releases that a coordinator had lost and that were put into its store again.
	Releases []folder.Returned `json:"releases,omitempty"`
	Behind   bool              `json:"behind"`
}

func newLedgerReconcile(c *console.Console) *cobra.Command {
	var place ledgerPlace
	var releases, charges []string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Charge again what a ledger restored from a backup has forgotten",
		Long: `After a ledger, or a whole folder, was restored from a backup: charge the costs that
the backup lacks, even above the limits, and mark the published entries as used. Stop
the daemon first.

For an agent, the costs are in its studies. For a coordinator, they are in its
releases: those in its store, and those given with --release. Give each release that
was published since the backup: the command puts it back and marks its study as
released, so that it is not released again. --charge adds a cost that is recorded
nowhere else, as UNIT:epsilon=E or UNIT:rho=R; caucus release verify prints the costs of
the releases of that time.

A helper whose folder was restored stops answering, because it may have forgotten what
it checked and released. This command charges the costs that its ledger lacks, makes a
new sealing key, and fails every open study. Parties must then pin the new key: send it
to them by another way than through the coordinator.`,
		Example: `  caucus ledger reconcile --config agent.yaml
  caucus ledger reconcile --dir /var/lib/caucus/coordinator --release march.json --release april.json
  caucus ledger reconcile --config agent.yaml --charge record:epsilon=1
  caucus ledger reconcile --dir /var/lib/caucus-helper/helper --charge record:rho=0.0172`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("reconcile"); err != nil {
				return err
			}
			lost, err := costsOf(charges)
			if err != nil {
				return err
			}
			if len(releases) > 0 && (place.config != "" || helper.In(place.dir)) {
				return console.Usagef("--release is for a coordinator's ledger: elsewhere --charge names what was lost")
			}
			if place.dir != "" && helper.In(place.dir) {
				return reconcileHelper(cmd.Context(), c, place.dir, lost)
			}
			var doc reconciled
			if place.config != "" {
				config, err := site.LoadConfig(place.config)
				if err != nil {
					return err
				}
				doc.Ledger = site.LedgerFile(config)
				if doc.Studies, err = site.Reconcile(cmd.Context(), config, lost); err != nil {
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
					named, err := evidence.ReleaseLines(r, e.Keys)
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					published, lines = append(published, r), append(lines, named...)
				}
				if doc.Releases, err = folder.PutBack(cmd.Context(), place.dir, published,
					time.Now()); err != nil {
					return err
				}
				doc.Ledger = place.dir
				if doc.Charged, err = folder.Reconcile(cmd.Context(), place.dir, lines,
					lost); err != nil {
					return err
				}
			}
			doc.Behind = len(doc.Charged) > 0
			return c.Print(doc, doc.writeText)
		},
	}
	f := cmd.Flags()
	place.flags(f)
	f.StringArrayVar(&releases, "release", nil, "a release that the coordinator published and may have forgotten (repeatable)")
	f.StringArrayVar(&charges, "charge", nil, "another lost cost, UNIT:epsilon=E or UNIT:rho=R (repeatable)")
	return cmd
}

// reconcileHelper lets a helper answer again after its folder was restored from a backup.
func reconcileHelper(ctx context.Context, c *console.Console, dir string, lost []privacy.Cost) error {
	config, err := helper.LoadConfig(dir)
	if err != nil {
		return err
	}
	document, err := helper.Reconcile(ctx, config, lost)
	if err != nil {
		return err
	}
	return c.Print(document, func(w io.Writer) {
		if !document.Behind {
			fmt.Fprintln(w, "nothing is missing: the folder is not behind its head file")
			return
		}
		for _, cost := range document.Charged {
			fmt.Fprintf(w, "charged again: %s\n", cost)
		}
		fmt.Fprintln(w, "the helper answers again; its open studies have failed. The sealing key is new:")
		writePins(w, document.Pins)
	})
}

func (d reconciled) writeText(w io.Writer) {
	for _, s := range d.Releases {
		if s.Why != "" {
			fmt.Fprintf(w, "study %s (%s): its release is not put back: %s\n", s.Name, s.Study, s.Why)
		} else {
			fmt.Fprintf(w, "study %s (%s) is released; it was %s\n", s.Name, s.Study,
				cmp.Or(string(s.Was), "not known"))
		}
	}
	if !d.Behind {
		fmt.Fprintln(w, "nothing is missing: the ledger has every entry that is remembered")
		return
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
}

func costsOf(charges []string) ([]privacy.Cost, error) {
	var all []privacy.Cost
	for _, text := range charges {
		cost, err := privacy.ParseCost(text)
		if err != nil {
			return nil, console.Usagef("--charge %q: %v", text, err)
		}
		all = append(all, cost)
	}
	return all, nil
}
