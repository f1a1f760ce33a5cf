package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/aggregator/helper"
	"caucus/cmd/internal/console"
	"caucus/coordinator/folder"
	"caucus/protocol"
)

func newHelperKeys(c *console.Console) *cobra.Command {
	var dir, address, key string
	var reconcile bool
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Print what the other server pins, and name the helper to a coordinator",
		Long: `Print the keys that others pin. For a helper's folder: the helper's signing and sealing
keys, and the coordinator key that it pins.

For a coordinator's folder: the key that the coordinator signs with for its helper. The
helper's operator pins it; the command makes the key if there is none. --address and
--key take the helper's address and signing key, a file that caucus helper keys --json
wrote there, or the code of the helper's keys, and write both into coordinator.yaml, also in place of an earlier helper.
Then studies with noise: aggregators are possible. Stop the coordinator first. Without
--address the coordinator may run.

Each key has a short code. Both sides read it to each other by telephone: equal codes mean
equal keys, however the keys were sent.

Another organisation must run the helper: whoever has both servers can read every
contribution.

Use --reconcile after a coordinator's folder was restored from a backup and its ledger
was reconciled: open studies with noise: aggregators fail, and new ones are possible.`,
		Example: `  caucus helper keys --dir /var/lib/caucus-helper/helper
  caucus helper keys --dir /var/lib/caucus/coordinator
  caucus helper keys --dir /var/lib/caucus/coordinator --address helper.example.org:7444 --key 9ab4…`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			named := address != "" || key != ""
			switch {
			case dir == "":
				return console.Usagef("helper keys needs --dir DIR, of a helper or of a coordinator")
			case helper.IsHelperFolder(dir) && (named || reconcile):
				return console.Usagef("%s is a helper's folder: --address, --key and --reconcile are for a coordinator's; after a restore run caucus ledger reconcile", dir)
			case helper.IsHelperFolder(dir):
				return helperKeys(c, dir)
			case (address == "") != (key == ""):
				return console.Usagef("give --address and --key together: both are the helper's, from its operator")
			case reconcile && named:
				return console.Usagef("--reconcile names no helper")
			}
			if reconcile {
				behind, err := folder.ReconcileShares(cmd.Context(), dir)
				if err != nil {
					return err
				}
				if !behind {
					return c.Say(map[string]bool{"behind": behind}, "nothing is missing: the store of shares is not behind its head file\n")
				}
				return c.Say(map[string]bool{"behind": behind}, "studies with noise by aggregators that were under way fail; new ones can be made\n")
			}
			key, code, err := keyIn(key, "signing")
			if err != nil {
				return err
			}
			if typed, is, _ := protocol.ReadKeyCode(key); is {
				code = typed
			}
			r, err := folder.MakeHelper(dir, address, key)
			if err != nil {
				return err
			}
			return c.Print(r, func(w io.Writer) {
				fmt.Fprintf(w, "key     %s (for the helper's operator: coordinator: in helper.yaml)\n        code %s: the helper's operator types it, or reads the same\nhead    %s (leave it out of backups)\n",
					r.Key, r.Code, r.Head)
				if r.Helper == nil {
					fmt.Fprintln(w, "helper  none yet: give --address and --key (its operator reads the code of its keys to you)")
					return
				}
				fmt.Fprintf(w, "helper  %s, which signs with %s\n", r.Helper.Address, r.Helper.Key)
				if code != "" {
					fmt.Fprintf(w, "        code %s: the helper's operator reads the same by telephone, or the file is not theirs\n", code)
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "folder of a helper or of a coordinator")
	f.StringVar(&address, "address", "", "for a coordinator: HOST:PORT of its helper")
	f.StringVar(&key, "key", "", "for a coordinator: its helper's signing key, a file with it, or the code of the helper's keys")
	f.BoolVar(&reconcile, "reconcile", false, "for a coordinator, after a restore: let open studies fail, and go on")
	return cmd
}

func helperKeys(c *console.Console, dir string) error {
	config, err := helper.LoadConfig(dir)
	if err != nil {
		return err
	}
	pins, err := helper.ReadPins(config)
	if err != nil {
		return err
	}
	document := helperDocument{dir, filepath.Join(dir, helper.ConfigFile), config.Head, pins,
		pins.Code(), config.CoordinatorCode}
	if config.HasCoordinatorKey() {
		document.Coordinator = config.Coordinator.String()
	}
	return c.Print(document, func(w io.Writer) {
		if document.Coordinator == "" {
			fmt.Fprintf(w, "coordinator  none: write its key into %s\n", document.Config)
		} else {
			writeCoordinator(w, document.Coordinator)
		}
		writePins(w, pins)
	})
}
