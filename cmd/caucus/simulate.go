package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/simulate"
)

func newSimulate(c *console) *cobra.Command {
	g := group("simulate", "Run a study among virtual parties and measure what it is worth", newSimulateClassify(c), newSimulateRatio(c), newSimulateReweigh(c), newSimulateLabels(c), newSimulateDescribe(c), newSimulateEvaluate(c))
	for _, verb := range g.Commands() {
		verb.RunE = endsAtOnce(c, verb.RunE)
	}
	return g
}

// endsAtOnce lets a verb that keeps nothing end with its context, whatever it is at: reading a
// file or a long fit asks no context. It is left where it is, since the process ends; of
// what it writes only whole files stay.
func endsAtOnce(c *console, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		done := make(chan error, 1)
		go func() { done <- run(cmd, args) }()
		select {
		case err := <-done:
			return err
		case <-cmd.Context().Done():
			c.writing.Lock() // to the end of the process: what is being written is whole first
			return errStopped(cmd.Context())
		}
	}
}

// errStopped says that a context ended what was asked for.
func errStopped(ctx context.Context) error {
	return fmt.Errorf("stopped before it was done: %w", ctx.Err())
}

// simulateClassify holds the flags of simulate classify.
type simulateClassify struct {
	source
	report                                 string
	parties, shards, repeats, poolRows     int
	poolFraction, epsilon, delta           float64
	components                             dataset.Components
	unit, noise, mechanism, bound, learner string
	lambda, out, poolRelease               string
	seed                                   uint64
	tilt, realShares, testParties          bool
	voters                                 voterFlags
}

// classifySummary is the JSON document of simulate classify.
type classifySummary struct {
	simulate.ClassifySummary
	Seconds float64 `json:"seconds"`
}

func newSimulateClassify(c *console) *cobra.Command {
	s := simulateClassify{components: dataset.Components{Project: dataset.Auto}}
	cmd := &cobra.Command{
		Use:   "classify",
		Short: "Train a private classifier from virtual parties' votes or sums",
		Long: `Split records among virtual parties, run a classify study through the real
study machine and a simulation ledger, and measure the release on test records.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate classify --dataset adult --parties 12 --out release.json
  caucus simulate classify --parties 200 --unit party`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&s.parties, "parties", 0, "number of virtual parties; default: the party column's, else 100")
	f.StringVar(&s.unit, "unit", "record", "what one guarantee hides: party, record or label")
	f.IntVar(&s.shards, "shards", 1, "classifiers a party trains on disjoint shards of its patients")
	f.StringVar(&s.noise, "noise", "", "who adds noise: site, coordinator, or aggregators (coordinator and helper, each on secret shares); default coordinator for unit party, else site")
	f.BoolVar(&s.realShares, "real-shares", false, "with --noise aggregators: split every contribution, and prove and check each share")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&s.delta, "delta", -1, "privacy budget δ; default min(1e-6, 1/(10·units))")
	f.StringVar(&s.mechanism, "mechanism", "", "tally (default at unit party), cross (default at record and label), means (unit party), moment, output, output-paper, majority, average, none")
	f.StringVar(&s.bound, "bound", "tight", "sensitivity bound of output: tight or paper")
	f.StringVar(&s.learner, "learner", learners.Default, "what parties train: one of "+fmt.Sprint(learners.Names())+", or any: each what it likes (--voter)")
	s.voters.flags(f)
	f.StringVar(&s.lambda, "lambda", "auto", "ridge of the central fit, or auto")
	componentsFlags(f, &s.components)
	f.Float64Var(&s.poolFraction, "pool-fraction", 0.25, "share of the training records that becomes the pool, without labels")
	f.StringVar(&s.poolRelease, "pool-release", "", "the reweigh release that --pool has its weights from, or was made from: what both cost is then stated together")
	reads(f, "pool-release")
	f.IntVar(&s.poolRows, "pool-rows", 10000, "most rows of that pool; 0 for no limit")
	f.BoolVar(&s.tilt, "tilt", false, "tilt the pool where a cross release shows that it differs")
	f.BoolVar(&s.testParties, "hold-out-parties", false, "test on all records of a quarter of the parties that the party column names: nobody is on both sides")
	f.IntVar(&s.repeats, "repeats", 1, "repeats with other splits and noise")
	f.Uint64Var(&s.seed, "seed", 1, "seed of splits, learners and simulated noise")
	f.StringVar(&s.out, "out", "", "write the first repeat's release here, for caucus predict")
	writes(f, "out", ".json")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// warnDelta says when a δ is too large for so many units to protect any of them.
