package main

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
	"caucus/study"
)

// The verbs in this file exchange files between a coordinator and a party without a network
// (docs/site.md).

func (a *agentCommand) enrolRequest(config site.Config, out string) error {
	file, key, err := agent.EnrolRequest(config)
	if err != nil {
		return err
	}
	if err := protocol.WriteCarried(out, protocol.RequestFile, file); err != nil {
		return err
	}
	return a.Say(map[string]string{"file": out, "key": string(key)}, "wrote %s: have it carried to the coordinator's operator\nkey %s: read this to the operator yourself\n", out, key)
}

func (a *agentCommand) enrolAccept(stdin io.Reader, config site.Config,
	name, coordinator string) error {
	if coordinator == "" {
		return console.Usagef("agent enrol --accept needs --coordinator: the fingerprint that the operator reads to you, so that whoever carried the file cannot be the coordinator")
	}
	file, err := protocol.ReadCarried(name, stdin, protocol.EnrolmentFile)
	if err != nil {
		return err
	}
	who, err := agent.EnrolAccept(config, file, coordinator)
	if err != nil {
		return err
	}
	return a.Say(map[string]string{"party": who.Name, "state": config.State}, "enrolled as %s; next: caucus agent source declare, then caucus agent answer PACK\n"+twoLedgers, who.Name)
}

// certify sends the coordinator a party's request for a certificate, read from a file, and writes
// the answer to out.
func (o *operator) certify(cmd *cobra.Command, name, request, key, out string) error {
	switch {
	case request == "" || out == "":
		return console.Usagef("party invite by carried files needs --request FILE, --key FINGERPRINT and --out FILE")
	case key == "":
		return console.Usagef("party invite --request needs --key: the fingerprint that %s reads to you, as caucus agent enrol --request printed it there", name)
	}
	file, err := protocol.ReadCarried(request, cmd.InOrStdin(), protocol.RequestFile)
	if err != nil {
		return err
	}
	der, is, err := protocol.ReadRequest(file)
	if err != nil {
		return err
	}
	if !is.Is(key) {
		return fmt.Errorf("the key in %s does not have the fingerprint that you gave: have the fingerprint read to you again; if it differs again, somebody changed the file", request)
	}
	client, err := o.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	answer, coordinator, err := client.Certify(cmd.Context(), name, der)
	if err != nil {
		return err
	}
	if err := protocol.WriteCarried(out, protocol.EnrolmentFile, answer); err != nil {
		return err
	}
	return o.Say(map[string]string{"name": name, "file": out, "coordinator": string(coordinator)}, "wrote %s: have it carried to %s\ncoordinator %s: read this to %s yourself\n", out, name, coordinator, name)
}

