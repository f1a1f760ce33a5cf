package siteverbs

import (
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/privacy"
	"caucus/study/verify/evidence"
)

// exported is the JSON document of "caucus ledger export".
type exported struct {
	Ledger string         `json:"ledger"`
	Head   string         `json:"head"`
	Lines  []privacy.Line `json:"lines"`
}

func newLedgerExport(c *console.Console, s ServerLedgers) *cobra.Command {
	place := ledgerPlace{servers: s}
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a ledger's lines, without its answers, for others to check",
		Long: `Write one JSON line for each entry: number, id, digests of question and answer, cost,
totals, and the hashes of the chain. The lines depend on records only through digests
of noisy answers. Whoever has the plans can see which studies were charged; everybody
can see the total cost.

caucus ledger verify --export checks it offline.`,
		Example: "  caucus ledger export --config agent.yaml --out lines.jsonl",
		Args:    console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := place.check("export"); err != nil {
				return err
			}
			j, file, err := place.open()
			if err != nil {
				return err
			}
			c.AddDaemonFolder(filepath.Dir(file))
			defer j.Close()
			doc := exported{Ledger: file, Lines: []privacy.Line{}}
			chain, err := privacy.VerifyEach(cmd.Context(), j, func(l privacy.Line) error {
				doc.Lines = append(doc.Lines, l)
				return nil
			})
			if err != nil {
				return err
			}
			doc.Head = chain.Head().String()
			if out != "" {
				if err := c.Write(out, func(w io.Writer) error {
					return evidence.WriteLines(w, doc.Lines)
				}); err != nil {
					return err
				}
				c.Note("wrote %s to %s; the head is %s", console.Counted(len(doc.Lines), "entries"),
					out,
					doc.Head)
			}
			return c.Print(doc, func(w io.Writer) {
				if out == "" {
					evidence.WriteLines(w, doc.Lines)
				}
			})
		},
	}
	place.flags(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "write the lines to this file instead of stdout")
	console.MarkOutput(cmd.Flags(), "out", console.AcceptsStdout, ".jsonl", ".json")
	return cmd
}
