package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/coordinator/folder"
)

func newCoordinatorHelper(c *console) *cobra.Command {
	var dir, address, key string
	var reconcile bool
	cmd := &cobra.Command{
		Use:   "helper",
		Short: "Name the second server of studies with noise by two aggregators",
		Long: `Print the key that this coordinator signs with for its helper, making it if need be: the
helper's operator pins it. With the helper's address and the signing key that caucus helper
init printed there, write both into coordinator.yaml. Studies with noise: aggregators can
then be made. Stop the coordinator first.

The helper is worth something if another organisation runs it: who has both servers can
read every contribution.

With --reconcile, after this coordinator's folder was restored from a backup and its ledger
was reconciled: studies with noise by aggregators that were under way fail, and new ones can
be made.`,
		Example: `  caucus coordinator helper --dir /var/lib/caucus
  caucus coordinator helper --dir /var/lib/caucus --address helper.example.org:7444 --key 9ab4…`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case dir == "":
				return usagef("coordinator helper needs --dir DIR")
			case (address == "") != (key == ""):
				return usagef("give --address and --key together: both are the helper's, from its operator")
			case reconcile && address != "":
				return usagef("--reconcile names no helper")
			}
			if reconcile {
				behind, err := folder.ReconcileShares(cmd.Context(), dir)
				if err != nil {
					return err
				}
				return c.print(map[string]bool{"behind": behind}, func(w io.Writer) error {
					if !behind {
						_, err := fmt.Fprintln(w, "nothing is missing: what is kept of shares is not behind its head file")
						return err
					}
					_, err := fmt.Fprintln(w, "studies with noise by aggregators that were under way fail; new ones can be made")
					return err
				})
			}
			r, err := folder.MakeHelper(dir, address, key)
			if err != nil {
				return err
			}
			return c.print(r, func(w io.Writer) error {
				fmt.Fprintf(w, "key     %s (for the helper's operator: coordinator: in helper.yaml)\nhead    %s (leave it out of backups)\n", r.Key, r.Head)
				if r.Helper == nil {
					_, err := fmt.Fprintln(w, "helper  none yet: give --address and --key, which its operator has from caucus helper init")
					return err
				}
				_, err := fmt.Fprintf(w, "helper  %s, which signs with %s\n", r.Helper.Address, r.Helper.Key)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "the coordinator's folder")
	f.StringVar(&address, "address", "", "HOST:PORT of the helper")
	f.StringVar(&key, "key", "", "the helper's signing key")
	f.BoolVar(&reconcile, "reconcile", false, "after a restore: fail what was under way, and go on")
	return cmd
}
