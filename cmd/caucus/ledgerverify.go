package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/coordinator"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study/verify"
)

// ledgerCheck is the JSON document of ledger verify and ledger compare.
type ledgerCheck struct {
	Ledger   string           `json:"ledger"`
	Holds    bool             `json:"holds"`
	Entries  int              `json:"entries"`
	Head     string           `json:"head,omitempty"`
	Findings []verify.Finding `json:"findings"`
}

func (d *ledgerCheck) add(v verify.Verdict, about, format string, args ...any) {
	d.Findings = append(d.Findings, verify.Finding{About: about, Verdict: v, Says: fmt.Sprintf(format, args...)})
}

func newLedgerVerify(c *console) *cobra.Command {
	var place ledgerPlace
	var export string
	var expect, releases []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a ledger's chain, and that nothing was cut off or put back",
		Long: `Check every entry of a ledger: its hash, that it follows the one before, and that
its totals are the sum of all charges. That shows that nothing inside was changed
or taken out. Whether the end was cut off, or the whole put back to an older
state, only something kept elsewhere can show: what an agent's studies or a
coordinator's releases remember, --release files, a coordinator's head file, or
the head that this verb printed before, with --expect.

--export checks the lines that ledger export wrote, without the ledger.`,
		Example: `  caucus ledger verify --config agent.yaml
  caucus ledger verify --dir /var/lib/caucus/coordinator --release release.json
  caucus ledger verify --export lines.jsonl --expect 12:9c1e…`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if export == "" {
				if err := place.check("verify"); err != nil {
					return fmt.Errorf("%w, or --export FILE", err)
				}
			} else if place.dir != "" || place.config != "" {
				return usagef("ledger verify takes --export or a ledger, not both")
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
			}
			return c.tellLedger(doc)
		},
	}
	f := cmd.Flags()
	place.flags(f)
	f.StringVar(&export, "export", "", "lines that ledger export wrote")
	f.StringArrayVar(&expect, "expect", nil, "a head remembered elsewhere, NUMBER:HASH (repeatable)")
	f.StringArrayVar(&releases, "release", nil, "a release of this coordinator, whose entries must be in the ledger (repeatable)")
	return cmd
}

// follow checks the chain itself; nil if it is broken.
func (d *ledgerCheck) follow(ctx context.Context, place *ledgerPlace, export string) (*privacy.Chain, error) {
	count := func(privacy.Line) error { d.Entries++; return nil }
	var chain *privacy.Chain
	var broken error
	if export != "" {
		d.Ledger = export
		file, err := os.Open(export)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		chain, broken = readLines(file, count)
	} else {
		j, file, err := place.open()
		if err != nil {
			return nil, err
		}
		defer j.Close()
		d.Ledger = file
		chain, broken = privacy.Walk(ctx, j, count)
	}
	if broken != nil {
		d.add(verify.Fails, "chain", "%v", broken)
		return nil, nil
	}
	d.Head = chain.Head().String()
	if d.Entries == 0 {
		d.add(verify.Holds, "chain", "it has no entries: nothing was spent")
		return chain, nil
	}
	d.add(verify.Holds, "chain", "%d entries: each has the hash of its content and follows the one before, and its totals are the sum of all charges so far", d.Entries)
	return chain, nil
}

// readLines follows JSON lines.
func readLines(r io.Reader, each func(privacy.Line) error) (*privacy.Chain, error) {
	chain := privacy.NewChain()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var l privacy.Line
		err := json.Unmarshal(in.Bytes(), &l)
		if err == nil {
			err = chain.Follow(l)
		}
		if err == nil {
			err = each(l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d (entry %d): %w", n, l.Sequence, err)
		}
	}
	return chain, in.Err()
}

