package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/protocol"
	"caucus/protocol/admin"
)

// operator holds what all operator verbs share: the console, and the profile with which they call
// the coordinator.
type operator struct {
	*console.Console
	profile string
}

func (o *operator) flag(g *cobra.Command) *cobra.Command {
	console.EnvironmentFlag(g.PersistentFlags(), &o.profile, "profile", "CAUCUS_PROFILE",
		"operator profile, as coordinator init wrote it")
	console.MarkInputs(g.PersistentFlags(), "profile")
	return g
}

func newParty(c *console.Console) *cobra.Command {
	o := &operator{Console: c}
	return o.flag(console.Group("party", "Invite and revoke parties and operators", o.invite(),
		o.token(),
		o.list(), o.tag(), o.revoke()))
}

func (o *operator) invite() *cobra.Command {
	var options admin.InviteOptions
	var role, out, request, key string
	cmd := &cobra.Command{
		Use:   "invite NAME",
		Short: "Make an invitation that works once and expires",
		Long: `Make an invitation. Whoever uses it first becomes the party, so send it by a way that
you trust. --out writes it to a file that only you can read.

A party without a network needs no invitation: --request takes the file that caucus
agent enrol --request wrote there, and --out writes the file to carry back. Neither
file is a secret. --key is the fingerprint that the party reads to you, for example by
telephone: it shows that nobody exchanged the key on the way.`,
		Example: `  caucus party invite st-mary --profile operator.yaml --out st-mary.invitation
  caucus party invite st-mary --request st-mary.request --key 2hd5-… --out st-mary.enrolment`,
		Args: console.OneArgument("party invite", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if request != "" || key != "" {
				if role != string(protocol.RoleParty) || options.Valid != 0 ||
					options.Address != "" {
					return console.Usagef("--request certifies a party's key: it takes no --role, --valid or --address")
				}
				return o.certify(cmd, args[0], request, key, out)
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			options.Name, options.Role = args[0], protocol.Role(role)
			if all, err := client.Members(cmd.Context()); err == nil &&
				slices.ContainsFunc(all, func(m admin.Member) bool {
					return m.Name == args[0] && m.Status == admin.StatusEnrolled
				}) {
				o.Note("%s is enrolled already: who uses this invitation acts under that name too, until caucus party revoke %s", args[0], args[0])
			}
			invitation, expires, err := withSecretFile(out, func() (string, time.Time, error) {
				return client.Invite(cmd.Context(), options)
			})
			if err != nil {
				return err
			}
			document := struct {
				Name       string    `json:"name"`
				Role       string    `json:"role"`
				Invitation string    `json:"invitation,omitempty"`
				File       string    `json:"file,omitempty"`
				Expires    time.Time `json:"expires"`
			}{Name: options.Name, Role: role, Invitation: invitation, File: out, Expires: expires}
			if out != "" {
				document.Invitation = ""
			}
			return o.Print(document, func(w io.Writer) {
				o.Note("works once, until %s", expires.Format(time.RFC3339))
				if out != "" {
					fmt.Fprintf(w, "wrote %s\n", out)
					return
				}
				fmt.Fprintln(w, invitation)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", string(protocol.RoleParty), "party or operator")
	f.DurationVar(&options.Valid, "valid", 0, "how long it may be used (default: the coordinator's)")
	f.StringVar(&options.Address, "address", "", "HOST:PORT for the agent to dial (default: the coordinator's)")
	f.StringVar(&out, "out", "", "write the invitation to this new file instead of stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout)
	f.StringVar(&request, "request", "", "by carried files: the request that caucus agent enrol --request wrote")
	console.MarkInputs(f, "request")
	f.StringVar(&key, "key", "", "with --request: the fingerprint of its key, as the party reads it to you")
	return cmd
}

func newSecret(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (o *operator) list() *cobra.Command {
	var token string
	var tags []string
	var tokens bool
	cmd := &cobra.Command{
		Use: "list", Short: "List parties and operators, or join tokens with the number of agents that each enrolled", Args: console.NoArguments,
		Example: `  caucus party list --tag region=north
  caucus party list --token kq3v8s2m
  caucus party list --tokens`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tokens && (token != "" || len(tags) > 0) {
				return console.Usagef("--tokens lists join tokens: --token and --tag are for members")
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			if tokens {
				all, err := client.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				return o.printTokens(all)
			}
			members, err := client.Members(cmd.Context())
			if err != nil {
				return err
			}
			wanted, err := admin.ParseTags(tags)
			if err != nil {
				return console.Usagef("%w", err)
			}
			shown := []admin.Member{}
			for _, m := range members {
				if (token == "" || m.Token == token) && m.Tags.Include(wanted) {
					shown = append(shown, m)
				}
			}
			return o.Print(shown, func(w io.Writer) { printMembers(w, shown) })
		},
	}
	cmd.Flags().StringVar(&token, "token", "", "members that this join token enrolled")
	cmd.Flags().BoolVar(&tokens, "tokens", false, "list join tokens instead")
	cmd.Flags().StringArrayVar(&tags, "tag", nil, "members with this tag, KEY=VALUE; may be repeated")
	return cmd
}

// printMembers lists members; it has columns of tags and tokens only if somebody has any.
func printMembers(w io.Writer, all []admin.Member) {
	groups := slices.ContainsFunc(all, func(m admin.Member) bool {
		return len(m.Tags) > 0 || m.Token != ""
	})
	header := []string{"name", "role", "status", "expires"}
	if groups {
		header = append(header, "tags", "token")
	}
	t := console.NewTable(w, append(header, "called")...)
	for _, m := range all {
		row := []string{m.Name, string(m.Role), m.Status, m.Expires.Format(time.DateOnly)}
		if groups {
			row = append(row, m.Tags.String(), m.Token)
		}
		t.Add(append(row, m.LastCallText(time.Now()))...)
	}
	t.Render()
}

func (o *operator) revoke() *cobra.Command {
	var members bool
	cmd := &cobra.Command{
		Use:   "revoke NAME_OR_TOKEN",
		Short: "End a member's certificates and invitations, or a join token, at once",
		Long: `End a member's certificates and invitations, or a join token (caucus party list
--tokens), at once. Members that a token enrolled stay, unless --members ends them too.`,
		Example: `  caucus party revoke st-mary
  caucus party revoke kq3v8s2m --members`,
		Args: console.OneArgument("party revoke", "NAME_OR_TOKEN"),
		RunE: o.dialled(func(cmd *cobra.Command, args []string, client *admin.Client) error {
			all, err := client.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			// Look among the tokens first, because an agent may have chosen a token's ID as its
			// name.
			if members || slices.ContainsFunc(all, func(k admin.Token) bool {
				return k.ID == args[0]
			}) {
				revoked, err := client.RevokeToken(cmd.Context(), args[0], members)
				if err != nil {
					return err
				}
				return o.printRevoked(args[0], revoked, members)
			}
			switch err := client.Revoke(cmd.Context(), args[0]); {
			case errors.Is(err, protocol.ErrNotFound):
				return fmt.Errorf("there is no member and no join token %q: caucus party list names members, with --tokens tokens", args[0])
			case err != nil:
				return err
			}
			return o.Say(map[string]string{"revoked": args[0]}, "revoked %s\n", args[0])
		}),
	}
	cmd.Flags().BoolVar(&members, "members", false, "for a join token: also end the certificates of all members that it enrolled")
	return cmd
}
