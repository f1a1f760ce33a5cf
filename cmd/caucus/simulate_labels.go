package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/labels"
	"caucus/study/simulate"
)

// simulateLabels holds the flags of simulate labels.
type simulateLabels struct {
	source
	report                                         string
	components                                     dataset.Components
	mechanism, loss, risk, correction, lambda, out string
	pictures                                       string
	epsilon, poolFraction, gamma                   float64
	parties, repeats, filters, trainRows           int
	fourier                                        int
	seed                                           uint64
}

// labelsSummary is the JSON document of simulate labels.
type labelsSummary struct {
	simulate.LabelsSummary
	Seconds float64 `json:"seconds"`
}

// What maps pictures where no flag says otherwise, which no study file can say: random
// patches, then components of what they see.
const defaultFilters = 200

var pictureComponents = dataset.Components{Project: 60, Whiten: 0.5}

func newSimulateLabels(c *console) *cobra.Command {
	s := simulateLabels{components: dataset.Components{Project: dataset.Auto}}
	cmd := &cobra.Command{
		Use:   "labels",
		Short: "Train a classifier on clear features with privatised labels",
		Long: `Split records among virtual parties, run a labels study through the real study
machine and simulation ledgers, and measure the classifier on test records.
Only labels are hidden; features leave each party in clear.

Without --train or --dataset it uses generated hospital data.`,
		Example: `  caucus simulate labels --epsilon 0.5
  caucus simulate labels --dataset cifar10-airplane-horse --epsilon 0.5 --mechanism rr --loss barrier-hinge --risk auc
  caucus simulate labels --train animals.csv --schema animals.yaml --pictures 32x32x3 --epsilon 0.5`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return refused(cmd, s.run(cmd, c)) },
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.mechanism, "mechanism", "rr", "rr (randomised response) or em (exponential mechanism as published: rr at ε/2)")
	f.Float64Var(&s.epsilon, "epsilon", 1, "privacy budget ε of each label")
	f.StringVar(&s.loss, "loss", labels.DefaultTerms().Loss, strings.Join(learners.LossNames(), ", "))
	f.StringVar(&s.risk, "risk", aggregation.RiskAccuracy, "what is minimised: accuracy, ber or auc")
	f.StringVar(&s.correction, "correction", "auto", "none, backward, forward, or auto: none for a symmetric loss and two classes, else backward")
	f.StringVar(&s.lambda, "lambda", "auto", "ridge in units of the loss's scale; auto chooses it by cross-validation on the privatised labels")
	f.IntVar(&s.parties, "parties", 0, "number of virtual parties; default: the party column's, else 10")
	f.Float64Var(&s.poolFraction, "pool-fraction", 0.1, "share of the training records on which the public feature map is fitted, without labels")
	componentsFlags(f, &s.components)
	f.StringVar(&s.pictures, "pictures", "", "what a row of --train is a picture of: HEIGHTxWIDTHxCOLOURS, such as 32x32x3")
	f.IntVar(&s.filters, "filters", -1, "random patches that map pictures before the principal components; default 200 for pictures, else 0")
	f.IntVar(&s.fourier, "fourier", 0, "random Fourier features of what the map gives, for a kernel instead of a linear model; 0 for none")
	f.Float64Var(&s.gamma, "gamma", 0.5, "width of that kernel exp(-gamma*distance²)")
	f.IntVar(&s.trainRows, "train-rows", 0, "use a random part of the training records of this size; 0 uses all")
	f.IntVar(&s.repeats, "repeats", 1, "repeats with other splits and noise")
	f.Uint64Var(&s.seed, "seed", 1, "seed of splits, maps and simulated noise")
	f.StringVar(&s.out, "out", "", "write the first repeat's release here, for caucus predict")
	writes(f, "out", ".json")
	f.StringVar(&s.report, "report", "", reportFlagHelp)
	writes(f, "report", ".html", ".htm")
	return cmd
}

// proposal is what the flags propose; what they leave out takes the defaults of a real
// study. A virtual party may hold as many records as a plan allows.
func (s *simulateLabels) proposal() (study.Proposal, error) {
	terms := labels.Terms{Loss: s.loss, Risk: s.risk, Correction: s.correction, MaxRecords: labels.MostRecords}
	if s.correction == "auto" {
		terms.Correction = ""
	}
	p := study.Proposal{Name: simulationName, Kind: "labels", Epsilon: s.epsilon, Mechanism: s.mechanism, Map: s.components}
	if s.epsilon == 0 {
		return p, errZeroEpsilonFlag
	}
	var err error
	if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
		return p, err
	}
	p.Lambda, err = parseLambda(s.lambda)
	return p, err
}

