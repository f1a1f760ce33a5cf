package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/coordinator/folder"
)

func newCoordinatorRotate(c *console.Console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Change the keys of a stopped coordinator: its authority and its signer",
		Long: `Make a new certificate authority and a new signing key, and delete the old ones. The
old key signs the new one. With their next call, agents and operators trust the new
key and renew their certificates; caucus release verify finds the signature in the
release. Signatures by the old key stay valid. Stop the coordinator first.

A thief of the old keys can deceive only those who have not called since the change.
Invitations stay valid. Keys can be changed 32 times.`,
		Example: "  caucus coordinator rotate --dir /var/lib/caucus/coordinator",
		Args:    console.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return console.Usagef("coordinator rotate needs --dir DIR")
			}
			key, err := folder.Rotate(dir, time.Now())
			if err != nil {
				return err
			}
			document := struct {
				Signer string `json:"signer"`
			}{key.String()}
			return c.Say(document, "new signing key  %s\nback the folder up now: an older backup has keys that are deleted\n", document.Signer)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	return cmd
}

func newCoordinatorBackup(c *console.Console) *cobra.Command {
	var dir, out string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy a coordinator's folder consistently, while it runs",
		Long: `Copy a coordinator's folder to a new folder: store, ledger, keys and configuration, as
they are at one moment, whether or not the coordinator runs. Other ways of copying may
give an inconsistent copy while the coordinator runs. The copy is as secret as the
folder. It does not include the head file beside the folder; never put an old head
file back, because the head file shows how old a backup is.`,
		Example: "  caucus coordinator backup --dir /var/lib/caucus/coordinator --out /backup/caucus-2026-03-01",
		Args:    console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || out == "" {
				return console.Usagef("coordinator backup needs --dir DIR and --out FOLDER")
			}
			report, err := folder.Backup(cmd.Context(), dir, out, time.Now())
			if err != nil {
				return err
			}
			return c.Say(report, "%d files in %s\nledger head %s\n", len(report.Files), out,
				report.Ledger)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().StringVar(&out, "out", "", "folder to make")
	console.MarkOutput(cmd.Flags(), "out", console.AcceptsFolder)
	return cmd
}

func newCoordinatorRestore(c *console.Console) *cobra.Command {
	var from, dir string
	var check bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Check a backup, and copy it to a coordinator's folder",
		Long: `Check a backup: all files are unchanged, store and ledger are undamaged and from the
same moment, keys and configuration can be read. If the head file beside the folder is
there, show how many ledger entries the backup lacks. Then, without --check, copy the
backup to a folder that must not exist yet.

Next, give caucus ledger reconcile --dir DIR each release that was published since the
backup: it charges the lost costs, and marks the studies as released. Members who were
revoked since the backup are members again: revoke them again. Keep the old folder.`,
		Example: `  caucus coordinator restore --from /backup/caucus-2026-03-01 --check
  caucus coordinator restore --from /backup/caucus-2026-03-01 --dir /var/lib/caucus/coordinator`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || dir == "" && !check {
				return console.Usagef("coordinator restore needs --from FOLDER and --dir DIR, or --check")
			}
			do := folder.Restore
			if check {
				do = folder.CheckBackup
			}
			report, err := do(cmd.Context(), from, dir)
			if err != nil {
				return err
			}
			return c.Print(report, func(w io.Writer) {
				fmt.Fprintf(w, "backup of %s: %d files, whole\nledger head %s\n",
					report.MadeAt.Format(time.DateTime), len(report.Files), report.Ledger)
				if report.NewerEntries > 0 {
					fmt.Fprintf(w, "%d entries were made since: charge them with caucus ledger reconcile before it releases anything\n", report.NewerEntries)
				}
				if !check {
					fmt.Fprintf(w, "restored to %s\nbefore it runs: caucus ledger reconcile --dir %[1]s, with --release for each release published since\nthen revoke again whoever was revoked since (caucus party revoke)\n", dir)
				}
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the backup")
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder: to make, or to compare with")
	cmd.Flags().BoolVar(&check, "check", false, "only check the backup")
	return cmd
}

func newCoordinatorMove(c *console.Console) *cobra.Command {
	var dir, to string
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Carry a stopped coordinator over to PostgreSQL",
		Long: `Copy the store, the ledger and the shares of a stopped coordinator to an empty
PostgreSQL database, and write the database into coordinator.yaml. The old files stay
in the folder as FILE.moved: delete them once the coordinator runs, and never put them
back. Then copy the folder and the head file to each further machine: one machine
leads, the others stand by.`,
		Example: "  caucus coordinator move --dir /var/lib/caucus --to postgres://caucus@db.example.org/caucus",
		Args:    console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || to == "" {
				return console.Usagef("coordinator move needs --dir DIR and --to postgres://USER@HOST/DATABASE")
			}
			rows, err := folder.MoveToPostgreSQL(cmd.Context(), dir, to)
			if err != nil {
				return err
			}
			document := struct {
				Rows int `json:"rows"`
			}{rows}
			return c.Say(document, "%d rows carried over\n", document.Rows)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().StringVar(&to, "to", "", "postgres:// address of an empty database")
	return cmd
}
