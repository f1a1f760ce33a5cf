package siteverbs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/cmd/internal/console"
	"caucus/internal/textpage"
	"caucus/protocol"
)

// person holds the flags about the person who decides on a study.
type person struct{ as, key, shown string }

func (p *person) approver(cmd *cobra.Command) (desk.Approver, error) {
	who := desk.Approver{Name: p.as, DeclarationDigest: p.shown}
	if p.key == "" {
		return who, nil
	}
	if p.key != "-" {
		var err error
		who.Key, err = protocol.LoadSigner(p.key)
		return who, err
	}
	text, err := ReadSecret(cmd.InOrStdin(), p.key)
	if err == nil {
		who.Key, err = protocol.ParseSigner(text)
	}
	return who, err
}

func (a *Agent) approver() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "approver NAME",
		Short: "Make the key that a person approves studies with",
		Long: `Make a key for one of the persons who approve studies, and print the line that
names the key under approvers: in the agent's policy. Each person makes a key, on
their own machine if possible, and keeps it secret: an approval proves that a holder
of the key approved one plan, but not who holds the key.`,
		Example: "  caucus agent approver alice --out alice.key",
		Args:    console.OneArgument("agent approver", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := protocol.CheckPersonName(args[0]); err != nil {
				return err
			}
			out = cmp.Or(out, args[0]+".key")
			if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is there already: a key is not written over; give another --out", out)
			}
			key, err := protocol.NewSigner()
			if err != nil {
				return err
			}
			if err := key.Save(out); err != nil {
				return err
			}
			text, err := key.Key().MarshalText()
			if err != nil {
				return err
			}
			document := map[string]string{"name": args[0], "public_key": string(text), "file": out}
			return a.Say(document, "key in %s; a line for approvers: in the agent's policy:\n    %s: %s\n", out, args[0], text)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file for the key (default NAME.key)")
	console.MarkOutput(cmd.Flags(), "out")
	return cmd
}

func (p *person) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&p.as, "as", "", "your name, as the policy's approvers have it (default: your account's)")
	return cmd
}

func (a *Agent) openFor(p person, cmd *cobra.Command) (*agent.Agent, desk.Approver, error) {
	who, err := p.approver(cmd)
	if err != nil {
		return nil, who, err
	}
	ag, err := a.Open()
	return ag, who, err
}

func (a *Agent) approve() *cobra.Command {
	var p person
	cmd := &cobra.Command{
		Use:   "approve STUDY",
		Short: "Approve a study that the policy allows",
		Long: `Approve one study, with exactly this plan and this declaration of its source (file,
format, mapping, number of records). If the source is declared again, or its mapping
changes, the study needs a new approval. Read caucus agent preview first, and pass
its digest with --shown: then exactly the version that you read is approved.

An approval cannot override the policy: change the policy instead. If the policy
names approvers, your key signs the approval; with approval: two-persons the study
waits for a second person.`,
		Example: "  caucus agent approve readmission --shown 5f1c --as alice --key alice.key",
		Args:    console.OneArgument("agent approve", "STUDY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, who, err := a.openFor(p, cmd)
			if err != nil {
				return err
			}
			defer ag.Close()
			r, err := ag.Approve(cmd.Context(), args[0], who)
			if err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) {
				if r.ApprovedBefore {
					a.Note("you approved it before: nothing changed; it is %s", r.Progress)
				}
				fmt.Fprintf(w, "approved %s (%s), with its source as shown (%s)\n", textpage.Printable(r.Study), r.Plan.String()[:16], r.DeclarationDigest[:16])
				if r.ApprovalsNeeded > len(r.ApprovedBy) {
					fmt.Fprintf(w, "it waits for another person's approval\n")
				}
			})
		},
	}
	cmd.Flags().StringVar(&p.key, "key", "", "file of your key, - for standard input")
	cmd.Flags().StringVar(&p.shown, "shown", "", "digest that preview showed, or its first characters")
	return p.flags(cmd)
}

func (a *Agent) refuse() *cobra.Command {
	var p person
	var reason string
	cmd := &cobra.Command{
		Use:   "refuse STUDY",
		Short: "Refuse a study, for good",
		Long: `Refuse one study for good, even if the policy allows it or somebody approved it. The
coordinator learns only that this party takes no part; the reason stays in this
site's state folder. A contribution that the coordinator has received cannot be taken
back. If caucus agent answer wrote a file for somebody to carry, get the file back.`,
		Example: "  caucus agent refuse readmission --reason 'the board meets in May'",
		Args:    console.OneArgument("agent refuse", "STUDY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, who, err := a.openFor(p, cmd)
			if err != nil {
				return err
			}
			defer ag.Close()
			r, err := ag.Refuse(cmd.Context(), args[0], who, reason)
			if err != nil {
				return err
			}
			return a.Say(r, "%s (%s) is %s\n", textpage.Printable(r.Study), r.Plan.String()[:16],
				r.RefusedBy)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for this site's own records")
	return p.flags(cmd)
}
