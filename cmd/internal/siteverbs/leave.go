package siteverbs

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

func (a *Agent) leave() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "End this site's membership, and delete its key, studies and records here",
		Long: `Leave the coordinator for good. Stop the agent first. Open studies without a
contribution of this site go on without it; contributions that were received, and
releases, cannot be taken back. The coordinator lists the site as left.

Identity, keys, studies (with uploads, receipts and releases: save what you need) and
imported records are deleted here. The ledger and the audit log stay: what was released
about people stays released, and counts if the site takes part again, here or elsewhere.
docs/leaving.md has the whole list.`,
		Example: "  caucus agent leave --config agent.yaml --yes",
		Args:    console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return console.Usagef("agent leave deletes this site's key, studies and imported " +
					"records, and cannot be undone (see --help): add --yes")
			}
			ag, err := a.Open()
			if err != nil {
				return err
			}
			defer ag.Close()
			left, err := ag.Leave(cmd.Context())
			if err != nil {
				return err
			}
			return a.Print(left, func(w io.Writer) {
				fmt.Fprintf(w, "left       %s\n", left.Party)
				if len(left.Declined) > 0 {
					fmt.Fprintf(w, "declined   %s\n", strings.Join(left.Declined, ", "))
				}
				if left.Received > 0 {
					fmt.Fprintf(w, "stays      %s to open studies: received, and not to be taken back\n",
						console.Counted(left.Received, "contributions"))
				}
				fmt.Fprintf(w, "deleted    %s\nkept       %s: what was released stays released\n",
					strings.Join(left.Deleted, ", "), strings.Join(left.Kept, ", "))
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "leave, without asking")
	return cmd
}
