package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/protocol"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// reported is the JSON document of study report.
type reported struct {
	Study  string `json:"study"`
	File   string `json:"file"`
	Answer string `json:"answer"`
	// Verified: a pool was given and everything that can be checked holds; null
	// where none was.
	Verified *bool `json:"verified"`
}

func (o *operator) reportStudy() *cobra.Command {
	var release, out string
	v := &checker{console: o.console}
	cmd := &cobra.Command{
		Use:   "report [STUDY]",
		Short: "Write a page about a release for people: HTML, one file",
		Long: `Write what came out of a study as one page that needs no other file: the
answer in a sentence, a chart with its numbers, who took part and who was missing,
the guarantee in words, what it holds, what was spent, and, with --pool, what
verify finds. It fits a phone, paper, a keyboard and a screen reader.

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
			var found []verify.Finding
			doc := reported{Study: p.Name, File: out}
			if v.pool != "" {
				v.release, v.profile = release, o.profile
				known, err := v.trusted(cmd.Context(), r.Release)
				if err != nil {
					return err
				}
				if known.Pool, known.NoPool = v.readPool(p); known.NoPool != nil {
					return known.NoPool
				}
				found = verify.Release(r, known)
				holds := !verify.AnyFails(found)
				doc.Verified = &holds
			}
			page, err := newReleasePage(r.Release, nil, found)
			if err != nil {
				return err
			}
			doc.Answer = page.Answer
			if out == "-" && o.json {
				return usagef("--out - and --json both want stdout: name a file")
			}
			if err := page.file(o.console, out); err != nil {
				return err
			}
			return o.print(doc, func(w io.Writer) error {
				if out == "-" {
					return nil
				}
				_, err := fmt.Fprintf(w, "wrote %s: %s\n", out, page.Answer)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&release, "release", "", "a release file, instead of a study of the coordinator")
	f.StringVar(&out, "out", "report.html", "file to write; - is stdout")
	writes(f, "out", ".html", ".htm")
	f.StringVar(&v.pool, "pool", "", "CSV file of the public pool: the page has what verify finds")
	f.StringVar(&v.key, "key", "", "the coordinator's public key, in hexadecimal, for verify")
	f.StringVar(&v.schema, "schema", "", "schema of the pool file, where it has no header or another delimiter")
	v.how.flags(f)
	return cmd
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
