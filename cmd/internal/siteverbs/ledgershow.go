package siteverbs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/agent/site"
	"caucus/cmd/internal/console"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study/verify/evidence"
)

// LedgerDocument is the JSON document of "caucus ledger show".
type LedgerDocument struct {
	Ledger string             `json:"ledger"`
	Units  []journal.Spending `json:"units"`
}

// defaultLedgerDelta is the δ at which ε is shown if no limit names a δ. It equals a plan's default
// δ.
const defaultLedgerDelta = 1e-6

// ServerLedgers reads and mends the ledgers of servers, for a program that runs some.
type ServerLedgers interface {
	// LedgerAt says where the ledger of a server's folder is: a file or a database.
	LedgerAt(dir string) (string, error)
	// Memory returns what a folder and those who called there remember of its ledger, and the keys
	// that sign its releases; nil if it signs none.
	Memory(ctx context.Context, dir string) (evidence.LedgerMemory, protocol.Verifier, error)
	// Compare checks a folder's ledger, whose chain was read, against a release's file.
	Compare(ctx context.Context, dir string, chain *privacy.LedgerChain,
		name string) ([]evidence.Finding,
		error)
	// Reconcile charges again what a folder's ledger has forgotten: the costs in lost, and those of
	// the releases in these files. It prints what it did.
	Reconcile(ctx context.Context, c *console.Console, dir string, releases []string,
		lost []privacy.Cost) error
}

// NewLedgerVerbs returns the verbs about ledgers: an agent's and, unless s is nil, a server's.
func NewLedgerVerbs(c *console.Console, s ServerLedgers) *cobra.Command {
	return console.Group("ledger", "Show what was spent; check, export and mend a ledger",
		newLedgerShow(c, s), newLedgerVerify(c, s), newLedgerExport(c, s),
		newLedgerReconcile(c, s))
}

func newLedgerShow(c *console.Console, s ServerLedgers) *cobra.Command {
	place := ledgerPlace{servers: s}
	var delta float64
	give := ""
	if s != nil {
		give = ` Give the ledger's folder (a coordinator's or a helper's folder, an
agent's state folder) or an agent's configuration, which also holds the limits.`
	}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the privacy budget that an agent, a coordinator or a helper has spent",
		Long: `Verify a ledger (every entry's hash, number and totals) and show the privacy budget
spent for each unit.` + give + ` The
daemon may run meanwhile.`,
		Example: place.examples(`  caucus ledger show --dir /var/lib/caucus/coordinator
  caucus ledger show --config agent.yaml --json`),
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("show"); err != nil {
				return err
			}
			if !(delta > 0 && delta < 1) {
				return console.Usagef("--delta %v: give a number between 0 and 1", delta)
			}
			file, limits, err := place.file()
			if err != nil {
				return err
			}
			doc := LedgerDocument{Ledger: database.RedactAddress(file)}
			if doc.Units, err = journal.SumSpending(cmd.Context(), file, limits,
				delta); err != nil {
				return err
			}
			return c.Print(doc, doc.writeText)
		},
	}
	place.flags(cmd.Flags())
	cmd.Flags().Float64Var(&delta, "delta", defaultLedgerDelta,
		"δ at which ε is shown, if no limit names a δ")
	return cmd
}

// ledgerPlace says where a ledger is: at an agent or, if there are servers, in a server's folder.
type ledgerPlace struct {
	servers     ServerLedgers
	dir, config string
}

func (l *ledgerPlace) flags(f *pflag.FlagSet) {
	if l.servers != nil {
		f.StringVar(&l.dir, "dir", "", "folder of a coordinator or a helper, which holds ledger.db")
	}
	f.StringVar(&l.config, "config", "", "an agent's configuration")
	console.MarkInputs(f, "config")
}

// examples leaves out the lines about servers if the program has none.
func (l *ledgerPlace) examples(all string) string {
	if l.servers != nil {
		return all
	}
	return strings.Join(slices.DeleteFunc(strings.Split(all, "\n"), func(line string) bool {
		return strings.Contains(line, "--dir")
	}), "\n")
}

func (l *ledgerPlace) check(verb string) error {
	switch {
	case l.servers == nil && l.config == "":
		return console.Usagef("ledger %s needs --config FILE of an agent", verb)
	case l.servers != nil && (l.dir == "") == (l.config == ""):
		return console.Usagef("ledger %s needs --dir DIR of a coordinator or a helper, or --config FILE of an agent", verb)
	}
	return nil
}

// file returns the name of the ledger's file and, for an agent, the ledger's limits.
func (l *ledgerPlace) file() (string, map[privacy.Unit]privacy.Budget, error) {
	if l.config == "" {
		at, err := l.servers.LedgerAt(l.dir)
		return at, nil, err
	}
	c, err := site.LoadConfig(l.config)
	if err != nil {
		return "", nil, err
	}
	return site.LedgerFile(c), c.Policy.TotalLimit, nil
}

func (l *ledgerPlace) open() (*journal.Journal, string, error) {
	file, _, err := l.file()
	if err != nil {
		return nil, "", err
	}
	j, err := journal.OpenExisting(file)
	return j, database.RedactAddress(file), err
}

func (l LedgerDocument) writeText(w io.Writer) {
	t := console.NewTable(w, "unit", "charges", "pure epsilon", "rho", "epsilon", "at delta",
		"limit")
	limited := slices.ContainsFunc(l.Units, func(u journal.Spending) bool { return u.Limit != nil })
	for _, u := range l.Units {
		if limited && u.Limit == nil { // rows of units with a limit already count these charges
			continue
		}
		epsilon, limit := "no guarantee", "none"
		if u.Epsilon != nil {
			epsilon = fmt.Sprintf("%.4g", *u.Epsilon)
		}
		if u.Limit != nil {
			limit = fmt.Sprint(*u.Limit)
		}
		t.Add(u.Unit.String(), fmt.Sprint(u.Charges+u.Unproven), fmt.Sprintf("%.4g", u.Pure),
			fmt.Sprintf("%.4g", u.Rho), epsilon, fmt.Sprint(u.Delta), limit)
	}
	t.Render()
	if limited {
		fmt.Fprintln(w, "epsilon is counted at your limit's delta: a plan with another delta names another epsilon for the same noise. --json shows all units.")
	}
}
