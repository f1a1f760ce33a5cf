package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/aggregator/helper"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/protocol"
)

func newHelper(c *console.Console) *cobra.Command {
	return console.Group("helper", "Run the second server of studies with noise by two aggregators", newHelperInit(c), newHelperRun(c), newHelperKeys(c), newHelperStudies(c))
}

// helperDocument is the JSON document of "caucus helper init", and of "caucus helper keys" for a
// helper's folder.
type helperDocument struct {
	Dir    string `json:"dir"`
	Config string `json:"config"`
	Head   string `json:"head"`
	helper.Pins
	// Code is the code of both keys (helper.Pins.Code).
	Code string `json:"code"`
	// Coordinator is the coordinator's key that the helper accepts, or its code, "" if neither is
	// set.
	Coordinator string `json:"coordinator"`
}

func writePins(w io.Writer, p helper.Pins) {
	fmt.Fprintf(w, `
signing key  %s
sealing pin  %s
code         %s

Read the code to the coordinator's operator and to every site by telephone, and never send it
through the coordinator. The operator types it, with this machine's address:
  caucus helper keys --dir coordinator --address HOST:7444 --key %[3]s
A file of caucus helper keys --json, by mail, may take the place of the code there; the command
prints the same code, or the file is not yours. Each site writes into its policy:
  helper: {name: "who runs it", code: %[3]s}
`, p.Signing, p.Sealing, p.Code())
}

// writeCoordinator prints the coordinator's key that a helper pins, with its code.
func writeCoordinator(w io.Writer, key string) {
	if code, is, _ := protocol.ReadKeyCode(key); is {
		fmt.Fprintf(w, "\ncoordinator  not known yet: the helper waits for the one whose code is %s\n", code)
	}
	var k protocol.SignerKey
	if k.UnmarshalText([]byte(key)) == nil {
		fmt.Fprintf(w, "\ncoordinator  %s\n             code %s, as caucus helper keys prints it there\n", key, protocol.KeyCode(k[:]))
	}
}

// keyIn returns a key that was typed, or the field of a JSON document of caucus helper keys in a
// file, with the code of all keys there, "" if there are none.
func keyIn(text, field string) (key, code string, err error) {
	b, err := input.ReadWhole(text)
	if err != nil {
		return text, "", nil // it was typed
	}
	var d struct {
		Key     string `json:"key"`
		Signing string `json:"signing"`
		Sealing string `json:"sealing"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return "", "", fmt.Errorf("read %s: it is no document of caucus helper keys --json: %w", text, err)
	}
	var pins helper.Pins
	if errors.Join(pins.Signing.UnmarshalText([]byte(d.Signing)),
		pins.Sealing.UnmarshalText([]byte(d.Sealing))) == nil {
		code = pins.Code()
	}
	key = map[string]string{"key": d.Key, "signing": d.Signing}[field]
	if key == "" {
		return "", "", fmt.Errorf("read %s: it has no %s: give what caucus helper keys --json wrote at the other server", text, field)
	}
	return key, code, nil
}

func newHelperInit(c *console.Console) *cobra.Command {
	var o helper.InitOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a helper's folder: keys, policy, configuration",
		Long: `Make everything a helper needs in a new folder: its signing key, the key that
contributions are encrypted to, and helper.yaml to edit, which says which studies the
helper serves. The command prints the keys that others must pin.

Another organisation than the coordinator's must run the helper: whoever has both
folders can read every contribution.

The command also makes DIR.head, beside the folder, which holds the helper's progress.
Keep it out of the backups: it reveals that a folder was put back to an older state,
and then no contribution is checked twice.`,
		Example: "  caucus helper init --dir /var/lib/caucus-helper/helper --coordinator 3f0c…",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if o.Dir == "" {
				return console.Usagef("helper init needs --dir DIR")
			}
			var err error
			if o.Coordinator, _, err = keyIn(o.Coordinator, "key"); err != nil {
				return err
			}
			pins, err := helper.Init(o)
			if err != nil {
				return err
			}
			document := helperDocument{o.Dir, filepath.Join(o.Dir, helper.ConfigFile), o.HeadFile(),
				pins, pins.Code(), o.Coordinator}
			return c.Print(document, func(w io.Writer) {
				fmt.Fprintf(w, "configuration  %s\nhead           %s (leave it out of backups)\n", document.Config, document.Head)
				writePins(w, pins)
				writeCoordinator(w, o.Coordinator)
				next := "start it with: caucus helper run --dir " + o.Dir
				if o.Coordinator == "" {
					next = fmt.Sprintf("Write the coordinator's key into %s: its operator has it from caucus helper keys.\nThen %s", document.Config, next)
				}
				fmt.Fprintf(w, "\n%s\n", next)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder to make")
	f.StringVar(&o.Listen, "listen", "", "HOST:PORT to listen on (default :7444)")
	f.StringVar(&o.Head, "head", "", "file for the helper's progress, outside of the folder and its backups (default DIR.head)")
	f.StringVar(&o.Coordinator, "coordinator", "", "the coordinator's key, its code, or a file with it: its operator has all from caucus helper keys")
	return cmd
}

func newHelperRun(c *console.Console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the helper until it is stopped",
		Long: `Run the helper of a folder. It stops gracefully on SIGINT and SIGTERM and may be
killed at any time: everything that it answered is on the disk, and it goes on from there.

A helper that knows only the code of its coordinator's key waits for the coordinator to
call, and then writes the key into helper.yaml.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return console.Usagef("helper run needs --dir DIR")
			}
			config, err := helper.LoadConfig(dir)
			if err != nil {
				return err
			}
			config.Log, config.Checkpoint = c.Logger(), checkpoint
			if !config.HasCoordinatorKey() && config.CoordinatorCode != "" {
				if config, err = helper.PinCoordinator(cmd.Context(), config); err != nil {
					return err
				}
			}
			server, err := helper.New(config)
			if err != nil {
				return err
			}
			document := struct {
				Address string `json:"address"`
				helper.Pins
			}{server.Addr(), server.Pins()}
			return c.RunDaemon(cmd.Context(), document, "listening on "+document.Address, server)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the helper's folder")
	return cmd
}

