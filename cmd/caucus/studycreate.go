package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/forecast"
	"caucus/study/kinds"
)

// studyFile is what study create reads: a proposal and where its public files
// are.
type studyFile struct {
	study.Proposal `yaml:",inline"`
	// Schema and Pool are relative to the study file.
	Schema string `yaml:"schema"`
	Pool   string `yaml:"pool"`
	// PoolRelease is the reweigh release that the pool has its weights from, or
	// was made from; it fills in Weights.
	PoolRelease string `yaml:"pool_release"`
	// model is the file of the model that an evaluate study judges.
	model string
	// group is the labels of a roster that names no party.
	group protocol.Labels
	// ClosesIn is a deadline as a time from now, where none is given.
	ClosesIn time.Duration `yaml:"closes_in"`
}

// defaultClosesIn gives people of every site a week's working days.
const defaultClosesIn = 7 * 24 * time.Hour

// createdStudy is the JSON document of study create.
type createdStudy struct {
	Study    string       `json:"study"`
	Plan     study.Hash   `json:"plan"`
	State    study.State  `json:"state"`
	Parties  int          `json:"parties"`
	Minimum  int          `json:"minimum"`
	Deadline time.Time    `json:"deadline"`
	Unit     privacy.Unit `json:"unit"`
	Epsilon  float64      `json:"epsilon"`
	Delta    float64      `json:"delta"`
	PoolRows int          `json:"pool_rows"`
	Features int          `json:"features"`
	// Forecast is that of a classify study.
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// ShareError is the forecast of a ratio study.
	ShareError float64 `json:"share_error,omitempty"`
	// Noise is the forecast of a describe study.
	Noise string `json:"noise_forecast,omitempty"`
	// Map says in words what the pool's columns become, Kept how much of each that
	// keeps, least first; absent where all is kept.
	Map     string         `json:"map"`
	Kept    []dataset.Kept `json:"kept,omitempty"`
	Warning string         `json:"warning,omitempty"`
	// Where is the condition on records, "" where the study is about all.
	Where string `json:"where,omitempty"`
}

