package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"caucus/analyst/report"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/cmd/internal/siteverbs"
	"caucus/internal/textpage"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/results"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// reported is the JSON document of "caucus release report".
type reported struct {
	Study  string `json:"study"`
	File   string `json:"file"`
	Answer string `json:"answer"`
	// Verified reports that the study's pool was given and that all checks hold. It is null without
	// that pool, and false if any check fails.
	Verified *bool `json:"verified"`
	// Simulated reports that a simulation made the release: there is nothing to verify, and
	// Verified is never true.
	Simulated bool `json:"simulated"`
}

func newReleaseReport(c *console.Console) *cobra.Command {
	var out string
	v := &checker{Console: c}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Write a page about a release: HTML, one file",
		Long: `Write a study's result as one page that needs no other file: the answer in a sentence,
a chart with its numbers, the parties that took part and those missing, the guarantee in
words, the privacy cost, and the findings of caucus release verify. With --pool, verify
checks every claim of the release, else only signature and terms. The page works on a
phone, on paper, with a keyboard and with a screen reader.

If a check fails, the page begins with the failure; the page is still written, and the
exit code is 1. The same holds if the pool is not the study's, though this says nothing
about the release. For a simulated release, the page first says so, and the exit code is
0 if nothing else is wrong; caucus release verify refuses simulated releases.`,
		Example: `  caucus study result readmission --out release.json
  caucus release report release.json --pool pool.csv --out report.html`,
		Args: console.OneArgument("release report", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.release = args[0]
			r, err := input.ReadSigned(v.release)
			if err != nil {
				return err
			}
			p, err := results.CheckedPlan(r.Release)
			if err != nil {
				return unusable(v.release, err)
			}
			doc := reported{Study: p.Name, File: out, Simulated: p.Simulated}
			var found []evidence.Finding
			var other error // not nil if the given pool is not the study's
			// for a simulation, the page says that there is nothing to verify
			if v.pool != "" || !p.Simulated {
				if found, other, err = v.checked(cmd.Context(), r, p); err != nil {
					return err
				}
			}
			if p.Simulated && r.Release.Simulated {
				found = slices.DeleteFunc(found, saysSimulated)
			}
			failed := evidence.AnyFails(found)
			if v.pool != "" && other == nil && !p.Simulated || failed {
				holds := !failed
				doc.Verified = &holds
			}
			page, err := report.New(r.Release, report.Options{Findings: found,
				Software: console.Version()})
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
			if err := writeReportPage(c, page, out); err != nil {
				return err
			}
			if err := c.Print(doc, func(w io.Writer) {
				if out != "-" {
					fmt.Fprintf(textpage.PlainWriter{Writer: w}, "wrote %s: %s\n", out, doc.Answer)
				}
			}); err != nil {
				return err
			}
			return cmp.Or(siteverbs.FirstFailure(v.release, found), other)
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "report.html", "file to write; - is stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout, ".html", ".htm")
	v.flags(f)
	return cmd
}

// saysSimulated recognises the finding that a release is simulated. A report does not count this
// finding as a failure, because the page says first that the release is simulated.
func saysSimulated(f evidence.Finding) bool {
	return f.Subject == verify.AboutSimulated && f.Verdict == evidence.Fails
}

// checked verifies a release with the known keys and with the pool, if there is one. If the pool is
// not the study's, checked verifies without the pool, because the release may still be good, and
// other describes the mismatch.
func (v *checker) checked(ctx context.Context, r protocol.SignedRelease,
	p study.Plan) (found []evidence.Finding, other, err error) {
	known, err := v.trusted(ctx, r.Release)
	if err != nil {
		return nil, nil, err
	}
	if v.pool != "" {
		if known.Pool, known.PoolError = v.readPool(p); known.PoolError != nil {
			return nil, nil, known.PoolError
		}
		if given := known.Pool.Digest; given != p.Pool {
			known.Pool, known.PoolError = nil, fmt.Errorf("the pool that was given has digest %s, the plan's pool is %s", given, p.Pool)
			other = fmt.Errorf("%s is not the pool of this study (it is another file, or its rows or their order were changed), so claims that depend on the pool were not checked: give the file that the study was made with, or the copy that an agent keeps", filepath.Base(v.pool))
		}
	}
	return verify.Release(r, known), other, nil
}
