package siteverbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/agent/site"
	"caucus/cmd/internal/console"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/stated"
)

// Program is what a program adds to its agent's verbs.
type Program struct {
	// Checkpoint is called between two effects of an agent, and Now is its clock; nil but in tests.
	Checkpoint func(effect string)
	Now        func() time.Time
	// RedrawForecast draws an operator's forecast again and says whether the two agree; nil where
	// the program draws no forecasts. show is called with the draws done, of all.
	RedrawForecast func(ctx context.Context, said stated.Statement, of study.Task,
		show func(done, total int)) (Forecast, bool, error)
}

// Forecast is a forecast that a program drew. JSON has all of it, Lines has it in words.
type Forecast interface{ Lines() []string }

// Agent makes the verbs of an agent. It holds what they share: the console, what the program
// adds, and the name of the configuration file.
type Agent struct {
	*console.Console
	program Program
	config  string
}

// NewAgent returns the maker of an agent's verbs.
func NewAgent(c *console.Console, p Program) *Agent {
	return &Agent{Console: c, program: p}
}

// Verbs returns all verbs. Their parent needs the flag that they share, by AddConfigFlag.
func (a *Agent) Verbs() []*cobra.Command {
	return []*cobra.Command{a.enrol(), a.check(), a.run(), a.source(), a.mapFile(), a.preview(),
		a.approver(), a.approve(), a.refuse(), a.page(), a.answer(), a.unpack(), a.leave()}
}

// AddConfigFlag adds --config.
func (a *Agent) AddConfigFlag(f *pflag.FlagSet) {
	f.StringVar(&a.config, "config", "agent.yaml", "the agent's configuration")
	console.MarkInputs(f, "config")
}

// twoLedgers is said after each enrolment.
const twoLedgers = `This state folder's ledger counts the studies of this coordinator only. Studies of another
coordinator with the same patients cost more: divide the limits under policy between them.
`

// enrolled is said of a party's name and its configuration.
const enrolled = "enrolled as %s; see what is still to do with: caucus agent check --config %s\n" +
	twoLedgers

func (a *Agent) enrol() *cobra.Command {
	var invitation, token, name, request, accept, coordinator string
	cmd := &cobra.Command{
		Use:   "enrol",
		Short: "Turn an invitation into this agent's identity",
		Long: `Make a key on this machine and have the coordinator certify it. The invitation
works once and expires; it is a secret, so it is read from a file. If enrolment
is interrupted, run it again with the same invitation.

A join token (caucus party token) enrols many agents, each with its own key: give the
token to all of them as --token. --name asks for a name within the token's prefix;
without --name the coordinator chooses one. An agent that is enrolled already stays
as it is.

Each enrolment has a state folder and a ledger of its own. If this site takes part at
another coordinator too, with the same patients, neither ledger counts what the other
spends: their costs add up. Divide the limits under policy between them.

If no network reaches the coordinator, people carry files and no invitation is
needed: --request writes a file for the operator's caucus party invite, and --accept
reads the file that comes back. Neither file is a secret; the key stays here. You
read the fingerprint of your key to the operator, and the operator reads you the
coordinator's fingerprint.`,
		Example: `  caucus agent enrol --config agent.yaml --invitation invitation.txt
  caucus agent enrol --config agent.yaml --token wards.token --name dev-17
  caucus agent enrol --config agent.yaml --request st-mary.request
  caucus agent enrol --config agent.yaml --accept st-mary.enrolment --coordinator 7k3f-…`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name != "" && token == "" {
				return console.Usagef("--name goes with --token: otherwise the operator chooses the name")
			}
			given := 0
			for _, f := range []string{invitation, token, request, accept} {
				if f != "" {
					given++
				}
			}
			if given != 1 {
				return console.Usagef("agent enrol needs --invitation FILE (- for standard input), or --token FILE, or --request FILE, or --accept FILE")
			}
			config, err := site.LoadConfig(a.config)
			if err != nil {
				return err
			}
			if token != "" {
				return a.join(cmd, config, token, name)
			}
			if request != "" {
				return a.enrolRequest(config, request)
			}
			if accept != "" {
				return a.enrolAccept(cmd.InOrStdin(), config, accept, coordinator)
			}
			text, err := ReadSecret(cmd.InOrStdin(), invitation)
			if err != nil {
				return err
			}
			who, err := agent.Enrol(cmd.Context(), config, text)
			if err != nil {
				return err
			}
			document := map[string]string{"party": who.Name, "state": config.State}
			return a.Say(document, enrolled, who.Name, a.config)
		},
	}
	f := cmd.Flags()
	f.StringVar(&invitation, "invitation", "", "file that holds the invitation, - for standard input")
	f.StringVar(&token, "token", "", "file that holds a join token, - for standard input")
	f.StringVar(&name, "name", "", "with --token: the name to ask for (default: the coordinator gives one)")
	f.StringVar(&request, "request", "", "by carried files: write this agent's request for a certificate to this file")
	console.MarkOutput(f, "request")
	f.StringVar(&accept, "accept", "", "by carried files: read the answer that caucus party invite --request wrote")
	console.MarkInputs(f, "invitation", "token", "accept")
	f.StringVar(&coordinator, "coordinator", "", "with --accept: the coordinator's fingerprint, as its operator reads it to you")
	return cmd
}

