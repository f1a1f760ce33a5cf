package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/cmd/internal/siteverbs"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// checker holds the arguments of "caucus release verify" and "caucus release report".
type checker struct {
	*console.Console
	release, pool, schema, key, helper, profile, config string
	how                                                 input.ReadOptions

	witness *site.Evidence // set by --config
}

func newReleaseVerify(c *console.Console) *cobra.Command {
	v := &checker{Console: c}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check every claim of a release, offline",
		Long: `Recompute the claims of a release from its plan and the public pool alone: bound, noise,
cost and totals. Check its signature, its roster and its lines of the coordinator's
ledger. Then compute the whole result again from the published noisy integers, and
compare every field. Say in words which claims hold, which are only the coordinator's
word, and what must be trusted.

The coordinator's key comes from an agent's configuration, an operator's profile or
--key. --config also compares the release with the agent's own receipt, upload and
ledger, and uses the agent's copy of the pool.

The exit code is 1 if a check fails, and for a simulated release, which protects nobody.`,
		Example: `  caucus release verify release.json --pool pool.csv --key 5f1c…
  caucus release verify release.json --config agent.yaml
  caucus release verify release.json --pool pool.csv --profile operator.yaml --json`,
		Args: console.OneArgument("release verify", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.release = args[0]
			return v.run(cmd)
		},
	}
	v.flags(cmd.Flags())
	cmd.Flags().StringVar(&v.config, "config", "", "an agent's configuration: its key, receipts, ledger and pool")
	return cmd
}

func (v *checker) flags(f *pflag.FlagSet) {
	f.StringVar(&v.pool, "pool", "", "file of the public pool: CSV (also packed)")
	v.how.Flags(f)
	f.StringVar(&v.schema, "schema", "", "schema of the pool file, where it has no header or another delimiter")
	f.StringVar(&v.key, "key", "", "the coordinator's public key, in hexadecimal")
	f.StringVar(&v.helper, "helper", "", "the code of the helper's keys, or its signing key, for a study with noise: aggregators")
	console.EnvironmentFlag(f, &v.profile, "profile", "CAUCUS_PROFILE",
		"operator profile that names the key")
	console.MarkInputs(f, "pool", "schema", "profile")
}

func (v *checker) run(cmd *cobra.Command) error {
	r, err := input.ReadSigned(v.release)
	if err != nil {
		return err
	}
	plan, unread := kinds.PlanOf(r.Release)
	hasPool := v.pool != "" || v.config != ""
	if !hasPool && (unread != nil || !plan.Simulated) {
		return console.Usagef("release verify needs --pool FILE, the public pool of the study, or --config FILE of an agent that took part")
	}
	known, err := v.trusted(cmd.Context(), r.Release)
	if err != nil {
		return err
	}
	if hasPool && unread == nil {
		if known.Pool, known.PoolError = v.readPool(plan); known.PoolError != nil &&
			!plan.Simulated {
			return known.PoolError
		}
	}
	return siteverbs.PrintFindings(v.Console, v.release, r, verify.Release(r, known),
		"All that can be checked holds.")
}

// helperOf returns the key by which a release's helper must have signed, and how it is known. The
// zero key, by which nobody signs, stands for a helper whose keys have another code.
func helperOf(h policy.Helper, r study.Release, from string) (*protocol.SignerKey, string) {
	if r.Aggregated == nil {
		return nil, from
	}
	key, err := h.Pins().Signer(r.Aggregated.Acceptances[1].Document)
	if err != nil {
		return new(protocol.SignerKey), fmt.Sprintf("%s: %v", from, err)
	}
	return &key, from
}

// trusted returns the known coordinator keys with their sources, and an agent's record of the
// study. A source is a file's name without its folder, because people pass findings on.
func (v *checker) trusted(ctx context.Context, r study.Release) (k verify.VerifierInputs,
	err error) {
	if v.config != "" {
		c, err := site.LoadConfig(v.config)
		if err != nil {
			return k, err
		}
		if v.witness, err = site.ReadEvidence(c); err != nil {
			return k, err
		}
		site := v.witness.OfStudy(ctx, r)
		k.Party = &site
		if h := c.Policy.Helper; h.Configured() {
			k.Helper, k.HelperFrom = helperOf(h, r, "from "+filepath.Base(v.config))
		}
	}
	if v.helper != "" {
		h := policy.Helper{Code: v.helper}
		_, is, err := protocol.ReadKeyCode(v.helper)
		if !is {
			h.Code, err = "", h.Signing.UnmarshalText([]byte(v.helper))
		}
		if err != nil {
			return k, console.Usagef("--helper: %v", err)
		}
		k.Helper, k.HelperFrom = helperOf(h, r, "--helper")
	}
	switch {
	case v.key != "":
		var key protocol.SignerKey
		if err := key.UnmarshalText([]byte(v.key)); err != nil {
			return k, console.Usagef("--key: %v", err)
		}
		keys, err := protocol.FollowKeys(key, nil)
		k.Keys, k.KeysFrom = &keys, "--key"
		return k, err
	case v.witness != nil:
		k.KeysFrom = "from " + filepath.Base(v.config)
	case v.profile != "":
		id, err := protocol.LoadIdentity(v.profile)
		if err != nil {
			return k, err
		}
		keys, err := id.Keys()
		k.Keys, k.KeysFrom = &keys, "from "+filepath.Base(v.profile)
		return k, err
	}
	return k, nil
}

// readPool reads the pool under the plan's schema and map, from the operator's file or an agent's
// canonical copy.
func (v *checker) readPool(p study.Plan) (*auxdata.Pool, error) {
	file := v.pool
	if file == "" {
		file = v.witness.PoolFile(p.Pool)
	}
	format, err := input.FormatOf(v.schema)
	if err != nil {
		return nil, err
	}
	return input.ReadPool(v.Console, &v.how, file, format, p)
}
