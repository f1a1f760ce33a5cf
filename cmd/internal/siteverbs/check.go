package siteverbs

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/cmd/internal/console"
)

func (a *Agent) check() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether an agent has everything it needs",
		Long: `Check the configuration, the certificate, the policy, the ledger, the disk, the
coordinator, the clock and every source with its mapping. Each gets one line: ok, or
what is wrong and what to do. Sources are read as a study would read them. The check
changes nothing. It asks the coordinator for its list of studies, as each poll does,
and tells it nothing. Keep the output at this site: it may show contents of files.
The exit code is 1 if there is a problem (a warning is no problem), and 2 if the
command line is wrong.

With --source it shows only the oddities of this source, read as a study would read
it now. It fails if the source is not declared, or if its file can no longer be read
as declared: studies would then get empty records.`,
		Example: `  caucus agent check --config agent.yaml
  ok       config       agent.yaml
  ok       certificate  for hospital-a, 364 days left
  ok       policy       classify; noise: site; ε ≤ 1 at unit record; a person approves
  ok       ledger       whole; ε = 5 of 5 left at unit record
  ok       disk         state: 21 GiB free
  ok       coordinator  caucus.example.org:7443 answers, with the certificate that was expected; 1 studies are open
  ok       clock        as the coordinator's, within 1s
  problem  source ward  no study can use it yet: a person has to declare it first: caucus agent source declare ward`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source != "" {
				return a.checkSource(cmd.Context(), source)
			}
			config, err := site.LoadConfig(a.config)
			config.Clock.Now = a.program.Now
			c := health.Check(cmd.Context(), config, a.config, err)
			if err := a.Print(c, func(w io.Writer) { c.WriteText(w) }); err != nil {
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
	cmd.Flags().StringVar(&source, "source", "", "show only the oddities of this source")
	return cmd
}
