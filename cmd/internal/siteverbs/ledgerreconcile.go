package siteverbs

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/cmd/internal/console"
	"caucus/privacy"
)

// reconciled is the JSON document of "caucus ledger reconcile" for an agent.
type reconciled struct {
	Ledger string `json:"ledger"`
	// Studies are an agent's studies whose charges were lost. Charged has all costs that were
	// charged again.
	Studies []site.LostCharge `json:"studies,omitempty"`
	Charged []privacy.Cost    `json:"charged"`
	Behind  bool              `json:"behind"`
}

func newLedgerReconcile(c *console.Console, s ServerLedgers) *cobra.Command {
	place := ledgerPlace{servers: s}
	var releases, charges []string
	servers, helper := "", ""
	if s != nil {
		servers = ` For a coordinator, they are in its
releases: those in its store, and those given with --release. Give each release that
was published since the backup: the command puts it back and marks its study as
released, so that it is not released again.`
		helper = `

A helper whose folder was restored stops answering, because it may have forgotten what
it checked and released. This command charges the costs that its ledger lacks, makes a
new sealing key, and fails every open study. Parties must then pin the new key: send it
to them by another way than through the coordinator.`
	}
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Charge again what a ledger restored from a backup has forgotten",
		Long: `After a ledger, or a whole folder, was restored from a backup: charge the costs that
the backup lacks, even above the limits, and mark the published entries as used. Stop
the daemon first.

For an agent, the costs are in its studies.` + servers + ` --charge adds a cost that is recorded
nowhere else, as UNIT:epsilon=E or UNIT:rho=R; caucus release verify prints the costs of
the releases of that time.` + helper,
		Example: place.examples(`  caucus ledger reconcile --config agent.yaml
  caucus ledger reconcile --dir /var/lib/caucus/coordinator --release march.json --release april.json
  caucus ledger reconcile --config agent.yaml --charge record:epsilon=1
  caucus ledger reconcile --dir /var/lib/caucus-helper/helper --charge record:rho=0.0172`),
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("reconcile"); err != nil {
				return err
			}
			lost, err := costsOf(charges)
			if err != nil {
				return err
			}
			if place.dir != "" {
				return s.Reconcile(cmd.Context(), c, place.dir, releases, lost)
			}
			if len(releases) > 0 {
				return ErrNotCoordinatorLedger
			}
			config, err := site.LoadConfig(place.config)
			if err != nil {
				return err
			}
			doc := reconciled{Ledger: site.LedgerFile(config)}
			if doc.Studies, err = site.Reconcile(cmd.Context(), config, lost); err != nil {
				return err
			}
			for _, s := range doc.Studies {
				doc.Charged = append(doc.Charged, s.Costs...)
			}
			doc.Charged = append(doc.Charged, lost...)
			doc.Behind = len(doc.Charged) > 0
			return c.Print(doc, doc.writeText)
		},
	}
	f := cmd.Flags()
	place.flags(f)
	if s != nil {
		f.StringArrayVar(&releases, "release", nil, "a release that the coordinator published and may have forgotten (repeatable)")
	}
	f.StringArrayVar(&charges, "charge", nil, "another lost cost, UNIT:epsilon=E or UNIT:rho=R (repeatable)")
	return cmd
}

// ErrNotCoordinatorLedger answers --release for a ledger that is no coordinator's.
var ErrNotCoordinatorLedger = console.Usagef("--release is for a coordinator's ledger: elsewhere --charge names what was lost")

func (r reconciled) writeText(w io.Writer) {
	for _, s := range r.Studies {
		what := "was forgotten"
		if s.ResultLost {
			what = "was charged, and its answer may have been forgotten"
		}
		fmt.Fprintf(w, "study %s (%s) %s\n", s.Name, s.Study, what)
	}
	WriteCosts(w, r.Charged)
}

// WriteCosts says which costs were charged again.
func WriteCosts(w io.Writer, all []privacy.Cost) {
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing is missing: the ledger has every entry that is remembered")
	}
	for _, cost := range all {
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
