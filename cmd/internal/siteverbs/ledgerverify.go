package siteverbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study/kinds"
	"caucus/study/verify/evidence"
)

// ledgerCheck is the JSON document of "caucus ledger verify".
type ledgerCheck struct {
	Ledger   string             `json:"ledger"`
	Holds    bool               `json:"holds"`
	Entries  int                `json:"entries"`
	Head     string             `json:"head,omitempty"`
	Findings []evidence.Finding `json:"findings"`
}

func newLedgerVerify(c *console.Console, s ServerLedgers) *cobra.Command {
	place := ledgerPlace{servers: s}
	var export, pool string
	var expect, releases []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that a ledger is unchanged and complete, and that it holds the charges of releases",
		Long: `Check every entry of a ledger: its hash, its link to the entry before, and its totals,
which must be the sum of all charges. This shows that no entry was changed or removed.
It cannot show that the end was cut off, or that the ledger was put back to an older
state: for that the command compares the ledger with copies kept elsewhere, which are
an agent's studies, a coordinator's releases, --release files, a coordinator's head
file, and --expect, a head that this command printed before.

--release compares the ledger with a release too. An agent's ledger must hold exactly
the charge that plan and pool imply, if the release counts the site. A coordinator's
ledger must hold exactly the entries that the release names, if the coordinator added
the noise, and no entry, if each site did.

--export checks the lines that ledger export wrote, without the ledger.`,
		Example: place.examples(`  caucus ledger verify --config agent.yaml
  caucus ledger verify --config agent.yaml --release release.json
  caucus ledger verify --dir /var/lib/caucus/coordinator --release release.json
  caucus ledger verify --export lines.jsonl --expect 12:9c1e…`),
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if export == "" {
				if err := place.check("verify"); err != nil {
					return fmt.Errorf("%w, or --export FILE", err)
				}
			} else if place.dir != "" || place.config != "" {
				return console.Usagef("ledger verify takes --export or a ledger, not both")
			}
			if pool != "" && (place.config == "" || len(releases) == 0) {
				return console.Usagef("--pool goes with --config and --release: an agent's charge follows from plan and pool")
			}
			var doc ledgerCheck
			chain, err := doc.follow(cmd.Context(), &place, export)
			if err != nil {
				return err
			}
			if chain != nil {
				if err := doc.recall(cmd.Context(), chain, &place, expect, releases); err != nil {
					return err
				}
				for _, name := range releases {
					if err := doc.compare(cmd.Context(), c, chain, &place, name, pool); err != nil {
						return err
					}
				}
			}
			return tellLedger(c, doc)
		},
	}
	f := cmd.Flags()
	place.flags(f)
	f.StringVar(&export, "export", "", "lines that ledger export wrote")
	f.StringArrayVar(&expect, "expect", nil, "a head remembered elsewhere, NUMBER:HASH (repeatable)")
	f.StringArrayVar(&releases, "release", nil, "a release whose charges the ledger must hold (repeatable)")
	f.StringVar(&pool, "pool", "", "with --config and --release: the study's pool (default: the copy that the agent fetched)")
	return cmd
}

// follow reads the ledger and checks its chain of entries. It returns nil if the chain is broken.
func (l *ledgerCheck) follow(ctx context.Context, place *ledgerPlace,
	export string) (*privacy.LedgerChain, error) {
	count := func(privacy.Line) error { l.Entries++; return nil }
	var chain *privacy.LedgerChain
	var broken error
	if export != "" {
		l.Ledger = export
		file, err := os.Open(export)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		chain, broken = evidence.ReadLines(file, count)
	} else {
		j, file, err := place.open()
		if err != nil {
			return nil, err
		}
		defer j.Close()
		l.Ledger = file
		chain, broken = privacy.VerifyEach(ctx, j, count)
	}
	l.Findings = evidence.CheckChain(l.Entries, broken)
	if broken != nil {
		return nil, nil
	}
	l.Head = chain.Head().String()
	return chain, nil
}