// recall holds the chain against all that is remembered of it.
func (d *ledgerCheck) recall(ctx context.Context, chain *privacy.Chain, place *ledgerPlace, expect, releases []string) error {
	known := 0
	remember := func(h privacy.Head, who string) {
		if h.Sequence == 0 {
			return
		}
		known++
		switch lost, err := chain.Recall(h); {
		case err != nil:
			d.add(verify.Fails, "remembered", "%s: %v", who, err)
		case lost:
			d.add(verify.Trust, "remembered", "%s: entry %d was lost, and the ledger was reconciled after it: that what was charged then covers it", who, h.Sequence)
		default:
			d.add(verify.Holds, "remembered", "%s: entry %d is in the ledger", who, h.Sequence)
		}
	}
	for _, text := range expect {
		h, err := privacy.ParseHead(text)
		if err != nil {
			return usagef("--expect: %v", err)
		}
		remember(h, "--expect")
	}
	var named []privacy.Line
	var key protocol.Verifier
	switch {
	case place.dir != "":
		e, err := coordinator.ReadEvidence(ctx, place.dir)
		if err != nil {
			return err
		}
		key = e.Keys
		remember(e.Kept, e.KeptAt)
		remember(privacy.Head{Sequence: e.Last}, "the coordinator's store")
		for _, h := range e.Witnessed {
			remember(h, "a party or an operator showed it")
		}
		for _, l := range e.Lines {
			remember(l.Head(), "a stored release")
		}
		named = append(named, e.Lines...)
	case place.config != "":
		c, err := agent.LoadConfig(place.config)
		if err != nil {
			return err
		}
		e, err := agent.ReadEvidence(c)
		if err != nil {
			return err
		}
		heads, err := e.Remembered()
		if err != nil {
			return err
		}
		for _, h := range heads {
			remember(h, "a study's folder")
		}
		d.coordinator(e)
	}
	for _, name := range releases {
		lines, err := signedLines(name, key)
		if err != nil {
			return err
		}
		for _, l := range lines {
			remember(l.Head(), name)
		}
		named = append(named, lines...)
	}
	for _, l := range chain.Unpaid(named) {
		d.add(verify.Fails, "remembered", "entry %d was lost, and the reconciliation after it does not charge what it cost, %s", l.Sequence, l.Costs)
	}
	if known == 0 {
		d.add(verify.Unchecked, "remembered", "nothing kept elsewhere was given, so an end that was cut off would not be noticed: write the head down and give it with --expect next time")
	} else {
		d.add(verify.Trust, "remembered", "that entries after the last one remembered were not cut off")
	}
	return nil
}

// coordinator says whether what the coordinator signed for this site shows that
// its ledger went back.
func (d *ledgerCheck) coordinator(e *agent.Evidence) {
	heads, err := e.Coordinator()
	switch {
	case err != nil:
		d.add(verify.Fails, "coordinator", "%v", err)
	case len(heads) > 0:
		d.add(verify.Holds, "coordinator", "its receipts and releases quote its own ledger up to entry %d, and never backwards; compare with caucus ledger verify --dir there, --expect %s", heads[len(heads)-1].Sequence, heads[len(heads)-1])
	}
}

// signedLines are the ledger lines that a release names, after its signature was
// checked: with the coordinator's key, where that is known.
func signedLines(name string, key protocol.Verifier) ([]privacy.Line, error) {
	r, err := readSigned(name)
	if err != nil {
		return nil, err
	}
	if key == nil {
		key = r.Signer
	}
	if err := r.Check(key); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, l := range r.Release.Ledger {
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("%s: ledger entry %d: %w", name, l.Sequence, err)
		}
	}
	return r.Release.Ledger, nil
}

// tellLedger prints what was found and fails if anything does.
func (c *console) tellLedger(d ledgerCheck) error {
	d.Holds = !verify.AnyFails(d.Findings)
	err := c.print(d, func(w io.Writer) error {
		fmt.Fprintln(w, d.Ledger)
		for _, t := range verdictTitles {
			writeFindings(w, t.title, t.verdict, d.Findings)
		}
		if d.Head != "" {
			fmt.Fprintf(w, "\nhead %s\n", d.Head)
		}
		return nil
	})
	for _, f := range d.Findings {
		if err == nil && f.Verdict == verify.Fails {
			err = errors.New(f.About + ": " + f.Says)
		}
	}
	return err
}
