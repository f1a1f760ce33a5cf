package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"caucus/helper"
)

func newHelper(c *console) *cobra.Command {
	return group("helper", "Run the second server of studies with noise by two aggregators", newHelperInit(c), newHelperRun(c), newHelperShow(c), newHelperReconcile(c))
}

// helperDocument is the JSON document of helper init and show.
type helperDocument struct {
	Dir    string `json:"dir"`
	Config string `json:"config"`
	Head   string `json:"head"`
	helper.Pins
	// Coordinator is the key that is pinned, "" where none is yet.
	Coordinator string `json:"coordinator"`
}

// writePins says whom to give what.
func writePins(w io.Writer, p helper.Pins) error {
	_, err := fmt.Fprintf(w, `
signing key  %s
sealing pin  %s

Give the signing key to the coordinator's operator, with this machine's address. Give both
to every site, by telephone or on paper and never through the coordinator. A site's
policy then says
  helper: {name: "who runs it", signing: %s, sealing: %s}
`, p.Signing, p.Sealing, p.Signing, p.Sealing)
	return err
}

func newHelperInit(c *console) *cobra.Command {
	var o helper.InitOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a helper's folder: keys, policy, configuration",
		Long: `Make everything a helper needs in a new folder: its signing key, the key that
contributions are sealed to, and helper.yaml to edit, which says which studies it serves.
It prints what others must pin.

A helper is worth something if another organisation runs it than the coordinator: who
has both folders can read every contribution.

Beside the folder it makes DIR.head, which remembers how far the helper was: keep it
out of the backups, so that a folder that is put back to an older state is found out and
no contribution is checked twice.`,
		Example: "  caucus helper init --dir /var/lib/caucus-helper/helper --coordinator 3f0c…",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if o.Dir == "" {
				return usagef("helper init needs --dir DIR")
			}
			pins, err := helper.Init(o)
			if err != nil {
				return err
			}
			document := helperDocument{o.Dir, filepath.Join(o.Dir, helper.ConfigFile), o.HeadFile(), pins, o.Coordinator}
			return c.print(document, func(w io.Writer) error {
				fmt.Fprintf(w, "configuration  %s\nhead           %s (leave it out of backups)\n", document.Config, document.Head)
				if err := writePins(w, pins); err != nil {
					return err
				}
				next := "start it with: caucus helper run --dir " + o.Dir
				if o.Coordinator == "" {
					next = fmt.Sprintf("Write the coordinator's key into %s: its operator's caucus coordinator helper prints it.\nThen %s", document.Config, next)
				}
				_, err := fmt.Fprintf(w, "\n%s\n", next)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder to make")
	f.StringVar(&o.Listen, "listen", "", "HOST:PORT to listen on (default :7444)")
	f.StringVar(&o.Head, "head", "", "file that remembers how far the helper was, outside of the folder and its backups (default DIR.head)")
	f.StringVar(&o.Coordinator, "coordinator", "", "the key that caucus coordinator helper printed at the coordinator")
	return cmd
}

func newHelperRun(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the helper until it is stopped",
		Long: `Run the helper of a folder. It stops gracefully on SIGINT and SIGTERM and may be
killed at any time: what it had said is on the disk, and it goes on from there.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("helper run needs --dir DIR")
			}
			config, err := helper.LoadConfig(dir)
			if err != nil {
				return err
			}
			config.Log, config.Checkpoint = c.logger(), checkpoint
			server, err := helper.New(config)
			if err != nil {
				return err
			}
			document := struct {
				Address string `json:"address"`
				helper.Pins
			}{server.Addr(), server.Pins()}
			return c.runs(cmd.Context(), document, "listening on "+document.Address, server)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the helper's folder")
	return cmd
}

func newHelperShow(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print again what others pin of this helper",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usagef("helper show needs --dir DIR")
			}
			config, err := helper.LoadConfig(dir)
			if err != nil {
				return err
			}
			pins, err := helper.ReadPins(config)
			if err != nil {
				return err
			}
			document := helperDocument{dir, filepath.Join(dir, helper.ConfigFile), config.Head, pins, ""}
			if config.Pinned() {
				document.Coordinator = config.Coordinator.String()
			}
			return c.print(document, func(w io.Writer) error {
				if document.Coordinator == "" {
					fmt.Fprintf(w, "coordinator  none: write its key into %s\n", document.Config)
				} else {
					fmt.Fprintf(w, "coordinator  %s\n", document.Coordinator)
				}
				return writePins(w, pins)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the helper's folder")
	return cmd
}

func newHelperReconcile(c *console) *cobra.Command {
	var dir string
	var charges []string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Let a helper speak again whose folder was put back to an older state",
		Long: `After a helper's folder was restored from a backup it says nothing, because it may have
forgotten what it checked and released. Stop it, and run this: it charges what the
ledger lacks, makes a new sealing key, and ends every study under way at this helper, which
cannot be released any more. Parties then pin the new key: get it to them by other
ways than the coordinator's.

Where the ledger lost entries, --charge names what each of them cost, as
UNIT:epsilon=E or UNIT:rho=R: caucus release show and caucus verify print it of the releases
of that time.`,
		Example: `  caucus helper reconcile --dir /var/lib/caucus-helper/helper
  caucus helper reconcile --dir /var/lib/caucus-helper/helper --charge record:rho=0.0172`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("helper reconcile needs --dir DIR")
			}
			lost, err := costsOf(charges)
			if err != nil {
				return err
			}
			config, err := helper.LoadConfig(dir)
			if err != nil {
				return err
			}
			document, err := helper.Reconcile(cmd.Context(), config, lost)
			if err != nil {
				return err
			}
			return c.print(document, func(w io.Writer) error {
				if !document.Behind {
					_, err := fmt.Fprintln(w, "nothing is missing: the folder is not behind its head file")
					return err
				}
				for _, cost := range document.Charged {
					fmt.Fprintf(w, "charged again: %s\n", cost)
				}
				fmt.Fprintln(w, "the helper speaks again; what was under way has failed here. The sealing key is another one:")
				return writePins(w, document.Pins)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the helper's folder")
	cmd.Flags().StringArrayVar(&charges, "charge", nil, "what a lost entry of the ledger cost, UNIT:epsilon=E or UNIT:rho=R (repeatable)")
	return cmd
}
