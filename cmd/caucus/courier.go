package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// The verbs in this file exchange files between a coordinator and a party without a network
// (docs/site.md).

// certify sends the coordinator a party's request for a certificate, read from a file, and writes
// the answer to out.
func (o *operator) certify(cmd *cobra.Command, name, request, key, out string) error {
	switch {
	case request == "" || out == "":
		return console.Usagef("party invite by carried files needs --request FILE, --key FINGERPRINT and --out FILE")
	case key == "":
		return console.Usagef("party invite --request needs --key: the fingerprint that %s reads to you, as caucus agent enrol --request printed it there", name)
	}
	file, err := protocol.ReadCarriedFile(request, cmd.InOrStdin(), protocol.RequestFile)
	if err != nil {
		return err
	}
	der, is, err := protocol.ReadRequest(file)
	if err != nil {
		return err
	}
	if !is.Matches(key) {
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
	if err := protocol.WriteCarriedFile(out, protocol.EnrolmentFile, answer); err != nil {
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
			file, s, err := client.PackStudy(cmd.Context(), args[0], of)
			if err != nil {
				return err
			}
			if err := protocol.WriteCarriedFile(out, protocol.PackFile, file); err != nil {
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
			file, err := protocol.ReadCarriedFile(args[0], cmd.InOrStdin(), protocol.AnswerFile)
			if err != nil {
				return err
			}
			client, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			accepted, err := client.AcceptAnswer(cmd.Context(), file)
			if err != nil {
				return err
			}
			if receipt != "" {
				if err := protocol.WriteCarriedFile(receipt, protocol.PackFile,
					accepted.File); err != nil {
					return err
				}
			}
			document := struct {
				admin.AcceptedAnswer
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