func (o *operator) createStudy() *cobra.Command {
	s := studyFile{Proposal: study.Proposal{Map: dataset.Components{Project: dataset.Auto}}}
	var unit string
	var roster, groups, readers []string
	var own classify.Terms
	var delta float64
	var shares []float64
	var force, dry, count bool
	var draws int
	cmd := &cobra.Command{
		Use:   "create [FILE]",
		Short: "Make a plan, forecast what it is worth, and store it as a draft",
		Long: `Make a plan from a YAML study file, from flags, or both (flags win): fit the
public map on the public pool, fill in defaults, and forecast what the release
can be worth. A plan that is not expected to be useful is refused; with --force
it is made, and a classify study's forecast is not drawn.
The plan and its pool go to the coordinator as a draft; caucus study open opens
it.`,
		Example: `  caucus study create readmission.yaml --profile operator.yaml
  caucus study create --name readmission --schema schema.yaml --pool pool.csv --project 20 --closes-in 72h`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("study create takes one FILE; see caucus study create --help")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Name, "name", "", "the study's name")
	f.StringVar(&s.Purpose, "purpose", "", "what it is for, in words")
	f.StringVar(&s.Contact, "contact", "", "whom to ask")
	f.StringVar(&s.Data, "data", "", "the data source agents should use")
	f.BoolVar(&count, "count", false, "ask for nothing but how many records --where holds for: kind describe, count")
	f.StringVar(&s.Schema, "schema", "", "schema file")
	f.StringVar(&s.Where, "where", "", "which records the study is about: a condition on features and label, such as 'age >= 65 and sex == Female' (default: all)")
	f.StringVar(&s.Pool, "pool", "", "CSV file of the public pool (may be .gz)")
	f.StringVar(&s.PoolRelease, "pool-release", "", "the reweigh release that the pool has its weights from, or was made from: the plan then states what both cost together")
	componentsFlags(f, &s.Map)
	f.StringSliceVar(&roster, "roster", nil, "parties that may contribute (default: all that are enrolled)")
	f.StringArrayVar(&groups, "roster-label", nil, "KEY=VALUE: the enrolled parties that have this label now may contribute; may be repeated")
	f.StringVar(&unit, "unit", "", "what the guarantee hides: party, record (default) or label")
	f.Float64Var(&s.Epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&delta, "delta", 0, "privacy budget δ (default min(1e-6, 1/(10·units)))")
	f.StringVar(&s.Mechanism, "mechanism", "", "default: tally at unit party, else cross")
	f.StringVar(&s.Noise, "noise", "", "site, coordinator or aggregators (default: coordinator at unit party, else site)")
	f.IntVar(&own.Shards, "shards", 0, "classifiers a party trains on disjoint shards of its patients")
	f.Float64Var(&s.Lambda, "lambda", 0, "ridge of the central fit; 0 is auto")
	f.StringVar(&own.Learner, "learner", "", "what parties train; any: each what it likes, also a program of its own (unit party)")
	f.BoolVar(&own.Tilt, "tilt", false, "tilt the pool where a cross release shows that it differs")
	f.IntVar(&s.Minimum, "minimum", 0, "least number of contributions (default: three quarters of the roster)")
	f.IntVar(&s.Floor, "floor", 0, "least that caucus study extend may lower the minimum to (default: it stays)")
	var seal sealFlags
	seal.add(f)
	f.IntVar(&s.Records, "records", 0, "how many records each party is publicly known to hold at least (default 200): bounds δ, and the forecast uses it")
	f.Float64SliceVar(&shares, "classes", nil, "the classes' public shares in the schema's order, as .73,.27: for the forecast (default two classes: .75,.25; more: equal)")
	forecastFlags(f, &s.Proposal, &draws)
	f.StringSliceVar(&readers, "readers", nil, "who may fetch the release (default: parties and operators)")
	f.DurationVar(&s.ClosesIn, "closes-in", 0, "deadline from now (default a week)")
	f.BoolVar(&force, "force", false, "create it without a forecast, or though noise leaves nothing of use")
	f.BoolVar(&dry, "dry-run", false, "make the plan and its forecast, store nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			read, err := readStudyFile(args[0])
			if err != nil {
				return err
			}
			given := map[*pflag.Flag]string{} // the flags are bound to s: set them again
			f.Visit(func(flag *pflag.Flag) { given[flag] = flag.Value.String() })
			s = read
			if s.Kind == "" || s.Kind == "classify" {
				if err := s.DecodeTerms(&own); err != nil {
					return err
				}
			}
			for flag, value := range given {
				if strings.HasSuffix(flag.Value.Type(), "Slice") || strings.HasSuffix(flag.Value.Type(), "Array") {
					continue // lists are bound to variables of their own
				}
				if err := flag.Value.Set(value); err != nil {
					return usagef("--%s: %v", flag.Name, err)
				}
			}
		}
		rule, err := seal.rule()
		if err != nil {
			return err
		}
		if rule != nil {
			s.Seal = rule
		}
		if unit != "" {
			if s.Unit, err = unitOf(unit); err != nil {
				return err
			}
		}
		if f.Changed("epsilon") && s.Epsilon == 0 { // 0 left out means the default
			return errZeroEpsilonFlag
		}
		if f.Changed("delta") {
			s.Delta = &delta
		}
		if f.Changed("roster") && f.Changed("roster-label") {
			return usagef("--roster names parties, --roster-label finds them: give one of them")
		}
		if f.Changed("roster-label") {
			s.Roster = nil
			if s.group, err = protocol.ParseLabels(groups); err != nil {
				return usageError{err}
			}
		}
		if f.Changed("roster") {
			s.Roster, s.group = nil, nil
			for _, p := range roster {
				s.Roster = append(s.Roster, study.PartyID(p))
			}
		}
		if count {
			if err := s.onlyCount(); err != nil {
				return err
			}
		}
		if f.Changed("classes") {
			own.ClassShares = shares
		}
		if s.Kind == "" || s.Kind == "classify" {
			if s.KindTerms, err = study.EncodeTerms(own); err != nil {
				return err
			}
		}
		for _, name := range []string{"shards", "learner", "tilt", "classes"} {
			if f.Changed(name) && s.Kind != "" && s.Kind != "classify" {
				return usagef("--%s is of kind classify, and this is a study of kind %s", name, s.Kind)
			}
		}
		if f.Changed("readers") {
			s.Readers = readers
		}
		if s.Name == "" || s.Schema == "" || s.Pool == "" {
			return usagef("study create needs a name, a schema and a pool: in a study FILE, or by --name, --schema and --pool")
		}
		if draws < 0 || draws > mostDraws {
			return usagef("--draws %d: give 1 to %d, or 0 for no forecast", draws, mostDraws)
		}
		return refused(cmd, o.create(cmd.Context(), s, forecast.Options{Draws: drawsOf(f, draws)}, draws > 0 && (!force || f.Changed("draws")), force, dry))
	}
	return cmd
}