func (o *operator) packStudy() *cobra.Command {
	var out string
	var parties []string
	cmd := &cobra.Command{
		Use:   "pack STUDY",
		Short: "Write a study to a file that is carried to parties",
		Long: `Write to a file what parties without a network would fetch: plan, amendments, public
pool, the study's state for each party, receipts, and the release, once there is one
that all of these parties may read. Everything is signed, and whoever carries the file
can read all of it except receipts. So if the plan names readers of the release, have
one of them carry the file. Pack the study again after each change.`,
		Example: "  caucus study pack readmission --out readmission.pack",
		Args:    console.OneArgument("study pack", "STUDY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return console.Usagef("study pack needs --out FILE")
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			var of []study.PartyID
			for _, p := range parties {
				of = append(of, study.PartyID(p))
			}
			file, s, err := client.Pack(cmd.Context(), args[0], of)
			if err != nil {
				return err
			}
			if err := protocol.WriteCarried(out, protocol.PackFile, file); err != nil {
				return err
			}
			if of == nil {
				of = s.Plan.Roster
			}
			document := struct {
				Study   string          `json:"study"`
				Plan    study.Hash      `json:"plan"`
				State   study.State     `json:"state"`
				File    string          `json:"file"`
				Bytes   int             `json:"bytes"`
				Parties []study.PartyID `json:"parties"`
			}{s.Name, s.Hash, s.State, out, len(file), of}
			return o.Say(document, "wrote %s: study %s, %s, for %s\n", out, s.Name, s.State,
				console.Counted(len(of), "parties"))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	console.MarkOutput(cmd.Flags(), "out")
	cmd.Flags().StringSliceVar(&parties, "party", nil, "parties to write it for (default: the whole roster)")
	return cmd
}

func (o *operator) acceptAnswer() *cobra.Command {
	var receipt string
	cmd := &cobra.Command{
		Use:   "accept FILE",
		Short: "Hand the coordinator an answer that was carried here",
		Long: `Hand the coordinator an answer that caucus agent answer wrote. The coordinator treats
it like a call of the party, and says why if it refuses the answer. Handing in the
same file again changes nothing. --receipt writes the receipt to carry back; the next
caucus study pack holds the receipt too.`,
		Example: "  caucus study accept st-mary.answer --receipt st-mary.receipt",
		Args:    console.OneArgument("study accept", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := protocol.ReadCarried(args[0], cmd.InOrStdin(), protocol.AnswerFile)
			if err != nil {
				return err
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			accepted, err := client.Accept(cmd.Context(), file)
			if err != nil {
				return err
			}
			if receipt != "" {
				if err := protocol.WriteCarried(receipt, protocol.PackFile,
					accepted.File); err != nil {
					return err
				}
			}
			document := struct {
				protocol.Accepted
				Receipt string `json:"receipt,omitempty"`
			}{accepted, receipt}
			said := "its contribution is in"
			if accepted.Declined {
				said = "it takes no part"
			}
			if receipt != "" {
				said += "; wrote " + receipt + ": have it carried back"
			}
			return o.Say(document, "%s answers study %s: %s\n", accepted.Party, accepted.Name, said)
		},
	}
	cmd.Flags().StringVar(&receipt, "receipt", "", "file to write the receipt to")
	console.MarkOutput(cmd.Flags(), "receipt")
	return cmd
}

func (a *agentCommand) byFile(stdin io.Reader, pack, out string) (*agent.Agent, error) {
	config, err := site.LoadConfig(a.config)
	if err != nil {
		return nil, err
	}
	file, err := protocol.ReadCarried(pack, stdin, protocol.PackFile)
	if err != nil {
		return nil, err
	}
	config.Log, config.Checkpoint, config.Clock.Now = a.Logger(), checkpoint, now
	return agent.ByFile(config, file, out)
}

func (a *agentCommand) printAnswered(r agent.Answered, out string) error {
	type document struct {
		agent.Answered
		File string `json:"file,omitempty"`
	}
	d := document{Answered: r}
	if r.Wrote {
		d.File = out
	}
	// Why may quote the coordinator
	r.Study, r.Why = textpage.Printable(r.Study), textpage.Printable(strings.TrimSpace(r.Why))
	if r.Declined {
		return a.Say(d, "this site takes no part in study %s: %s\nwrote %s, which tells the coordinator that this site takes no part, but not why: have the file carried, or solve the problem and answer again\n", r.Study, r.Why, out)
	}
	if r.Wrote {
		return a.Say(d, "wrote %s: have it carried to the coordinator's operator\n", out)
	}
	said := fmt.Sprintf("study %s: %s", r.Study, r.Progress)
	if r.Why != "" {
		// r.Progress says that the policy refuses
		said += ": " + strings.TrimPrefix(r.Why, desk.Disallowed)
	}
	if r.Progress == desk.ProgressRefused {
		said += "; change the policy, or say no with caucus agent answer"
	}
	return a.Say(d, "%s\n", said)
}

func (a *agentCommand) answer() *cobra.Command {
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
					textpage.Printable(r.Study), textpage.Printable(r.Why))
			}
			if r.Wrote || r.Progress == desk.ProgressReceived ||
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

func (a *agentCommand) unpack() *cobra.Command {
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
			r, err := ag.Look(cmd.Context())
			if err != nil {
				return err
			}
			return a.printAnswered(r, "")
		},
	}
}