func newHelperStudies(c *console.Console) *cobra.Command {
	var dir, end string
	cmd := &cobra.Command{
		Use:   "studies",
		Short: "List the studies that take a place at the helper, or end one",
		Long: `List the studies that the helper accepted and neither released nor ended. Each takes one
of max_open places until its deadline, and its cost is promised out of the budget.

--end ends one, by its name or hash: its place is free, nothing is released of it, and the
coordinator fails it as soon as it asks. What sites were charged for it stays charged. Use
--end for a study that the coordinator has forgotten. Stop the helper first.`,
		Example: `  caucus helper studies --dir /var/lib/caucus-helper/helper
  caucus helper studies --dir /var/lib/caucus-helper/helper --end ward`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return console.Usagef("helper studies needs --dir DIR")
			}
			config, err := helper.LoadConfig(dir)
			if err != nil {
				return err
			}
			if end != "" {
				if err := helper.End(cmd.Context(), config, end); err != nil {
					return err
				}
			}
			all, err := helper.Studies(cmd.Context(), config)
			if err != nil {
				return err
			}
			document := struct {
				Ended   string                 `json:"ended,omitempty"`
				Studies []helper.AcceptedStudy `json:"studies"`
			}{end, all}
			return c.Print(document, func(w io.Writer) {
				if end != "" {
					fmt.Fprintf(w, "study %s is ended; nothing is released of it\n", end)
				}
				if len(all) == 0 {
					fmt.Fprintln(w, "no study takes a place")
				}
				for _, p := range all {
					fmt.Fprintf(w, "%s  %s  %d contributions checked  until %s  %s\n",
						cmp.Or(p.Name,
							"(plan not stored)"), p.State, p.Contributions, untilText(p.Deadline),
						p.Plan)
					for _, cost := range p.Costs {
						fmt.Fprintf(w, "  promised: %s\n", cost)
					}
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "the helper's folder")
	f.StringVar(&end, "end", "", "end this study, by name or hash, without a release")
	return cmd
}

func untilText(deadline time.Time) string {
	if deadline.IsZero() {
		return "it is ended"
	}
	return deadline.UTC().Format(time.RFC3339)
}