// onlyCount makes it a study that counts who matches.
func (s *studyFile) onlyCount() error {
	if s.Kind != "" && s.Kind != "describe" {
		return usagef("--count is of kind describe, the study file has kind %s", s.Kind)
	}
	terms, err := study.EncodeTerms(describe.Terms{Count: true})
	s.Kind, s.KindTerms = "describe", terms
	return err
}

// A zero that was written must not become the default: in a study file, and by a flag.
var (
	errZeroEpsilon     = errors.New("epsilon: 0 would release nothing at all: typical values are 0.1 to 3; leave it out for 1")
	errZeroEpsilonFlag = usagef("--%w", errZeroEpsilon)
)

// unitOf reads the flag --unit.
func unitOf(name string) (privacy.Unit, error) {
	u, err := privacy.ParseUnit(name)
	if err != nil {
		return u, usagef("--unit %q: use label, record or party", name)
	}
	return u, nil
}

// readStudyFile reads YAML; an unknown key is an error. Paths are relative to
// the file's folder.
func readStudyFile(name string) (studyFile, error) {
	var s studyFile
	file, err := yamlfile.Read(name)
	if err == nil {
		s, err = decodeStudyFile(file)
	}
	if err != nil {
		return s, fmt.Errorf("read study file: %w", err)
	}
	for _, path := range []*string{&s.Schema, &s.Pool, &s.PoolRelease, &s.model} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(name), *path)
		}
	}
	return s, nil
}

func decodeStudyFile(file *yamlfile.Document) (s studyFile, err error) {
	name := kinds.Default
	if n := file.Find("kind"); n != nil {
		name = n.Value
	}
	if kind, err := kinds.Named(name); err == nil { // its terms stand under its name
		terms := kind.Terms()
		found, err := file.Take(name, terms)
		if err != nil {
			return s, err
		}
		if found {
			if s.KindTerms, err = study.EncodeTerms(terms); err != nil {
				return s, fmt.Errorf("%s: %w", name, err)
			}
		}
		if t, ok := terms.(*evaluate.Terms); ok {
			s.model = t.ModelFile
		}
	}
	if s.group, err = takeGroup(file); err != nil {
		return s, err
	}
	s.Map.Project = dataset.Auto
	if err := file.Decode(&s); err != nil {
		return s, err
	}
	if s.Epsilon == 0 && file.Find("epsilon") != nil {
		return s, file.Locate(errZeroEpsilon)
	}
	return s, nil
}

// propose makes the plan of a study file.
func (s studyFile) propose(c *console) (kinds.Proposed, error) {
	schema, err := readSchema(s.Schema)
	if err != nil {
		return kinds.Proposed{}, err
	}
	pool, err := new(reading).table(c, s.Pool, schema, schema.Format())
	if err != nil {
		return kinds.Proposed{}, err
	}
	if s.model != "" {
		if s.KindTerms, err = withModel(s.KindTerms, s.model, schema); err != nil {
			return kinds.Proposed{}, err
		}
	}
	if s.PoolRelease != "" {
		if s.Weights, err = poolSource(s.PoolRelease, pool, false); err != nil {
			return kinds.Proposed{}, err
		}
	}
	return kinds.Propose(s.Proposal, schema, pool)
}

