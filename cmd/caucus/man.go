package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan writes manual pages, for those who package the binary.
func newMan(c *console) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "man", Short: "Write the manual pages of all verbs, one file each", Args: noArguments,
		Long:    "Write manual pages (section 1), made from what --help says.",
		Example: "  caucus man --out /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("man needs --out DIR")
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			// Dates would make every build another one.
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "caucus " + version(), Manual: "Caucus"}, out); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			pages, err := os.ReadDir(out)
			if err != nil {
				return err
			}
			return c.print(map[string]any{"dir": out, "pages": len(pages)}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%d pages in %s; read one: man -l %s/caucus.1\n", len(pages), out, out)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the pages; it is made where it is not there")
	writes(cmd.Flags(), "out", asFolder)
	return cmd
}