func (a *Agent) join(cmd *cobra.Command, config site.Config, token, name string) error {
	text, err := ReadSecret(cmd.InOrStdin(), token)
	if err != nil {
		return err
	}
	who, before, err := agent.Join(cmd.Context(), config, text, name)
	if err != nil {
		return err
	}
	document := struct {
		Party  string `json:"party"`
		State  string `json:"state"`
		Before bool   `json:"enrolled_before,omitempty"`
	}{who.Name, config.State, before}
	if before {
		return a.Say(document, "this agent is enrolled as %s already; nothing was changed\n", who.Name)
	}
	return a.Say(document, enrolled, who.Name, a.config)
}

// maxInvitation bounds the bytes of an invitation: a key, a certificate and an address.
const maxInvitation = 64 << 10

// ReadSecret reads a secret from a file, - for standard input, so that no command line holds it.
func ReadSecret(stdin io.Reader, name string) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		stdin = file
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxInvitation))
	return string(b), err
}

// equip gives a configuration what is the program's.
func (a *Agent) equip(c *site.Config) {
	c.Log, c.Words, c.Checkpoint, c.Clock.Now = a.Logger(), a.Words, a.program.Checkpoint,
		a.program.Now
}

// Open opens the agent of the configuration. The caller closes it.
func (a *Agent) Open() (*agent.Agent, error) {
	config, err := site.LoadConfig(a.config)
	if err != nil {
		return nil, err
	}
	a.AddDaemonFolder(config.State)
	a.equip(&config)
	config.Edited = edited(a.config)
	return agent.New(config)
}

// edited returns site.Config.Edited for a file as it is now.
func edited(path string) func() (bool, error) {
	first, _ := os.ReadFile(path)
	last := first
	return func() (bool, error) {
		now, err := os.ReadFile(path)
		whole := bytes.Equal(now, last)
		if last = now; err != nil || !whole || bytes.Equal(now, first) {
			return false, err
		}
		_, err = site.LoadConfig(path)
		return err == nil, err
	}
}

// runningAgent is an agent, and after each edit of its configuration another.
type runningAgent struct {
	*agent.Agent
	open func() (*agent.Agent, error)
}

// Run runs the agents, one after the other.
func (r runningAgent) Run(ctx context.Context) error {
	for {
		err := r.Agent.Run(ctx)
		if !errors.Is(err, agent.ErrEdited) {
			return err
		}
		if r.Agent, err = r.open(); err != nil {
			return err
		}
	}
}

