package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/kinds/results"
	"caucus/study/stated"
)

func newStudy(c *console.Console) *cobra.Command {
	o := &operator{Console: c}
	return o.flag(console.Group("study", "Create studies and fetch what they release",
		o.createStudy(), o.listStudies(), o.showStudy(), o.openStudy(), o.waitStudy(),
		o.resultStudy(), o.closeStudy(), o.extendStudy(), o.cancelStudy(), o.waiveStudy(),
		o.packStudy(), o.acceptAnswer()))
}

func (o *operator) listStudies() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List studies", Args: console.NoArguments,
		RunE: o.dialled(func(cmd *cobra.Command, _ []string, client *admin.Client) error {
			listing, err := client.Studies(cmd.Context())
			if err != nil {
				return err
			}
			return o.Print(console.NonNil(listing.Studies), func(w io.Writer) {
				t := console.NewTable(w, "study", "plan", "kind", "state", "contributed",
					"deadline")
				for _, s := range listing.Studies {
					t.Add(s.Name, s.Hash.String()[:16], s.Kind, string(s.State),
						fmt.Sprintf("%d of %d", s.Contributed,
							s.Roster), s.Deadline.Format(time.RFC3339))
				}
				t.Render()
			})
		}),
	}
}

// studyDocument is the JSON document of verbs about one study.
type studyDocument struct {
	protocol.Summary
	Plan          study.Plan `json:"plan"`
	PoolBytes     uint64     `json:"pool_bytes"`
	ContributedBy []string   `json:"contributed_by"`
	Missing       []string   `json:"missing"`
	Declined      []string   `json:"declined"`
	Awaited       []string   `json:"awaited"`
	Ends          string     `json:"ends"` // when the study seals
	// Statuses say what the coordinator knows of the missing parties. Amended has a line for each
	// amendment.
	Statuses []protocol.PartyStatus `json:"statuses"`
	Amended  []string               `json:"amended"`
	// Forecast is the forecast that the operator stated when creating the study.
	Forecast *stated.Statement `json:"forecast,omitempty"`
}

func (o *operator) printStudy(s protocol.Study) error {
	doc := studyDocument{Summary: s.Summary, Plan: s.Plan, PoolBytes: s.PoolBytes,
		ContributedBy: console.NonNil(s.ContributedBy), Missing: console.NonNil(s.Missing),
		Declined: console.NonNil(s.Declined), Awaited: console.NonNil(s.Awaited),
		Statuses: console.NonNil(s.Statuses), Ends: s.Chain.Ending().Words(s.Roster),
		Amended: console.NonNil(s.Chain.Changes(0))}
	var worth []string
	if s.Forecast.Document != nil {
		if operator, err := stated.Parse(s.Forecast.Document, s.Hash); err != nil {
			worth = []string{err.Error()}
		} else {
			doc.Forecast, worth = &operator, operator.Words()
		}
	}
	return o.Print(doc, func(w io.Writer) {
		p := s.Plan
		lines := [][2]string{
			{"study", fmt.Sprintf("%s (%s)", s.Name, s.Hash)},
			{"state", strings.TrimSuffix(fmt.Sprintf("%s: %s", s.State, s.Reason), ": ")},
			{"kind", fmt.Sprintf("%s by %s, noise added by %s", p.Kind, p.Mechanism, p.Noise.Trust().By)},
			{"guarantee", fmt.Sprintf("unit %s, ε = %g, δ = %g", p.Unit, p.Epsilon, p.Delta)},
			{"parties", fmt.Sprintf("%d of %d have contributed", s.Contributed, s.Roster)},
		}
		if s.State == study.Draft || s.State == study.Open {
			lines = append(lines, [2]string{"ends", doc.Ends})
		}
		lines = append(lines, [2]string{"amended", strings.Join(doc.Amended, "\n             ")})
		if len(worth) > 0 {
			lines = append(lines, [2]string{"forecast", strings.Join(worth, "\n             ")})
		}
		if len(s.ContributedBy)+len(s.Missing) > 0 { // only operators get these lists
			lines = append(lines,
				[][2]string{{"contributed", strings.Join(s.ContributedBy, ", ")},
					{"missing", strings.Join(s.Missing, ", ")},
					{"declined", strings.Join(s.Declined, ", ")}}...)
		}
		if s.State == study.Open && s.Chain != nil {
			if must, can := s.Chain.Ending().Minimum, s.Roster-len(s.Declined); can < must {
				advice := fmt.Sprintf("caucus study extend --minimum lowers that to no less than %d; else cancel the study", p.LeastParties())
				if p.LeastParties() > can {
					advice = fmt.Sprintf("cancel the study, whose plan allows no minimum below %d (floor)", p.LeastParties())
				}
				lines = append(lines, [2]string{"stuck", fmt.Sprintf("at least %d must contribute, and only %d have not refused: %s", must, can, advice)})
			}
		}
		name := "waits for"
		for _, p := range s.Statuses {
			lines = append(lines, [2]string{name, p.Words(time.Now())})
			name = ""
		}
		if len(s.Awaited) > 0 {
			lines = append(lines, [2]string{"awaited", strings.Join(s.Awaited, ", ") + " (to call since the coordinator started, or each holds a release already: caucus study waive)"})
		}
		for _, l := range lines {
			if l[1] != "" {
				fmt.Fprintf(w, "%-12s %s\n", l[0], l[1])
			}
		}
	})
}

