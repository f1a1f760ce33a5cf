package siteverbs

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/agent/site"
	"caucus/cmd/internal/console"
	"caucus/internal/textpage"
	"caucus/protocol"
)

func (a *Agent) enrolRequest(config site.Config, out string) error {
	file, key, err := agent.EnrolRequest(config)
	if err != nil {
		return err
	}
	if err := protocol.WriteCarriedFile(out, protocol.RequestFile, file); err != nil {
		return err
	}
	return a.Say(map[string]string{"file": out, "key": string(key)}, "wrote %s: have it carried to the coordinator's operator\nkey %s: read this to the operator yourself\n", out, key)
}

func (a *Agent) enrolAccept(stdin io.Reader, config site.Config,
	name, coordinator string) error {
	if coordinator == "" {
		return console.Usagef("agent enrol --accept needs --coordinator: the fingerprint that the operator reads to you, so that whoever carried the file cannot be the coordinator")
	}
	file, err := protocol.ReadCarriedFile(name, stdin, protocol.EnrolmentFile)
	if err != nil {
		return err
	}
	who, err := agent.EnrolAccept(config, file, coordinator)
	if err != nil {
		return err
	}
	return a.Say(map[string]string{"party": who.Name, "state": config.State}, "enrolled as %s; next: caucus agent source declare, then caucus agent answer PACK\n"+twoLedgers, who.Name)
}

func (a *Agent) byFile(stdin io.Reader, pack, out string) (*agent.Agent, error) {
	config, err := site.LoadConfig(a.config)
	if err != nil {
		return nil, err
	}
	file, err := protocol.ReadCarriedFile(pack, stdin, protocol.PackFile)
	if err != nil {
		return nil, err
	}
	a.equip(&config)
	return agent.NewCourier(config, file, out)
}

func (a *Agent) printAnswered(r agent.PackOutcome, out string) error {
	type document struct {
		agent.PackOutcome
		File string `json:"file,omitempty"`
	}
	d := document{PackOutcome: r}
	if r.WroteAnswer {
		d.File = out
	}
	// Why may quote the coordinator
	r.Study, r.Reason = textpage.Printable(r.Study), textpage.Printable(strings.TrimSpace(r.Reason))
	if r.Declined {
		return a.Say(d, "this site takes no part in study %s: %s\nwrote %s, which tells the coordinator that this site takes no part, but not why: have the file carried, or solve the problem and answer again\n", r.Study, r.Reason, out)
	}
	if r.WroteAnswer {
		return a.Say(d, "wrote %s: have it carried to the coordinator's operator\n", out)
	}
	said := fmt.Sprintf("study %s: %s", r.Study, r.Progress)
	if r.Reason != "" {
		// r.Progress says that the policy refuses
		said += ": " + strings.TrimPrefix(r.Reason, desk.DisallowedByPolicy)
	}
	if r.Progress == desk.ProgressRefused {
		said += "; change the policy, or say no with caucus agent answer"
	}
	return a.Say(d, "%s\n", said)
}

func (a *Agent) answer() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "answer PACK",
		Short: "Answer a study that was carried here, with a file",
		Long: `Take part in a study whose pack was carried here (caucus study pack), and write the
answer to a file, which only the coordinator can read. Policy, declaration, approvals,
ledger and audit log work as for an agent with a network, and the time that the answer
takes does not depend on the records. If a person must approve first, the command says
so: run caucus agent preview and caucus agent approve, then answer again. Answering
twice charges once and writes the same bytes.`,
		Example: "  caucus agent answer readmission.pack --out st-mary.answer --config agent.yaml",
		Args:    console.OneArgument("agent answer", "PACK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return console.Usagef("agent answer needs --out FILE; to read a receipt or a release run caucus agent unpack")
			}
			ag, err := a.byFile(cmd.InOrStdin(), args[0], out)
			if err != nil {
				return err
			}
			defer ag.Close()
			r, err := ag.Answer(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.printAnswered(r, out); err != nil {
				return err
			}
			if r.Declined && r.Progress == desk.ProgressRefused {
				return fmt.Errorf("this site takes no part in study %s: %s",
					textpage.Printable(r.Study), textpage.Printable(r.Reason))
			}
			if r.WroteAnswer || r.Progress == desk.ProgressReceived ||
				r.Progress == desk.ProgressReleased {
				return nil
			}
			return fmt.Errorf("no answer was written: study %s is %s", r.Study, r.Progress)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file for the answer")
	console.MarkOutput(cmd.Flags(), "out")
	return cmd
}

func (a *Agent) unpack() *cobra.Command {
	return &cobra.Command{
		Use:   "unpack PACK",
		Short: "Read a study, a receipt or a release that was carried here",
		Long: `Check and keep a file that caucus study pack or caucus study accept wrote: a plan to
preview and approve, amendments, this site's receipt, the release, or the end of the
study. The command charges nothing and answers nothing.`,
		Example: "  caucus agent unpack st-mary.receipt --config agent.yaml",
		Args:    console.OneArgument("agent unpack", "PACK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, err := a.byFile(cmd.InOrStdin(), args[0], "")
			if err != nil {
				return err
			}
			defer ag.Close()
			r, err := ag.Inspect(cmd.Context())
			if err != nil {
				return err
			}
			return a.printAnswered(r, "")
		},
	}
}