func (s *simulateLabels) run(cmd *cobra.Command, c *console) error {
	start := time.Now()
	if s.repeats < 1 {
		return usagef("--repeats %d: give at least 1", s.repeats)
	}
	s.source.seed = s.seed
	if cmd.Flags().Changed("parties") && s.parties < 1 {
		return usagef("--parties %d: give at least 1", s.parties)
	}
	data, err := s.load(c)
	if err != nil {
		return err
	}
	var pictures *dataset.Pictures
	if s.pictures != "" {
		if pictures, err = parsePictures(s.pictures); err != nil {
			return err
		}
		if have := data.schema.Dim(); pictures.Pixels() != have {
			return usagef("--pictures %s: that is %d pixels and colours, the schema has %d columns", s.pictures, pictures.Pixels(), have)
		}
	} else if s.known != "" {
		known, err := dataset.LoadKnown(s.known)
		if err != nil {
			return err
		}
		pictures = known.Pictures
	}
	if s.filters < 0 {
		s.filters = 0
		if pictures != nil {
			s.filters = defaultFilters
		}
	}
	if f := cmd.Flags(); s.filters > 0 {
		if !f.Changed("project") {
			s.components.Project = pictureComponents.Project
		}
		if !f.Changed("whiten") {
			s.components.Whiten = pictureComponents.Whiten
		}
	}
	proposal, err := s.proposal()
	if err != nil {
		return err
	}
	if s.parties == 0 && data.train.Party == nil {
		s.parties = 10
	}
	if s.trainRows > 0 && s.trainRows < data.train.Len() {
		rows := rand.New(rand.NewPCG(s.seed, 0)).Perm(data.train.Len())
		data.train = data.train.Select(rows[:s.trainRows])
	}
	sim := simulate.Labels{
		Split: simulate.Split{
			Schema: data.schema, Train: data.train, Test: data.test, Pool: data.pool, PoolFraction: s.poolFraction,
			Parties: s.parties, Seed: s.seed,
		},
		Proposal: proposal, Repeats: s.repeats,
		Filters: s.filters, Pictures: pictures, Fourier: s.fourier, Gamma: s.gamma,
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
	if s.out != "" {
		if err := c.writeRelease(s.out, summary.Release); err != nil {
			return err
		}
		c.note("wrote %s; use it with: caucus predict --release %s --data FILE", s.out, s.out)
	}
	if err := c.reportSimulated(s.report, summary.Release, measuredLabels(summary)); err != nil {
		return err
	}
	doc := labelsSummary{summary, time.Since(start).Seconds()}
	return c.print(doc, func(w io.Writer) error { return printLabels(w, doc, data.schema.Classes()) })
}

func printLabels(w io.Writer, s labelsSummary, classes []string) error {
	fmt.Fprintf(w, "%s, mechanism %s at ε = %g a label: kept with probability %.4f\n", s.Study, s.Mechanism, s.Epsilon, s.Keep)
	fmt.Fprintf(w, "%s of %s, %s, %s; loss %s, risk %s, correction %s, λ = %.3g\n\n",
		counted(s.Records, "records"), counted(s.Parties, "parties"), counted(s.Features, "features"), counted(s.Classes, "classes"), s.Loss, s.Risk, s.Correction, s.Lambda)
	t := newTable(w, "on test records", "released", "±", "with true labels")
	row := func(name string, got, sd, clear float64) {
		t.add(name, fmt.Sprintf("%.4f", got), deviation(sd, s.Repeats), fmt.Sprintf("%.4f", clear))
	}
	row("accuracy", s.Accuracy, s.SD.Accuracy, s.Unperturbed.Accuracy)
	row("balanced error", s.BER, s.SD.BER, s.Unperturbed.BER)
	row("area under the curve", s.AUC, s.SD.AUC, s.Unperturbed.AUC)
	row("squared error (Brier)", s.Brier.Released, s.Brier.ReleasedSD, s.Brier.Unperturbed)
	row("calibration slope", s.Slope.Released, s.Slope.ReleasedSD, s.Slope.Unperturbed)
	if err := t.render(); err != nil {
		return err
	}
	fmt.Fprintf(w, "its numbers are %s\n", s.Output.Words())
	if of := s.Probabilities; of != nil {
		fmt.Fprintf(w, "probabilities in %d of %s: slope %.4f, %sBrier %.4f; the slope's 95 %% interval held what the test records say in %d\n", of.Repeats, counted(s.Repeats, "repeats"), of.Slope.Released, plusMinus(of.Slope.ReleasedSD, of.Repeats, "; "), of.Brier.Released, of.Held)
	}
	fmt.Fprintf(w, "largest class alone: accuracy %.4f; over %s\n\nclass shares of the records\n", s.MajorityClass, counted(s.Repeats, "repeats"))
	shares := newTable(w, "class", "true", "estimated", "±")
	for k, name := range classes {
		shares.add(name, fmt.Sprintf("%.4f", s.TrueShares[k]), fmt.Sprintf("%.4f", s.Shares.Share[k]), fmt.Sprintf("%.4f", s.Shares.Error[k]))
	}
	if err := shares.render(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%.0f bytes uploaded per party, once; %.1f s\n", s.UploadBytes, s.Seconds)
	for _, m := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", m)
	}
	_, err := fmt.Fprintln(w, "simulated: this protects nobody; features are in clear in any case, only labels are hidden")
	return err
}
