package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/coordinator"
	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/protocol/admin"
)

// Tests set these variables. A daemon calls checkpoint between two effects, and tests kill the
// process there.
var (
	checkpoint  func(effect string)
	witnessWait time.Duration    // 0 means the configured time
	now         func() time.Time // nil means the machine's clock
)

func newCoordinator(c *console.Console) *cobra.Command {
	return console.Group("coordinator", "Run the server that studies happen on",
		newCoordinatorInit(c),
		newCoordinatorRun(c), newCoordinatorPage(c), newCoordinatorOperator(c),
		newCoordinatorClock(c),
		newCoordinatorRotate(c), newCoordinatorBackup(c), newCoordinatorRestore(c),
		newCoordinatorMove(c), newCoordinatorMembers(c))
}

func newCoordinatorInit(c *console.Console) *cobra.Command {
	var o folder.InitOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a coordinator's folder: authority, keys, configuration, operator profile",
		Long: `Make everything a coordinator needs in a new folder: its certificate authority,
its keys, coordinator.yaml to edit, and operator.yaml, the profile of the first
operator. Move the profile to the operator's machine; whoever has the profile
controls the coordinator. Back the folder up.

The command also makes DIR.head, beside the folder, which holds the number of the
last ledger entry. Keep it out of the backups: it reveals that a folder was put back
to an older state, and the coordinator then releases nothing twice.`,
		Example: "  caucus coordinator init --dir /var/lib/caucus --address caucus.example.org:7443",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if o.Dir == "" || o.Address == "" {
				return console.Usagef("coordinator init needs --dir DIR and --address HOST:PORT, the address agents dial")
			}
			if err := folder.Init(o); err != nil {
				return err
			}
			document := struct {
				Dir     string `json:"dir"`
				Config  string `json:"config"`
				Profile string `json:"profile"`
				Head    string `json:"head"`
			}{o.Dir, filepath.Join(o.Dir, folder.ConfigFile),
				filepath.Join(o.Dir, folder.OperatorFile), o.HeadFile()}
			return c.Say(document, "configuration  %s\nprofile        %s\nhead           %s (leave it out of backups)\nstart it with: caucus coordinator run --dir %s\n", document.Config, document.Profile, document.Head, o.Dir)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder to make")
	f.StringVar(&o.Address, "address", "", "HOST:PORT that agents and operators dial")
	f.StringVar(&o.Listen, "listen", "", "HOST:PORT to listen on (default :7443)")
	f.StringVar(&o.Head, "head", "", "file for the number of the last ledger entry, outside of the folder and its backups (default DIR.head)")
	f.StringVar(&o.Operator, "operator", "", "name of the first operator (default operator)")
	return cmd
}

func newCoordinatorRun(c *console.Console) *cobra.Command {
	var dir string
	var single bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the coordinator until it is stopped",
		Long: `Run the coordinator of a folder. It stops gracefully on SIGINT and SIGTERM and
may be killed at any time: everything that it promised is on the disk, and it goes on
from there. If several replicas share one PostgreSQL database, one leads and the
others wait.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return console.Usagef("coordinator run needs --dir DIR")
			}
			config, err := folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))
			if err != nil {
				return err
			}
			config.Log, config.Checkpoint, config.Clock.Now, config.Software, config.Report,
				config.AllowNoStandby = c.Logger(), checkpoint, now, console.Version(), writeReport,
				single
			if witnessWait > 0 {
				config.WitnessWait = witnessWait
			}
			config.Stores, err = coordinator.WaitToLead(cmd.Context(), config)
			if errors.Is(err, context.Canceled) {
				return nil // ended by a signal before it led
			}
			if err != nil {
				return err
			}
			server, err := coordinator.New(config)
			if err != nil {
				return err
			}
			document := struct {
				Address string `json:"address"`
			}{fmt.Sprint(server.Addr())}
			return c.RunDaemon(cmd.Context(), document, "listening on "+document.Address, server)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().BoolVar(&single, "single", false, "run over a PostgreSQL that has no synchronous standby")
	return cmd
}

func newCoordinatorClock(c *console.Console) *cobra.Command {
	o := &operator{Console: c}
	var vouch bool
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Show the coordinator's clock, and vouch for it",
		Long: `Show the time on the coordinator's clock, and whether the coordinator trusts its
clock. It does not trust a clock that jumped, or that moved far ahead while the
coordinator was stopped. Then no study is sealed until the clock agrees again with
the time that has passed, or an operator vouches for it.`,
		Args: console.NoArguments,
		RunE: o.dialled(func(cmd *cobra.Command, _ []string, client *admin.Client) error {
			report, err := client.Clock(cmd.Context(), vouch)
			if err != nil {
				return err
			}
			document := struct {
				Time time.Time `json:"time"`
				// how far the coordinator is ahead of this machine's clock
				Seconds float64 `json:"ahead_seconds"`
				Doubt   string  `json:"doubt,omitempty"`
			}{report.Now, report.Skew.Seconds(), report.DoubtReason}
			return c.Print(document, func(w io.Writer) {
				fmt.Fprintf(w, "the coordinator's clock says %s, %v ahead of this machine's\n", report.Now.Format(time.DateTime), report.Skew.Round(time.Second))
				if report.DoubtReason == "" {
					fmt.Fprintln(w, "the coordinator trusts its clock")
					return
				}
				fmt.Fprintf(w, "the coordinator does not trust its clock: %s\n", report.DoubtReason)
			})
		}),
	}
	cmd.Flags().BoolVar(&vouch, "vouch", false, "say that the coordinator's clock is right")
	return o.flag(cmd)
}

func newCoordinatorMembers(c *console.Console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "members",
		Short: "List a coordinator's replicas: who lives, and who leads",
		Long: `List the replicas of a coordinator: which are alive, which leads, and those that
went within a day. The replica of the folder answers; if it does not run, one of
those under join: does. It needs neither PostgreSQL nor a leader.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return console.Usagef("coordinator members needs --dir DIR, a replica's folder")
			}
			config, err := folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))
			if err != nil {
				return err
			}
			if config.Replicas.Listen == "" {
				return fmt.Errorf("%s has no replicas: this coordinator looks for no others", folder.ConfigFile)
			}
			ring, err := folder.LoadKeyring(config)
			if err != nil {
				return err
			}
			_, client, err := cluster.TLS(ring.Authority, "members", time.Now)
			if err != nil {
				return err
			}
			var failed error
			for _, at := range append([]string{config.Replicas.AdvertisedAddress()},
				config.Replicas.Join...) {
				all, err := cluster.QueryMembers(cmd.Context(), client, at)
				if err == nil {
					return c.Print(all, func(w io.Writer) { printReplicas(w, all) })
				}
				failed = errors.Join(failed, err)
			}
			return fmt.Errorf("no replica answers: start one: %w", failed)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "a replica's folder")
	return cmd
}

func printReplicas(w io.Writer, all []cluster.Member) {
	t := console.NewTable(w, "replica", "agents dial", "state", "since", "role", "keys", "schemas",
		"version", "database")
	for _, m := range all {
		state, role := "gone", ""
		if m.Alive {
			state, role = "alive", "stands by"
		}
		if m.Alive && m.IsLeader {
			role = fmt.Sprintf("leads, epoch %d", m.Epoch)
		}
		t.Add(m.GossipAddress, m.Address, state, m.Since.UTC().Format(time.DateTime), role,
			fmt.Sprint(m.Keys),
			fmt.Sprint(m.Schemas), m.Version, m.Database)
	}
	t.Render()
}
