package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// reported is the JSON document of study report.
type reported struct {
	Study  string `json:"study"`
	File   string `json:"file"`
	Answer string `json:"answer"`
	// Verified: the study's pool was given and everything that can be checked holds; null
	// where none was, or another, and false where even so something is found not to hold.
	Verified *bool `json:"verified"`
	// Simulated: a simulation made the release, so there is nothing to verify, and Verified is
	// never true.
	Simulated bool `json:"simulated"`
}

func (o *operator) reportStudy() *cobra.Command {
	var release, out string
	v := &checker{console: o.console}
	cmd := &cobra.Command{
		Use:   "report [STUDY]",
		Short: "Write a page about a release for people: HTML, one file",
		Long: `Write what came out of a study as one page that needs no other file: the
answer in a sentence, a chart with its numbers, who took part and who was missing,
the guarantee in words, what it holds, what was spent, and what verify finds, of
all that the release claims with --pool, else of its signature and terms. It fits a
phone, paper, a keyboard and a screen reader.

A release that does not hold leads with that, and so does a pool that is not the
study's, which says nothing of the release: the page is still written, and study
report exits 1. Of a simulated release the page says first that a simulation made
it, and exits 0 where nothing else is wrong with it: caucus verify refuses it.

STUDY is fetched from the coordinator; --release reads a file instead.`,
		Example: `  caucus study report readmission --pool pool.csv --out report.html
  caucus study report --release release.json --out report.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (release != "") {
				return usagef("study report takes a study of the coordinator, or --release FILE")
			}
			r, err := o.released(cmd, args, release)
			if err != nil {
				return err
			}
			p, err := kinds.Usable(r.Release)
			if err != nil && release != "" {
				return unusable(release, err)
			}
			if err != nil {
				return err
			}
			doc := reported{Study: p.Name, File: out, Simulated: p.Simulated}
			var found []verify.Finding
			var other error                   // the pool that was given is not the study's
			if v.pool != "" || !p.Simulated { // of a simulation the page says that there is nothing to verify
				if found, other, err = v.of(cmd.Context(), r, p, release, o.profile); err != nil {
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
			page, err := newReleasePage(r.Release, nil, found)
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
			if err := page.file(o.console, out); err != nil {
				return err
			}
			if err := o.print(doc, func(w io.Writer) error {
				if out == "-" {
					return nil
				}
				_, err := fmt.Fprintf(plainWriter{w}, "wrote %s: %s\n", out, doc.Answer)
				return err
			}); err != nil {
				return err
			}
			return cmp.Or(failure(cmp.Or(release, p.Name), found), other)
		},
	}
	f := cmd.Flags()
	f.StringVar(&release, "release", "", "a release file, instead of a study of the coordinator")
	f.StringVar(&out, "out", "report.html", "file to write; - is stdout")
	writes(f, "out", asStdout, ".html", ".htm")
	f.StringVar(&v.pool, "pool", "", "CSV file of the public pool: the page has what verify finds")
	f.StringVar(&v.key, "key", "", "the coordinator's public key, in hexadecimal, for verify")
	f.StringVar(&v.schema, "schema", "", "schema of the pool file, where it has no header or another delimiter")
	reads(f, "release", "pool", "schema")
	v.how.flags(f)
	return cmd
}

// saysSimulated is the finding that a release which claims to be a simulation's is one: the
// page says so in words of its own, as no fault of the release.
func saysSimulated(f verify.Finding) bool {
	return f.About == verify.AboutSimulated && f.Verdict == verify.Fails
}

// of says what of a release holds, as far as the pool, where one was given, and the keys
// at hand can tell. A pool that is not the plan's is no reason to doubt the release: it is
// then verified as without one, and other says so.
func (v *checker) of(ctx context.Context, r protocol.SignedRelease, p study.Plan, file, profile string) (found []verify.Finding, other, err error) {
	v.release, v.profile = file, profile
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

// released is a release of the coordinator's, or of a file.
func (o *operator) released(cmd *cobra.Command, args []string, file string) (protocol.SignedRelease, error) {
	if file != "" {
		return readSigned(file)
	}
	client, err := o.dial(cmd.Context())
	if err != nil {
		return protocol.SignedRelease{}, err
	}
	defer client.Close()
	return client.Release(cmd.Context(), args[0])
}
