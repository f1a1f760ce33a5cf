package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"caucus/agent/health"
	"caucus/agent/site"
)

func (a *agentCommand) check() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether all is there that an agent needs",
		Long: `Look at the configuration, the certificate, the policy, the ledger, the disk, the
coordinator, the clock and every source with its mapping, and say of each in one
line whether it is ok, or what is wrong and what to do. Sources are read as a
study would read them. It changes nothing; the coordinator is asked for its list
of studies, as at each poll, and told nothing. What it shows is for the eyes of
this site. It fails (1) where there is a problem; a warning is none. A command
line that makes no sense is 2.

With --source it shows what is odd in that one, read as a study would now. It fails
where the source is not declared, or where its file can no longer be read as it was
declared: studies would get empty records.`,
		Example: `  caucus agent check --config agent.yaml
  ok       config       agent.yaml
  ok       certificate  for hospital-a, 364 days left
  ok       policy       classify; noise: site; ε ≤ 1 at unit record; a person approves
  ok       ledger       whole; ε = 5 of 5 left at unit record
  ok       disk         state: 21 GiB free
  ok       coordinator  caucus.example.org:7443 answers, with the certificate that was expected; 1 studies are open
  ok       clock        as the coordinator's, within 1s
  problem  source ward  studies of it wait: a person has to declare it first: caucus agent source declare ward`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source != "" {
				return a.checkSource(cmd.Context(), source)
			}
			config, err := site.LoadConfig(a.config)
			config.Clock.Now = now
			c := health.Check(cmd.Context(), config, a.config, err)
			if err := a.print(c, c.WriteText); err != nil {
				return err
			}
			switch n := c.Problems(); n {
			case 0:
				return nil
			case 1:
				return fmt.Errorf("there is a problem")
			default:
				return fmt.Errorf("there are %d problems", n)
			}
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "say what is odd in this source, and nothing else")
	return cmd
}
