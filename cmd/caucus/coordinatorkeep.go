package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"caucus/coordinator/folder"
)

func newCoordinatorRotate(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Change the keys of a stopped coordinator: its authority and its signer",
		Long: `Make a new authority and a new signing key, and delete the old ones. The old key
signs that it hands over to the new one, so agents and operators follow with their
next call and renew their certificates, and caucus release verify follows by what a release
carries. What the old key signed stays good. Stop the coordinator first.

Who had stolen the old keys can make nobody believe anything who followed; those who
did not call since still trust them. Invitations stay good. Keys can be changed 32
times.`,
		Example: "  caucus coordinator rotate --dir /var/lib/caucus/coordinator",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usagef("coordinator rotate needs --dir DIR")
			}
			key, err := folder.Rotate(dir, time.Now())
			if err != nil {
				return err
			}
			document := struct {
				Signer string `json:"signer"`
			}{key.String()}
			return c.say(document, "new signing key  %s\nback the folder up now: an older backup has keys that are deleted\n", document.Signer)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	return cmd
}

func newCoordinatorBackup(c *console) *cobra.Command {
	var dir, out string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy a coordinator's folder, whole and of one moment, while it runs",
		Long: `Copy a coordinator's folder to a new folder: store, ledger, keys and configuration,
of one moment, whether or not the coordinator runs. A copy made by other means while
it runs may be torn. The copy is as secret as the folder. The head file beside the
folder is not in it, and must not be put back with it: it tells how old a backup is.`,
		Example: "  caucus coordinator backup --dir /var/lib/caucus/coordinator --out /backup/caucus-2026-03-01",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || out == "" {
				return usagef("coordinator backup needs --dir DIR and --out FOLDER")
			}
			report, err := folder.Backup(cmd.Context(), dir, out, time.Now())
			if err != nil {
				return err
			}
			return c.say(report, "%d files in %s\nledger head %s\n", len(report.Files), out, report.Ledger)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().StringVar(&out, "out", "", "folder to make")
	writes(cmd.Flags(), "out", asFolder)
	return cmd
}

func newCoordinatorRestore(c *console) *cobra.Command {
	var from, dir string
	var check bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Check a backup, and copy it to a coordinator's folder",
		Long: `Check that a backup is whole: every file is what was backed up, store and ledger
are undamaged and of one moment, keys and configuration can be read. Say how many
entries the ledger has made since, if the head file beside the folder knows. Then,
without --check, copy it to a folder that must not be there yet.

Then give caucus ledger reconcile --dir DIR each release that was published since the
backup: it charges what was lost, and their studies end as released. Who was revoked
since is a member again: revoke them again. Keep the folder that is replaced.`,
		Example: `  caucus coordinator restore --from /backup/caucus-2026-03-01 --check
  caucus coordinator restore --from /backup/caucus-2026-03-01 --dir /var/lib/caucus/coordinator`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || dir == "" && !check {
				return usagef("coordinator restore needs --from FOLDER and --dir DIR, or --check")
			}
			do := folder.Restore
			if check {
				do = folder.CheckBackup
			}
			report, err := do(cmd.Context(), from, dir)
			if err != nil {
				return err
			}
			return c.print(report, func(w io.Writer) error {
				fmt.Fprintf(w, "backup of %s: %d files, whole\nledger head %s\n", report.Made.Format(time.DateTime), len(report.Files), report.Ledger)
				if report.Behind > 0 {
					fmt.Fprintf(w, "%d entries were made since: charge them with caucus ledger reconcile before it releases anything\n", report.Behind)
				}
				if !check {
					fmt.Fprintf(w, "restored to %s\nbefore it runs: caucus ledger reconcile --dir %[1]s, with --release for each release published since\nthen revoke again whoever was revoked since (caucus party revoke)\n", dir)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the backup")
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder: to make, or to compare with")
	cmd.Flags().BoolVar(&check, "check", false, "only check the backup")
	return cmd
}

func newCoordinatorMove(c *console) *cobra.Command {
	var dir, to string
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Carry a stopped coordinator over to PostgreSQL",
		Long: `Copy the store, the ledger and the shares of a stopped coordinator to an empty
PostgreSQL database, and name it in coordinator.yaml. Its files stay in the folder
as FILE.moved: delete them once it runs, and never put them back. Then copy folder
and head file to each further machine: one of them leads, the others stand by.`,
		Example: "  caucus coordinator move --dir /var/lib/caucus --to postgres://caucus@db.example.org/caucus",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || to == "" {
				return usagef("coordinator move needs --dir DIR and --to postgres://USER@HOST/DATABASE")
			}
			rows, err := folder.Move(cmd.Context(), dir, to)
			if err != nil {
				return err
			}
			document := struct {
				Rows int `json:"rows"`
			}{rows}
			return c.say(document, "%d rows carried over\n", document.Rows)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().StringVar(&to, "to", "", "postgres:// address of an empty database")
	return cmd
}
