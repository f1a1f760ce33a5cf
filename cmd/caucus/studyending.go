package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/cmd/internal/console"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// sealFlags hold a rule that seals a study before its deadline.
type sealFlags struct {
	share float64
	quiet time.Duration
}

func (s *sealFlags) add(f *pflag.FlagSet) {
	f.Float64Var(&s.share, "seal-share", 0, "seal as soon as this share of the roster has contributed, such as 0.95 (default: when all have)")
	f.DurationVar(&s.quiet, "seal-quiet", 0, "with --seal-share: and nobody more has come for this long")
}

// rule returns the rule, nil without --seal-share.
func (s sealFlags) rule() (*study.SealRule, error) {
	switch {
	case s.share == 0 && s.quiet != 0:
		return nil, console.Usagef("--seal-quiet goes with --seal-share: the study then seals after this time without a new contribution")
	case s.share == 0:
		return nil, nil
	case s.quiet < 0 || s.quiet%time.Second != 0:
		return nil, console.Usagef("--seal-quiet %v: give whole seconds, such as 10m", s.quiet)
	}
	return &study.SealRule{Share: s.share, QuietSeconds: int(s.quiet / time.Second)}, nil
}

func (o *operator) closeStudy() *cobra.Command {
	cmd := o.about("close", "Seal an open study now, with those that have contributed", func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
		return c.CloseStudy(ctx, ref)
	})
	cmd.Long = `Seal an open study now, if at least its minimum has contributed. A party that is still
preparing a contribution has been charged for it, and is too late: caucus study show
says who is missing. The release says that an operator sealed it.`
	return cmd
}

func (o *operator) extendStudy() *cobra.Command {
	var options admin.AmendOptions
	var deadline string
	var closesIn time.Duration
	var seal sealFlags
	keepQuiet := false // --seal-share without --seal-quiet leaves the old quiet time
	cmd := o.about("extend", "Change when a study ends, or take up again one that failed", func(ctx context.Context, c *admin.Client, ref string) (protocol.Study, error) {
		if keepQuiet {
			s, err := c.Study(ctx, ref)
			if err != nil {
				return s, err
			}
			if rule := s.Chain.Ending().Seal; rule != nil {
				options.Seal.QuietSeconds = rule.QuietSeconds
			}
		}
		return c.AmendStudy(ctx, ref, options)
	})
	cmd.Long = `Change an open study's deadline, what seals it before that, or its minimum, down to the
floor that its plan names. The plan stays what it was: its hash is the study's name, and
nothing that was approved, charged or proved changes. Each change is an amendment that the
coordinator signs, and that names the one before; agents, the release and caucus release verify
hold them against the plan.

A study that failed is taken up again, as long as the coordinator's ledger holds nothing of
it: its parties send the same bytes again, which costs them nothing more.`
	cmd.Example = `  caucus study extend readmission --closes-in 48h
  caucus study extend readmission --minimum 8 --seal-share 0.9 --seal-quiet 10m`
	f := cmd.Flags()
	f.StringVar(&deadline, "deadline", "", "new deadline, as 2026-12-31T17:00:00Z")
	f.DurationVar(&closesIn, "closes-in", 0, "new deadline from now")
	f.IntVar(&options.Minimum, "minimum", 0, "least number of contributions, not below the plan's floor")
	f.BoolVar(&options.SealWhenAll, "seal-when-all", false,
		"drop the rule that seals it before its deadline")
	seal.add(f)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		switch {
		case deadline != "" && closesIn != 0:
			return console.Usagef("give --deadline or --closes-in, not both")
		case closesIn != 0:
			options.Deadline = time.Now().Add(closesIn)
		case deadline != "":
			if options.Deadline, err = time.Parse(time.RFC3339, deadline); err != nil {
				return console.Usagef("--deadline %q is no time such as 2026-12-31T17:00:00Z", deadline)
			}
		}
		if options.Seal, err = seal.rule(); err != nil {
			return err
		}
		keepQuiet = options.Seal != nil && !cmd.Flags().Changed("seal-quiet")
		if options.Minimum < 0 {
			return console.Usagef("--minimum %d is negative", options.Minimum)
		}
		if options.Seal != nil && options.SealWhenAll {
			return console.Usagef("give --seal-share or --seal-when-all, not both")
		}
		if options == (admin.AmendOptions{}) {
			return console.Usagef("say what to change: --closes-in, --deadline, --minimum, --seal-share or --seal-when-all")
		}
		return run(cmd, args)
	}
	return cmd
}