// about makes a verb that calls the coordinator about one study, and prints the study.
func (o *operator) about(verb, short string,
	call func(context.Context, *admin.Client, string) (protocol.Study, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " STUDY", Short: short, Args: console.OneArgument("study "+verb, "STUDY"),
		RunE: o.dialled(func(cmd *cobra.Command, args []string, client *admin.Client) error {
			s, err := call(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			return o.printStudy(s)
		}),
	}
}

func (o *operator) showStudy() *cobra.Command {
	return o.about("show", "Show a study: plan, state, who has contributed",
		func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
			return c.Study(ctx, ref)
		})
}

func (o *operator) openStudy() *cobra.Command {
	return o.about("open", "Open a draft: from now on its plan cannot change", func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
		if s, err := c.Study(ctx, ref); err == nil && s.State == study.Open {
			o.Note("%s is open already", s.Name)
			return s, nil
		}
		return c.Open(ctx, ref)
	})
}

func (o *operator) cancelStudy() *cobra.Command {
	var reason string
	cmd := o.about("cancel", "Give a study up that is not released yet",
		func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
			return c.CancelStudy(ctx, ref, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "what the parties are told, besides that")
	return cmd
}

func (o *operator) waiveStudy() *cobra.Command {
	cmd := o.about("waive", "Release a study without waiting for contributors that do not call", func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
		return c.WaiveAwaited(ctx, ref)
	})
	cmd.Long = `Release a sealed study although some contributors have not called since the coordinator
restarted. The coordinator waits for their calls, because the calls reveal a folder that
was restored from an older backup, which could release a study twice. With this command
you vouch that nothing was restored. caucus study show names the contributors (awaited).
The coordinator logs the waiver, and forgets the waiver when it stops.`
	return cmd
}

// waitEvery is the interval at which "caucus study wait" asks the coordinator.
const waitEvery = time.Second

func (o *operator) waitStudy() *cobra.Command {
	var timeout time.Duration
	cmd := o.about("wait", "Wait until a study is released or has failed",
		func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			last, waits := "", ""
			for {
				s, err := c.Study(ctx, ref)
				if err == nil {
					waits = waitsFor(s)
				}
				switch {
				case err == nil && s.State == study.Released:
					return s, nil
				case err == nil && s.State == study.Failed:
					return s, fmt.Errorf("the study failed: %s", s.Reason)
				case err != nil && ctx.Err() == nil && !protocol.IsRetryable(err):
					return s, err
				}
				now := fmt.Sprintf("%s, %d of %d contributions", s.State, s.Contributed, s.Roster)
				if len(s.Awaited) > 0 {
					now += fmt.Sprintf(", waits for %s to call (caucus study waive)",
						strings.Join(s.Awaited, ", "))
				}
				if err != nil {
					now = "the coordinator cannot be reached; trying again"
				}
				if now != last && ctx.Err() == nil {
					o.Note("%s", now)
					last = now
				}
				select {
				case <-ctx.Done():
					if timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
						return s, fmt.Errorf("gave up after %v: %s%s", timeout, last, waits)
					}
					return s, fmt.Errorf("stopped waiting: %s%s: %w", last, waits, ctx.Err())
				case <-time.After(waitEvery):
				}
			}
		})
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long (default: never)")
	return cmd
}

const shownWaits = 8

// waitsFor says which parties an open study waits for, why, and the latest end.
func waitsFor(s protocol.Study) string {
	if s.State != study.Open || s.Chain == nil {
		return ""
	}
	var who []string
	for i, p := range s.Statuses {
		if i == shownWaits {
			who = append(who, fmt.Sprintf("and %d more: caucus study show %s", len(s.Statuses)-i,
				s.Name))
			break
		}
		who = append(who, p.Words(time.Now()))
	}
	return fmt.Sprintf("; waiting for %s; it %s", strings.Join(who, "; "),
		s.Chain.Ending().Words(s.Roster))
}

func (o *operator) resultStudy() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "result STUDY",
		Short: "Fetch a study's release, for caucus release",
		Long: `Fetch the release, check the coordinator's signature, and show what the release holds.
--out FILE and --json give one document: the release with its manifest, the signature,
and the coordinator's key. caucus release uses this file and checks every claim.`,
		Args: console.OneArgument("study result", "STUDY"),
		RunE: o.dialled(func(cmd *cobra.Command, args []string, client *admin.Client) error {
			r, err := client.Release(cmd.Context(), args[0])
			if errors.Is(err, study.ErrForm) && out != "" {
				if err := writeSigned(o.Console, out, r); err != nil {
					return err
				}
				o.Note("wrote %s, as it is", out)
			}
			if err != nil {
				return err
			}
			for _, w := range r.Release.Result.Warnings {
				o.Note("warning: %s", w)
			}
			if err := client.HelperRestored(); err != nil {
				o.Note("warning: %v", err)
			}
			printWeights(o.Err, r.Release)
			printTotals(o.Err, r.Release.Totals)
			if len(r.Release.Missing) > 0 {
				o.Note("missing: %v", r.Release.Missing)
			}
			if out != "" {
				if err := writeSigned(o.Console, out, r); err != nil {
					return err
				}
				o.Note("wrote %s; check it with: caucus release verify %s --pool POOL", out, out)
			}
			if o.JSON {
				return o.Print(r, nil)
			}
			p, err := results.CheckedPlan(r.Release)
			if err != nil {
				return err
			}
			told, err := results.Report(r.Release)
			if err != nil {
				return err
			}
			return o.Print(r, func(w io.Writer) { describeRelease(w, r.Release, p, told) })
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "write the signed release to this file")
	console.MarkOutput(cmd.Flags(), "out", ".json")
	return cmd
}
