package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/coordinator/folder"
	"caucus/internal/webpage"
	"caucus/report"
	"caucus/study"
)

// printLink makes and prints only the link of a daemon's page: a secret until opened.
func (c *console) printLink(dir, address string) error {
	link, err := webpage.NewLink(dir, address, time.Now())
	if err != nil {
		return err
	}
	if path, is := webpage.Socket(address); is {
		c.note("opens once, within ten minutes, where the socket was carried to: ssh -L %s:%s HOST (localhost on the machine itself)", webpage.CarriedTo, path)
	} else {
		c.note("opens once, within ten minutes, on this machine; elsewhere, carry the port over first: ssh -L %s:%s", address, address)
	}
	return c.say(map[string]string{"link": link}, "%s\n", link)
}

func newCoordinatorPage(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Print a link that opens the coordinator's page in a browser, once",
		Long: `Print a link to the page on which a coordinator that runs shows its studies as
contributions arrive, its members and what they wait for, its budget and its
releases. The page changes nothing. It is served at page: of coordinator.yaml, a
loopback address or a Unix socket. Run this as the account that the coordinator runs as: who
may write in its folder may watch.`,
		Example: "  caucus coordinator page --dir /var/lib/caucus/coordinator",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usagef("coordinator page needs --dir DIR")
			}
			config, err := folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))
			if err != nil {
				return err
			}
			if config.Page == "" {
				return fmt.Errorf("%s has no page: write page: 127.0.0.1:7446 and start the coordinator again", filepath.Join(dir, folder.ConfigFile))
			}
			return c.printLink(config.Dir, config.Page)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	return cmd
}

// writeReport writes a release's page as a coordinator shows it.
func writeReport(w io.Writer, r study.Release) error {
	page, err := report.New(r, report.Options{Software: version()})
	if err != nil {
		return err
	}
	return page.Write(w)
}

func (a *agentCommand) page() *cobra.Command {
	return &cobra.Command{
		Use:   "page",
		Short: "Print a link that opens the agent's page in a browser, once",
		Long: `Print a link to the page on which a person of this site reads what is asked of
it and what would leave, says yes or no, and sees what was spent: as agent
preview, approve and refuse do, for an agent that runs. It is served at page: of
the configuration, a loopback address. Run this as the account that the agent
runs as: who may write in its state folder may decide.`,
		Example: "  caucus agent page --config agent.yaml",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			config, err := site.LoadConfig(a.config)
			if err != nil {
				return err
			}
			if config.Page == "" {
				return fmt.Errorf("%s has no page: write page: 127.0.0.1:7445 and start the agent again", a.config)
			}
			return a.printLink(config.State, config.Page)
		},
	}
}
