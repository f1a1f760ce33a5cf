package siteverbs

import (
	"fmt"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/cmd/internal/console"
)

func (a *Agent) page() *cobra.Command {
	return &cobra.Command{
		Use:   "page",
		Short: "Print a link that opens the agent's page in a browser, once",
		Long: `Print a link to the page of a running agent. On the page, a person of this site reads
what a study asks and what would leave, approves or refuses, and sees the privacy budget
spent, as with caucus agent preview, approve and refuse. The page's address is page: in
the configuration, a loopback address. Run this command with the agent's account:
whoever may write in the agent's state folder may decide.`,
		Example: "  caucus agent page --config agent.yaml",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			config, err := site.LoadConfig(a.config)
			if err != nil {
				return err
			}
			if config.PageAddress == "" {
				return fmt.Errorf("%s has no page: write page: 127.0.0.1:7445 and start the agent again", a.config)
			}
			return a.PrintLink(config.State, config.PageAddress)
		},
	}
}