func (c *console) warnDelta(delta float64, units int) {
	if most := study.MostDelta(units); delta > most {
		c.note("warning: δ = %g is above %.3g, one over ten times the %d units: such a δ allows giving a whole unit away; daemons refuse it", delta, most, units)
	}
}

// proposal is what the flags propose; what they leave out takes the defaults of a real
// study.
func (s *simulateClassify) proposal(cmd *cobra.Command) (study.Proposal, error) {
	unit, err := unitOf(s.unit)
	if err != nil {
		return study.Proposal{}, err
	}
	p := study.Proposal{
		Name: simulationName, Kind: "classify", Unit: unit, Epsilon: s.epsilon, Mechanism: s.mechanism, Noise: s.noise,
		Map: s.components,
	}
	terms := classify.Terms{Bound: s.bound, Shards: s.shards, Learner: s.learner, Tilt: s.tilt}
	if len(s.voters.lines) > 0 {
		terms.Learner = learners.Any
	}
	if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
		return p, err
	}
	if s.epsilon == 0 {
		return p, errZeroEpsilonFlag
	}
	if cmd.Flags().Changed("delta") {
		p.Delta = &s.delta
	}
	p.Lambda, err = parseLambda(s.lambda)
	return p, err
}

// simulationName is the name of simulated studies.
const simulationName = "simulation"

// parseLambda reads a ridge; auto is 0, as in a study file.
func parseLambda(text string) (float64, error) {
	if text == "auto" {
		return 0, nil
	}
	lambda, err := strconv.ParseFloat(text, 64)
	if err != nil || !(lambda > 0) {
		return 0, usagef("--lambda %q: give a number above 0, or auto", text)
	}
	return lambda, nil
}

func (s *simulateClassify) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	if cmd.Flags().Changed("parties") && s.parties < 1 {
		return usagef("--parties %d: give at least 1", s.parties)
	}
	if s.poolRows < 0 {
		return usagef("--pool-rows %d: give 0 or more", s.poolRows)
	}
	s.source.seed = s.seed
	proposal, err := s.proposal(cmd)
	if err != nil {
		return err
	}
	voters, err := s.voters.voters()
	if err != nil {
		return err
	}
	if len(voters) > 0 && cmd.Flags().Changed("learner") && s.learner != learners.Any {
		return usagef("--voter is for --learner %s, where parties choose", learners.Any)
	}
	data, err := s.load(c)
	if err != nil {
		return err
	}
	if s.poolRelease != "" {
		if s.pool == "" {
			return usagef("--pool-release goes with --pool")
		}
		pool, err := s.readPool(c, data.schema)
		if err != nil {
			return err
		}
		if proposal.Weights, err = poolSource(s.poolRelease, pool, true); err != nil {
			return err
		}
	}
	natural := !cmd.Flags().Changed("parties") && data.train.Party != nil && (s.partyColumn != "" || s.known != "" || s.train != "")
	if s.parties == 0 && !natural {
		s.parties = 100
	}
	units := s.parties
	if proposal.Unit != privacy.Party {
		units = data.train.Len()
	}
	if proposal.Delta != nil && units > 0 {
		c.warnDelta(s.delta, units)
	}
	sim := simulate.Classify{
		Split: simulate.Split{
			Schema: data.schema, Train: data.train, Test: data.test, Pool: data.pool, PoolWeight: data.poolWeight,
			TestParties: s.testParties, PoolFraction: s.poolFraction, PoolRows: s.poolRows, Parties: s.parties, Voters: voters, Seed: s.seed,
		},
		Proposal: proposal, Repeats: s.repeats, Shares: s.realShares,
	}
	if s.realShares && s.noise != study.NoiseAggregators {
		return usagef("--real-shares goes with --noise %s", study.NoiseAggregators)
	}
	if err := sim.Check(); err != nil {
		return usageError{err}
	}
	bar := newProgress(c)
	sim.Progress = bar.set
	summary, err := sim.Run(cmd.Context())
	bar.stop()
	if err != nil {
		return err
	}
	s.voters.warn(c)
	if s.out != "" {
		if err := c.writeRelease(s.out, summary.Release); err != nil {
			return err
		}
		c.note("wrote %s; use it with: caucus predict --release %s --data FILE", s.out, s.out)
	}
	if err := c.reportSimulated(s.report, summary.Release, measuredClassify(summary)); err != nil {
		return err
	}
	doc := classifySummary{summary, time.Since(start).Seconds()}
	return c.print(doc, func(w io.Writer) error { return printClassify(w, doc) })
}

