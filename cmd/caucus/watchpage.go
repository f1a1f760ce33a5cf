package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/analyst/report"
	"caucus/cmd/internal/console"
	"caucus/coordinator/folder"
	"caucus/study"
)

func newCoordinatorPage(c *console.Console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Print a link that opens the coordinator's page in a browser, once",
		Long: `Print a link to the page of a running coordinator. The page shows the studies as
contributions arrive, the members and what they wait for, the budget and the releases.
It changes nothing. Its address is page: in coordinator.yaml, a loopback address or a
Unix socket. Run this command with the coordinator's account: whoever may write in the
coordinator's folder may open the page.`,
		Example: "  caucus coordinator page --dir /var/lib/caucus/coordinator",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return console.Usagef("coordinator page needs --dir DIR")
			}
			config, err := folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))
			if err != nil {
				return err
			}
			if config.Page == "" {
				return fmt.Errorf("%s has no page: write page: 127.0.0.1:7446 and start the coordinator again", filepath.Join(dir, folder.ConfigFile))
			}
			return c.PrintLink(config.Dir, config.Page)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	return cmd
}

// writeReport writes a release's page as the coordinator's web page shows it.
func writeReport(w io.Writer, r study.Release) error {
	page, err := report.New(r, report.Options{Software: console.Version()})
	if err != nil {
		return err
	}
	return page.Write(w)
}
