package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"caucus/internal/textpage"
	"caucus/protocol"
	"caucus/report"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// reported is the JSON document of release report.
type reported struct {
	Study  string `json:"study"`
	File   string `json:"file"`
	Answer string `json:"answer"`
	// Verified: the study's pool was given and all checks hold; null without that pool, and false
	// where a check fails even so.
	Verified *bool `json:"verified"`
	// Simulated: a simulation made the release; there is nothing to verify and Verified is never true.
	Simulated bool `json:"simulated"`
}

func newReleaseReport(c *console) *cobra.Command {
	var out string
	v := &checker{console: c}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Write a page about a release for people: HTML, one file",
		Long: `Write what came out of a study as one page that needs no other file: the
answer in a sentence, a chart with its numbers, who took part and who was missing,
the guarantee in words, what it holds, what was spent, and what verify finds, of
all that the release claims with --pool, else of its signature and terms. It fits a
phone, paper, a keyboard and a screen reader.

A release that does not hold leads with that, and so does a pool that is not the
study's, which says nothing of the release: the page is still written, and release
report exits 1. Of a simulated release the page says first that a simulation made
it, and exits 0 where nothing else is wrong with it: caucus release verify refuses it.`,
		Example: `  caucus study result readmission --out release.json
  caucus release report release.json --pool pool.csv --out report.html`,
		Args: one("release report", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.release = args[0]
			r, err := readSigned(v.release)
			if err != nil {
				return err
			}
			p, err := kinds.Usable(r.Release)
			if err != nil {
				return unusable(v.release, err)
			}
			doc := reported{Study: p.Name, File: out, Simulated: p.Simulated}
			var found []verify.Finding
			var other error                   // the pool that was given is not the study's
			if v.pool != "" || !p.Simulated { // of a simulation the page says that there is nothing to verify
				if found, other, err = v.of(cmd.Context(), r, p); err != nil {
					return err
				}
			}
			if p.Simulated && r.Release.Simulated {
				found = slices.DeleteFunc(found, saysSimulated)
			}
			failed := verify.AnyFails(found)
			if v.pool != "" && other == nil && !p.Simulated || failed {
				holds := !failed
				doc.Verified = &holds
			}
			page, err := report.New(r.Release, report.Options{Findings: found, Software: version()})
			if err != nil {
				return err
			}
			if other != nil {
				page.OtherPool = other.Error()
			}
			doc.Answer = page.Answer
			if other != nil && !failed {
				doc.Answer = "The pool that was given is not this study's."
			}
			if err := c.writeReport(page, out); err != nil {
				return err
			}
			if err := c.print(doc, func(w io.Writer) error {
				if out == "-" {
					return nil
				}
				_, err := fmt.Fprintf(textpage.Plain{Writer: w}, "wrote %s: %s\n", out, doc.Answer)
				return err
			}); err != nil {
				return err
			}
			return cmp.Or(failure(v.release, found), other)
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "report.html", "file to write; - is stdout")
	writes(f, "out", asStdout, ".html", ".htm")
	v.flags(f)
	return cmd
}

// saysSimulated recognises the finding of a simulated release, which the page words itself: it is no fault.
func saysSimulated(f verify.Finding) bool {
	return f.About == verify.AboutSimulated && f.Verdict == verify.Fails
}

// of verifies a release as far as the pool, if given, and the known keys can tell. Another pool
// is no reason to doubt the release: it is verified without one, and other says so.
func (v *checker) of(ctx context.Context, r protocol.SignedRelease, p study.Plan) (found []verify.Finding, other, err error) {
	known, err := v.trusted(ctx, r.Release)
	if err != nil {
		return nil, nil, err
	}
	if v.pool != "" {
		if known.Pool, known.NoPool = v.readPool(p); known.NoPool != nil {
			return nil, nil, known.NoPool
		}
		if given := known.Pool.Digest; given != p.Pool {
			known.Pool, known.NoPool = nil, fmt.Errorf("the one given has digest %s, the plan is about pool %s", given, p.Pool)
			other = fmt.Errorf("%s is not the pool of this study (it is another file, or its rows or their order were changed), so what rests on the pool was not checked: give the file that the study was made with, or the copy that an agent keeps", filepath.Base(v.pool))
		}
	}
	return verify.Release(r, known), other, nil
}