func printClassify(w io.Writer, s classifySummary) error {
	a := s.Accuracy
	fmt.Fprintf(w, "%s, mechanism %s, unit %s, noise added by the %s\n", s.Study, s.Mechanism, s.Unit, s.Noise)
	fmt.Fprintf(w, "ε = %g, δ = %g; %s with %s each; pool of %s, %s, %s\n",
		s.Epsilon, s.Delta, counted(s.Parties, "parties"), counted(s.Shards, "shards"), counted(s.PoolRows, "rows"), counted(s.Features, "features"), counted(s.Classes, "classes"))
	fmt.Fprintf(w, "map: %s\n", s.Map)
	if words := dataset.KeptWords(s.Kept); words != "" {
		fmt.Fprintf(w, "  %s\n", words)
	}
	fmt.Fprintln(w)
	rows := []struct {
		name  string
		value float64
		about string
	}{
		{"released", a.Released, fmt.Sprintf("%sover %s; λ = %.3g", plusMinus(a.ReleasedSD, s.Repeats, " "), counted(s.Repeats, "repeats"), s.Lambda)},
		{"unperturbed", a.Unperturbed, "the same without noise"},
		{"pooled", a.Pooled, "if all records could be pooled"},
		{"one party alone", a.LocalMean, "mean over parties"},
		{"majority class", a.MajorityClass, "always naming the largest class"},
	}
	fmt.Fprintln(w, "accuracy on test records")
	for _, r := range rows {
		fmt.Fprintf(w, "  %-16s %.4f  %s\n", r.name, r.value, r.about)
	}
	for _, v := range s.Voters {
		fmt.Fprintf(w, "  %-16s %.4f  one of the %d parties that vote with it alone\n", v.Voter, v.Alone, v.Parties)
	}
	fmt.Fprintf(w, "\nits numbers are %s\n", s.Output.Words())
	for _, r := range []struct {
		name  string
		value simulate.Compared
		about string
	}{
		{"slope", s.Slope, "1 for probabilities, less where they are too extreme"},
		{"squared error", s.Brier, "of them, taken for probabilities (Brier)"},
	} {
		fmt.Fprintf(w, "  %-16s %.4f  %swithout noise %.4f; %s\n", r.name, r.value.Released, plusMinus(r.value.ReleasedSD, s.Repeats, "; "), r.value.Unperturbed, r.about)
	}
	fmt.Fprintf(w, "\n%.0f bytes uploaded per party, once; %.1f s\n", s.UploadBytes, s.Seconds)
	printTotals(w, s.Totals)
	for _, m := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; real studies run between a coordinator and agents")
	return err
}

// deviation is a standard deviation over repeats; nothing of one repeat, which has none.
func deviation(sd float64, repeats int) string {
	if repeats < 2 {
		return ""
	}
	return fmt.Sprintf("%.4f", sd)
}

// plusMinus is the same with its sign, and what stands behind it.
func plusMinus(sd float64, repeats int, behind string) string {
	if d := deviation(sd, repeats); d != "" {
		return "± " + d + behind
	}
	return ""
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

func newProgress(c *console) *progress {
	f, ok := c.err.(*os.File)
	if !ok {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	p := &progress{bars: mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))}
	p.bar = p.bars.AddBar(1, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name("parties "), decor.CountersNoUnit("%d / %d")),
		mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO)))
	return p
}

func (p *progress) set(done, total int) {
	if p.bar != nil {
		p.bar.SetTotal(int64(total), false)
		p.bar.SetCurrent(int64(done))
	}
}

func (p *progress) stop() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bars.Wait()
	}
}