func (o *operator) create(ctx context.Context, s studyFile, options forecast.Options, foresee, force, dry bool) error {
	client, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(s.Roster) == 0 {
		if s.Roster, err = o.roster(ctx, client, s.group); err != nil {
			return err
		}
	}
	if s.Deadline.IsZero() {
		if s.ClosesIn == 0 {
			s.ClosesIn = defaultClosesIn
		}
		s.Deadline = time.Now().Add(s.ClosesIn)
	}
	if s.Seed == 0 {
		var seed [8]byte
		rand.Read(seed[:])
		s.Seed = binary.BigEndian.Uint64(seed[:]) // public: for λ's fresh noise
	}
	made, err := s.propose(o.console)
	if err != nil {
		return err
	}
	for _, r := range made.Remarks {
		o.note("note: pool: %s", r)
	}
	p := made.Plan
	var drawn *forecast.Forecast
	narrow := ""
	if p.Kind != "classify" && s.AUC != 0 {
		return study.PlanError("auc", "it is for the forecast of a classify study, and this is one of kind %s: leave it out", p.Kind)
	}
	if p.Kind == "classify" && foresee {
		bar := newProgress(o.console)
		options.Progress = bar.set
		drawn, err = forecast.Draw(ctx, p, made.Pool, forecast.Public{Size: made.Size, AUC: s.AUC}, options)
		bar.stop()
		if err != nil {
			return err
		}
		made.Warning, narrow = drawn.Warning(p), p.AboutFewer(made.Size)
	}
	doc := createdStudy{
		Study: p.Name, Plan: made.Hash, State: study.InDraft, Parties: len(p.Roster), Minimum: p.Minimum, Deadline: p.Deadline,
		Unit: p.Unit, Epsilon: p.Epsilon, Delta: p.Delta, PoolRows: made.Pool.Rows(), Features: made.Pool.Dim(),
		Map: p.Map.Words(), Kept: p.Map.Kept(p.Schema, made.Pool.Encoded),
		Forecast: drawn, ShareError: made.ShareError, Noise: made.Noise, Warning: made.Warning, Where: p.Where,
	}
	if made.Warning != "" {
		o.note("warning: %s", made.Warning)
		if !force && !dry {
			return fmt.Errorf("study %s was not created: it is not expected to be useful; change the plan, or give --force", p.Name)
		}
	}
	if !dry {
		if err := client.UploadPool(ctx, p.Pool, made.PoolBytes); err != nil {
			return fmt.Errorf("upload pool: %w", err)
		}
		created, err := client.CreateStudy(ctx, made.Canonical)
		if err != nil {
			return fmt.Errorf("create study: %w", err)
		}
		doc.State = created.State
	}
	return o.print(doc, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "study      %s (%s)\nstate      %s\nguarantee  unit %s, ε = %g, δ = %g\n", doc.Study, doc.Plan, doc.State, doc.Unit, doc.Epsilon, doc.Delta)
		if task, none := kinds.NewTask(p, made.Pool); err == nil && none == nil {
			err = printRemoval(w, task)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "parties    %d, at least %d until %s\npool       %s, %s\nmap        %s\n",
				doc.Parties, doc.Minimum, doc.Deadline.Format(time.RFC3339), counted(doc.PoolRows, "rows"), counted(doc.Features, "features"), doc.Map)
		}
		if err == nil && doc.Where != "" {
			_, err = fmt.Fprintf(w, "about      %s\n", p.About())
		}
		if words := dataset.KeptWords(doc.Kept); err == nil && words != "" {
			_, err = fmt.Fprintf(w, "           %s\n", words)
		}
		if err == nil && doc.Forecast != nil {
			err = printForecast(w, doc.Forecast, "class_shares, or --classes, says them")
		}
		if err == nil && narrow != "" {
			_, err = fmt.Fprintf(w, "           %s\n", narrow)
		}
		if err == nil && doc.ShareError > 0 {
			_, err = fmt.Fprintf(w, "forecast   noise moves a class share of a set by %.2g on average\n", doc.ShareError)
		}
		if err == nil && doc.Noise != "" {
			_, err = fmt.Fprintf(w, "forecast   %s\n", strings.ReplaceAll(doc.Noise, "\n", "\n           "))
		}
		if err == nil && !dry {
			_, err = fmt.Fprintf(w, "open it with: caucus study open %s\n", doc.Plan.String()[:16])
		}
		return err
	})
}
