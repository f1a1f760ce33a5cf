package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/protocol/admin"
)

func (o *operator) token() *cobra.Command {
	var options admin.TokenOptions
	var tags []string
	var out string
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make a join token: one secret that enrols many agents",
		Long: `Make a join token. Whoever holds the token can enrol agents, up to --quota in all, until
the token expires. Each agent makes its own key and gets its own name and certificate.
The token sets their name prefix and tags; no agent can change these.

The token is a secret: give it only to those whom you would invite one by one. A thief
could enrol agents until the quota is used up. caucus party list shows which token
enrolled each member. caucus party revoke ends a token, and with --members also the
members that it enrolled. The coordinator stores nothing from which the token could be
made again.`,
		Example: `  caucus party token --quota 200 --valid 72h --tag site=ward --prefix dev- --out wards.token
  caucus party list --tokens
  caucus party revoke kq3v8s2m --members`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Quota < 1 {
				return console.Usagef("party token needs --quota: how many agents it may enrol")
			}
			var err error
			if options.Tags, err = admin.ParseTags(tags); err != nil {
				return console.Usagef("%w", err)
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			text, made, err := withSecretFile(out, func() (string, admin.Token, error) {
				return client.MakeToken(cmd.Context(), options)
			})
			if err != nil {
				return err
			}
			document := struct {
				admin.Token
				Secret string `json:"secret,omitempty"`
				File   string `json:"file,omitempty"`
			}{made, text, out}
			if out != "" {
				document.Secret = ""
			}
			return o.Print(document, func(w io.Writer) {
				o.Note("join token %s enrols %d agents, named %s…%s, until %s", made.ID, made.Quota, made.Prefix, tagged(made.Tags), made.Expires.Format(time.RFC3339))
				if out != "" {
					fmt.Fprintf(w, "wrote %s\n", out)
					return
				}
				fmt.Fprintln(w, text)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&options.Quota, "quota", 0, "number of agents that the token may enrol")
	f.DurationVar(&options.Valid, "valid", 0, "how long it may be used (default: as an invitation's)")
	f.StringVar(&options.Prefix, "prefix", "", "start of the agents' names, such as dev- (default: the token's name and a dash)")
	f.StringArrayVar(&tags, "tag", nil, "tag of each agent, KEY=VALUE, for rosters; may be repeated")
	f.StringVar(&options.Address, "address", "", "HOST:PORT for the agents to dial (default: the coordinator's)")
	f.StringVar(&out, "out", "", "write the token to this new file instead of stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout)
	return cmd
}

func tagged(l admin.Tags) string {
	if len(l) == 0 {
		return ""
	}
	return ", tagged " + l.String()
}

// withSecretFile creates the file before it makes the secret, so that no secret is made that cannot
// be stored.
func withSecretFile[T any](out string, made func() (string, T, error)) (text string, what T,
	err error) {
	if out == "" {
		return made()
	}
	file, err := newSecret(out)
	if err != nil {
		return "", what, err
	}
	if text, what, err = made(); err == nil {
		_, err = file.WriteString(text + "\n")
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(out)
	}
	return text, what, err
}

func (o *operator) printTokens(all []admin.Token) error {
	return o.Print(console.NonNil(all), func(w io.Writer) {
		t := console.NewTable(w, "token", "status", "enrolled", "names", "tags", "expires",
			"made by")
		for _, k := range all {
			t.Add(k.ID, k.Status, fmt.Sprintf("%d of %d", k.Used, k.Quota), k.Prefix+"…",
				k.Tags.String(), k.Expires.Format(time.RFC3339), k.By)
		}
		t.Render()
	})
}

func (o *operator) printRevoked(token string, revoked []string, members bool) error {
	document := struct {
		Token   string   `json:"token"`
		Members []string `json:"members"`
	}{token, append([]string{}, revoked...)}
	if !members {
		return o.Say(document, "revoked join token %s; the members that it enrolled stay: caucus party list --token %s\n", token, token)
	}
	return o.Say(document, "revoked join token %s and %d members: %s\n", token, len(revoked),
		strings.Join(revoked, ", "))
}

func (o *operator) tag() *cobra.Command {
	return &cobra.Command{
		Use:   "tag PARTY [KEY=VALUE…]",
		Short: "Set a party's tags, in place of its old tags",
		Long: `Set a party's tags, in place of its old tags; no tag removes all. A study's roster can
select parties by tags (roster: {tags: {region: north}}). The selection is made when the
study is created, and later changes of tags do not affect it. Tags are public: whoever
sees a roster knows the tags that selected it.`,
		Example: "  caucus party tag st-mary region=north beds=900",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usagef("party tag needs a PARTY; see caucus party tag --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tags, err := admin.ParseTags(args[1:])
			if err != nil {
				return console.Usagef("%w", err)
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			if err := client.Tag(cmd.Context(), args[0], tags); err != nil {
				return err
			}
			document := struct {
				Party string     `json:"party"`
				Tags  admin.Tags `json:"tags"`
			}{args[0], tags}
			if len(tags) == 0 {
				return o.Say(document, "%s has no tags\n", args[0])
			}
			return o.Say(document, "%s: %s\n", args[0], tags)
		},
	}
}