// recall compares the chain with what others remember of the ledger: heads in --expect, in the head
// file, and from parties and operators, and the lines in releases.
func (l *ledgerCheck) recall(ctx context.Context, chain *privacy.LedgerChain, place *ledgerPlace,
	expect, releases []string) error {
	var m evidence.LedgerMemory
	for _, text := range expect {
		h, err := privacy.ParseHead(text)
		if err != nil {
			return console.Usagef("--expect: %v", err)
		}
		m.Heads = append(m.Heads, evidence.RememberedHead{Head: h, Who: "--expect"})
	}
	var key protocol.Verifier
	switch {
	case place.dir != "":
		of, keys, err := place.servers.Memory(ctx, place.dir)
		if err != nil {
			return err
		}
		key = keys
		m.Heads, m.Releases = append(m.Heads, of.Heads...), of.Releases
	case place.config != "":
		c, err := site.LoadConfig(place.config)
		if err != nil {
			return err
		}
		e, err := site.ReadEvidence(c)
		if err != nil {
			return err
		}
		heads, err := e.LedgerHeads()
		if err != nil {
			return err
		}
		for _, h := range heads {
			m.Heads = append(m.Heads, evidence.RememberedHead{Head: h, Who: "a study's folder"})
		}
		m.QuotedHeads, m.QuoteError = e.CoordinatorHeads()
	}
	for _, name := range releases {
		// compare reports on these releases, because their lines are of the coordinator's ledger
		// and not of the agent's
		if place.config != "" {
			break
		}
		lines, err := signedLines(name, key)
		if err != nil {
			return err
		}
		m.Releases = append(m.Releases, evidence.ReleasedLines{Lines: lines, Who: name})
	}
	l.Findings = append(l.Findings, evidence.CompareMemory(chain, m)...)
	return nil
}

// compare checks a site's or a coordinator's ledger against one release.
func (l *ledgerCheck) compare(ctx context.Context, c *console.Console, chain *privacy.LedgerChain,
	place *ledgerPlace, name, pool string) error {
	switch {
	case place.dir != "":
		found, err := place.servers.Compare(ctx, place.dir, chain, name)
		l.Findings = append(l.Findings, found...)
		return err
	case place.config == "": // of an export only the lines can be compared
		return nil
	}
	r, err := input.ReadSigned(name)
	if err != nil {
		return err
	}
	p, err := kinds.PlanOf(r.Release)
	if err != nil {
		return err
	}
	config, err := site.LoadConfig(place.config)
	if err != nil {
		return err
	}
	e, err := site.ReadEvidence(config)
	if err != nil {
		return err
	}
	made, err := input.ReadPool(c, new(input.ReadOptions), cmp.Or(pool, e.PoolFile(p.Pool)),
		dataset.Format{}, p)
	if err != nil {
		return err
	}
	l.Findings = append(l.Findings, evidence.CompareParty(r, made, e.OfStudy(ctx, r.Release))...)
	return nil
}

// signedLines returns the ledger lines in a release file. It checks the signature first, by key if
// not nil.
func signedLines(name string, key protocol.Verifier) ([]privacy.Line, error) {
	r, err := input.ReadSigned(name)
	if err != nil {
		return nil, err
	}
	lines, err := evidence.ReleaseLines(r, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}

// tellLedger prints the findings, and returns an error if a check fails.
func tellLedger(c *console.Console, d ledgerCheck) error {
	d.Holds = !evidence.AnyFails(d.Findings)
	err := c.Print(d, func(w io.Writer) {
		fmt.Fprintln(w, d.Ledger)
		evidence.WriteText(w, d.Findings)
		if d.Head != "" {
			fmt.Fprintf(w, "\nhead %s\n", d.Head)
		}
	})
	for _, f := range d.Findings {
		if err == nil && f.Verdict == evidence.Fails {
			err = errors.New(f.Subject + ": " + f.Text)
		}
	}
	return err
}