func (a *Agent) run() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Take part in studies until stopped",
		Long: `Take part in the studies that the policy allows. The agent only dials out. You may
stop or kill it at any time: it goes on from where it was. If the coordinator is
down, the agent waits. If the configuration is edited, the agent takes it up within two
polls and judges all studies anew; one that cannot be read changes nothing, and the log
says so.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ag, err := a.Open()
			if err != nil {
				return err
			}
			return a.RunDaemon(cmd.Context(), map[string]string{"party": string(ag.Party())},
				"running for "+string(ag.Party()), runningAgent{ag, a.Open})
		},
	}
}

func (a *Agent) listStudies(cmd *cobra.Command, ag *agent.Agent) error {
	all, offline, err := ag.Studies(cmd.Context())
	if err != nil {
		return err
	}
	a.noteOffline(offline)
	for _, r := range all {
		if r.Progress == desk.ProgressUnreadable {
			a.Note("note: study %s (%s): %s", r.Study, r.Plan.String()[:16], r.ClosedReason)
		}
	}
	return a.Print(console.NonNil(all), func(w io.Writer) {
		t := console.NewTable(w, "study", "plan", "unit", "epsilon", "mechanism", "noise", "here",
			"approved by")
		for _, r := range all {
			if r.Progress == desk.ProgressUnreadable {
				t.Add(r.Study, r.Plan.String()[:16], "", "", "", "", string(r.Progress), "")
				continue
			}
			t.Add(r.Study, r.Plan.String()[:16], r.Unit.String(), fmt.Sprint(r.Epsilon),
				r.Mechanism, string(r.Noise), string(r.Progress), strings.Join(r.ApprovedBy, ", "))
		}
		t.Render()
	})
}

func (a *Agent) noteOffline(err error) {
	if err != nil {
		a.Note("note: the coordinator could not be asked, so this list is from an earlier call: %v", err)
	}
}

type previewDocument struct {
	desk.Review
	// Again is the operator's forecast as this agent drew it again. Agrees says both differ by no
	// more than chance.
	Again  Forecast `json:"forecast_again,omitempty"`
	Agrees bool     `json:"forecast_agrees,omitempty"`
}

func (p previewDocument) writeText(w io.Writer) {
	p.WriteText(w)
	if p.Again != nil {
		fmt.Fprintf(w, "drawn here %s\n", strings.Join(p.Again.Lines(), "\n           "))
	}
	if p.Agrees {
		fmt.Fprintf(w, "           this agrees with the operator's forecast\n")
	}
}

func (a *Agent) drawAgain(ctx context.Context, ag *agent.Agent, p *previewDocument) error {
	switch {
	case p.Kind != kinds.Default:
		return fmt.Errorf("only a %s study has a forecast to draw again; the noise of this %s study follows from its plan, and preview shows it", kinds.Default, p.Kind)
	case p.Forecast == nil:
		return errors.New("the operator stated no forecast of this study, or one that this version cannot read")
	}
	task, err := ag.Task(p.Plan)
	if err != nil {
		return err
	}
	bar := console.NewProgress(a.Console)
	defer bar.Stop()
	p.Again, p.Agrees, err = a.program.RedrawForecast(ctx, *p.Forecast, task, bar.Set)
	return err
}

func (a *Agent) preview() *cobra.Command {
	var values, again bool
	with := "--values"
	cmd := &cobra.Command{
		Use:   "preview [STUDY]",
		Short: "List studies, or show what would leave for one study, and its privacy cost",
		Long: `List the studies that this site knows, and their progress here. With a STUDY, show
the study, what would leave this machine, the guarantee and its privacy cost, and
whether the policy allows the study, or why not. A preview sends nothing and spends
nothing. It also shows oddities of the data file, and compares the records with the
public pool. It fails if a problem must be solved before the study can run.

The numbers about records are exact, so keep them at this site: a preview draws no
noise, and --values shows this site's numbers before noise.`,
		Example: `  caucus agent preview --config agent.yaml
  caucus agent preview readmission --config agent.yaml --values`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && (values || again) {
				return console.Usagef("agent preview shows one STUDY, with %s too, or without a study lists them all", with)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, err := a.Open()
			if err != nil {
				return err
			}
			defer ag.Close()
			if len(args) == 0 {
				return a.listStudies(cmd, ag)
			}
			r, offline, err := ag.Preview(cmd.Context(), args[0])
			a.noteOffline(offline)
			if err != nil {
				return err
			}
			if values {
				if r.Outputs, err = ag.Values(cmd.Context(), r.Plan); err != nil {
					return err
				}
			}
			doc := previewDocument{Review: r}
			if again {
				if err := a.drawAgain(cmd.Context(), ag, &doc); err != nil {
					return err
				}
			}
			if err := a.Print(doc, doc.writeText); err != nil {
				return err
			}
			if again && !doc.Agrees {
				return errors.New("this machine draws another forecast than the operator from the same public numbers: ask the operator")
			}
			if n := len(r.Problems); n > 0 {
				return fmt.Errorf("solve these problems first: %s", strings.Join(r.Problems, "; "))
			}
			return nil
		},
	}
	if a.program.RedrawForecast != nil {
		with += " and --forecast"
		cmd.Example += "\n  caucus agent preview readmission --config agent.yaml --forecast"
		cmd.Flags().BoolVar(&again, "forecast", false, "of a classify study: draw the operator's forecast again, and compare the two")
	}
	cmd.Flags().BoolVar(&values, "values", false, "show this site's own numbers before noise: for your eyes only")
	return cmd
}
