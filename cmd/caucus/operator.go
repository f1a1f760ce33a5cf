package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
	"caucus/coordinator/folder"
	"caucus/protocol"
	"caucus/protocol/admin"
)

// dial connects with the profile's identity, and renews a profile that is about to expire. A file
// beside the profile holds what this operator knows of the coordinator (Memory). From this file the
// client notices that a coordinator was restored from an old backup.
func (o *operator) dial(ctx context.Context) (*admin.Client, error) {
	if o.profile == "" {
		return nil, console.Usagef("say who you are: --profile FILE (coordinator init writes operator.yaml), or CAUCUS_PROFILE")
	}
	id, err := protocol.LoadIdentity(o.profile)
	if err != nil {
		return nil, err
	}
	from, until, err := id.Validity()
	if err != nil {
		return nil, err
	}
	caller, err := id.Caller()
	if err != nil {
		return nil, err
	}
	left := time.Until(until)
	if left <= 0 {
		return nil, fmt.Errorf("profile %s has expired on %s: on the coordinator's machine run caucus coordinator operator %s --dir DIR, or have another operator invite you",
			o.profile, until.Format(time.DateOnly), caller.Name)
	}
	options := protocol.DialOptions{NewestSignedFile: o.profile + ".memory"}
	client, err := admin.Dial(id, options)
	if err != nil {
		return nil, err
	}
	l, err := client.Studies(ctx)
	if err == nil { // after an error, the caller's next call fails too and reports why
		for _, trouble := range []error{l.CoordinatorRestored, l.HelperRestored, l.StoreError} {
			if trouble != nil {
				o.Note("warning: %v", trouble)
			}
		}
	}
	if followed, news := id.WithKeys(client.Keys(), l.Addresses); news {
		if err := followed.Save(o.profile); err != nil {
			o.Note("note: the coordinator changed its keys or addresses, which could not be kept: %v", err)
		} else {
			client.Close()
			id = followed
			if client, err = admin.Dial(id, options); err != nil {
				return nil, err
			}
		}
	}
	if left > until.Sub(from)/3 && !id.Outdated() {
		return client, nil
	}
	renewed, err := client.Renew(ctx)
	if err == nil {
		err = renewed.Save(o.profile)
	}
	if err != nil {
		o.Note("note: the profile is good until %s and could not be renewed: %v", until.Format(time.DateOnly), err)
		return client, nil
	}
	client.Close()
	return admin.Dial(renewed, options)
}

// dialled makes a command from a function that calls the coordinator.
func (o *operator) dialled(call func(*cobra.Command, []string,
	*admin.Client) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := o.dial(cmd.Context())
		if err != nil {
			return err
		}
		defer client.Close()
		return call(cmd, args, client)
	}
}

func enrolOperator(c *console.Console, cmd *cobra.Command, invitation, out string) error {
	text, err := siteverbs.ReadSecret(cmd.InOrStdin(), invitation)
	if err != nil {
		return err
	}
	v, err := protocol.ParseInvitation(text)
	if err != nil {
		return err
	}
	if v.Role != protocol.RoleOperator {
		return fmt.Errorf("the invitation is for role %s: a party enrols with caucus agent enrol", v.Role)
	}
	if err := mayReplace(out, v.Name); err != nil {
		return err
	}
	key := out + ".enrolment" // the key is on the disk before it is used
	e, err := protocol.LoadOrMakeEnrolment(key)
	if err != nil {
		return err
	}
	id, err := protocol.Enrol(cmd.Context(), v, e, protocol.DialOptions{})
	if err != nil {
		return err
	}
	if err := id.Save(out); err != nil {
		return err
	}
	if err := os.Remove(key); err != nil {
		return err
	}
	return printProfile(c, v.Name, out)
}

func printProfile(c *console.Console, name, file string) error {
	document := map[string]string{"operator": name, "profile": file}
	return c.Say(document, "profile of operator %s in %s\n", name, file)
}

// mayReplace refuses to overwrite any file except the same operator's profile.
func mayReplace(file, name string) error {
	id, err := protocol.LoadIdentity(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var had protocol.Caller
		if had, err = id.Caller(); err == nil &&
			(had.Name != name || had.Role != protocol.RoleOperator) {
			err = fmt.Errorf("it is the profile of %s %s", had.Role, had.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("%s is there already, and is no profile of operator %s: give another --out (%w)", file, name, err)
	}
	return nil
}

func newCoordinatorOperator(c *console.Console) *cobra.Command {
	var dir, invitation, out string
	cmd := &cobra.Command{
		Use:   "operator [NAME]",
		Short: "Make a profile for an operator: in the coordinator's folder, or from an invitation",
		Long: `Make a profile for a further operator, or a new one for an operator whose profile
has expired or is lost. With NAME and --dir, in the coordinator's folder, the command
works whether or not the coordinator runs. Earlier profiles stay valid: end them with
caucus party revoke, then make new ones. A profile in use renews itself.

On another machine, --invitation takes the invitation that caucus party invite NAME
--role operator made: the key is made here, and the coordinator certifies it. If the
command is interrupted, run it again with the same --out. Parties enrol with caucus agent enrol.`,
		Example: `  caucus coordinator operator second --dir /var/lib/caucus --out second.yaml
  caucus coordinator operator --invitation second.invitation --out second.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			byFolder, byInvitation := len(args) == 1 && dir != "" &&
				invitation == "", len(args) == 0 && dir == "" && invitation != "" && out != ""
			if !byFolder && !byInvitation {
				return console.Usagef("coordinator operator needs NAME and --dir DIR, or --invitation FILE (- for standard input) and --out FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if invitation != "" {
				return enrolOperator(c, cmd, invitation, out)
			}
			if err := protocol.CheckName(args[0]); err != nil {
				return err
			}
			out = cmp.Or(out, filepath.Join(dir, args[0]+".yaml"))
			if err := mayReplace(out, args[0]); err != nil {
				return err
			}
			profile, err := folder.NewOperator(cmd.Context(), dir, args[0], time.Now())
			if err != nil {
				return err
			}
			if err := profile.Save(out); err != nil {
				return err
			}
			return printProfile(c, args[0], out)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the coordinator's folder")
	cmd.Flags().StringVar(&invitation, "invitation", "", "file that holds the invitation, - for standard input")
	cmd.Flags().StringVar(&out, "out", "", "file for the profile (default DIR/NAME.yaml)")
	return cmd
}
