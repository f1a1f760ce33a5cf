package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"caucus/agent/source"
	"caucus/analyst/forecast"
	"caucus/analyst/terms"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/stated"
)

// createdStudy is the JSON document of "caucus study create".
type createdStudy struct {
	Study    string             `json:"study"`
	Plan     study.Hash         `json:"plan"`
	State    study.State        `json:"state"`
	Parties  int                `json:"parties"`
	Minimum  int                `json:"minimum"`
	Deadline time.Time          `json:"deadline"`
	Unit     privacy.Unit       `json:"unit"`
	Epsilon  float64            `json:"epsilon"`
	Delta    float64            `json:"delta"`
	PoolRows int                `json:"pool_rows"`
	Features int                `json:"features"`
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// ShareError is the noise forecast of a ratio study.
	ShareError float64 `json:"share_error,omitempty"`
	// Noise is the noise forecast of kinds that have neither Forecast nor ShareError.
	Noise string `json:"noise_forecast,omitempty"`
	// Map describes the map of the features. Kept is the share of each column that the map keeps,
	// smallest first, and absent if the map keeps everything.
	Map     string              `json:"map"`
	Kept    []dataset.KeptShare `json:"kept,omitempty"`
	Warning string              `json:"warning,omitempty"`
	// Where is the condition on records, "" for all records.
	Where string `json:"where,omitempty"`
	// Policy has the lines that a site's policy needs for the plan.
	Policy []string `json:"policy"`
}

func (o *operator) createStudy() *cobra.Command {
	var t termFlags
	var force, dry bool
	var draws int
	cmd := &cobra.Command{
		Use:   "create [KIND] [STUDY.yaml]",
		Short: "Make a plan, forecast whether it helps, and store it as a draft",
		Long: `Make a plan from a YAML study file, from flags and --set, or from both (flags win): fit
the public map on the public pool, fill in defaults, and forecast how useful the release
would be. A plan that is not expected to be useful is refused. --force makes it anyway,
and skips the forecast of a classify study.

The plan and its pool go to the coordinator as a draft; caucus study open opens the
study. Before that, caucus simulate and caucus forecast take the same file.`,
		Example: `  caucus study create readmission.yaml --profile operator.yaml
  caucus study create --name readmission --schema schema.yaml --pool pool.csv --closes-in 72h
  caucus study create describe --name elderly --schema schema.yaml --pool pool.csv --where 'age >= 65' --set count=true`,
	}
	f := cmd.Flags()
	t.add(cmd, "name", "schema", "pool", "data", "where", "roster", "records", "unit", "epsilon",
		"delta", "noise", "mechanism", "learner", "minimum", "closes_in")
	drawsFlag(f, &draws)
	f.BoolVar(&force, "force", false, "create the study even if it is not expected to be useful; skips the forecast of a classify study")
	f.BoolVar(&dry, "dry-run", false, "make the plan and its forecast, store nothing; of a useless plan only warn")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := t.read(o.Console, cmd, args)
		switch {
		case err != nil:
			return err
		case s.Name == "" || s.Schema == "" || s.Pool == "":
			return console.Usagef("study create needs a name, a schema and a pool: in a study file, or by --name, --schema and --pool")
		case draws < 0 || draws > mostDraws:
			return console.Usagef("--draws %d: give 1 to %d, or 0 for no forecast", draws,
				mostDraws)
		}
		return refused(cmd, o.create(cmd.Context(), s, forecast.Options{Draws: drawsOf(f, draws)},
			draws > 0 && (!force || f.Changed("draws")), force, dry))
	}
	return cmd
}

func propose(c *console.Console, s terms.Study) (planning.PreparedPlan, error) {
	schema, err := source.ReadSchema(s.Schema)
	if err != nil {
		return planning.PreparedPlan{}, err
	}
	pool, err := new(input.ReadOptions).Table(c, s.Pool, schema, schema.Format())
	if err != nil {
		return planning.PreparedPlan{}, err
	}
	if err := readNamed(&s, schema, pool, false); err != nil {
		return planning.PreparedPlan{}, err
	}
	return planning.ProposePlan(s.Proposal, schema, pool)
}

// readNamed reads two files if a study names them: the model, and the release that the pool's
// weights come from. Only a rehearsal accepts a simulated release.
func readNamed(s *terms.Study, schema dataset.Schema, pool *dataset.Table,
	rehearsed bool) (err error) {
	if s.Model != "" {
		read := func(t *evaluate.Terms) (err error) {
			t.Model, err = readModel(s.Model, schema)
			return err
		}
		if err := changeTerms(&s.Proposal, read); err != nil {
			return err
		}
	}
	if s.PoolRelease == "" {
		return nil
	}
	if s.Pool == "" {
		return console.Usagef("pool_release goes with a pool")
	}
	s.Weights, err = poolSource(s.PoolRelease, pool, rehearsed)
	return err
}

func changeTerms[T any](p *study.Proposal, change func(*T) error) error {
	var t T
	err := p.DecodeTerms(&t)
	if err == nil {
		err = change(&t)
	}
	if err == nil {
		p.KindTerms, err = study.EncodeTerms(t)
	}
	return err
}

func (o *operator) create(ctx context.Context, s terms.Study, options forecast.Options,
	foresee, force, dry bool) error {
	client, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(s.Roster) == 0 {
		if s.Roster, err = o.roster(ctx, client, s.RosterTags); err != nil {
			return err
		}
	}
	now, when := time.Now(), "deadline"
	if s.Deadline.IsZero() {
		// a week, which has working days
		s.Deadline, when = now.Add(cmp.Or(s.ClosesIn, 7*24*time.Hour)), "closes_in"
	}
	if !now.Before(s.Deadline) {
		return study.PlanError(when, "%s is over: give a later time",
			s.Deadline.Format(time.RFC3339))
	}
	if s.Seed == 0 {
		var seed [8]byte
		rand.Read(seed[:])
		s.Seed = binary.BigEndian.Uint64(seed[:]) // public randomness, for choosing λ
	}
	made, err := propose(o.Console, s)
	if err != nil {
		return err
	}
	for _, r := range made.Remarks {
		o.Note("note: pool: %s", r)
	}
	p := made.Plan
	if words := p.Schema.FilledText(dataset.MissingColumns(made.Remarks)); words != "" {
		o.Note("note: pool: in place of its missing cells stand: %s", words)
	}
	if whole := p; p.Unit == privacy.Record && p.Schema.Patient != "" {
		if whole.Unit = privacy.Patient; kinds.Check(whole) == nil {
			o.Note("note: unit record hides each record alone, and the schema names patients (%s): --unit patient hides all records of a patient. Each site then counts one record of each patient: the same noise on fewer counts, and --records is its least number of patients. Sites without patient numbers, or with redeclare: daily, decline", p.Schema.Patient)
		}
	}
	var drawn *forecast.Forecast
	narrow := ""
	if p.Kind == "classify" && foresee {
		bar := console.NewProgress(o.Console)
		options.Progress, options.Coefficients = bar.Set, true
		drawn, err = forecast.DrawForecast(ctx, p, made.Pool,
			forecast.PublicInputs{Size: made.Size, AUC: s.AUC},
			options)
		bar.Stop()
		if err != nil {
			return err
		}
		made.Warning, narrow = drawn.Warning(p), p.ConditionForecastText(made.Size)
	}
	doc := createdStudy{
		Study: p.Name, Plan: made.Hash, State: study.Draft, Parties: len(p.Roster), Minimum: p.Minimum, Deadline: p.Deadline,
		Unit: p.Unit, Epsilon: p.Epsilon, Delta: p.Delta, PoolRows: made.Pool.Rows(), Features: made.Pool.Dim(),
		Map: p.Map.Describe(), Kept: p.Map.KeptShares(p.Schema, made.Pool.Encoded),
		Forecast: drawn, ShareError: made.ShareSD, Noise: made.Noise, Warning: made.Warning, Where: p.Where,
		Policy: policyLines(p),
	}
	if made.Warning != "" {
		o.Note("warning: %s", made.Warning)
		if !force && !dry {
			return fmt.Errorf("study %s was not created: it is not expected to be useful; change the plan, or give --force", p.Name)
		}
	}
	if !dry {
		if err := client.UploadPool(ctx, p.Pool, made.PoolBytes); err != nil {
			return fmt.Errorf("upload pool: %w", err)
		}
		var document []byte
		if drawn != nil {
			if document, err = (stated.Statement{Plan: made.Hash, AUC: s.AUC,
				Forecast: &drawn.Forecast}).Document(); err != nil {
				return err
			}
		}
		created, err := client.CreateStudy(ctx, made.Canonical, document)
		if errors.Is(err, protocol.ErrExists) && when == "closes_in" {
			return fmt.Errorf("%w, or write deadline: without it the deadline counts from now, so the same file makes another plan each time", err)
		}
		if err != nil {
			return err
		}
		doc.State = created.State
	}
	costs := ""
	if !o.JSON {
		if costs, err = costWords(p, made.Pool); err != nil {
			return err
		}
	}
	return o.Print(doc, func(w io.Writer) {
		fmt.Fprintf(w, "study      %s (%s)\nstate      %s\nguarantee  unit %s, ε = %g, δ = %g\n", doc.Study, doc.Plan, doc.State, doc.Unit, doc.Epsilon, doc.Delta)
		fmt.Fprint(w, costs)
		fmt.Fprintf(w, "parties    at least %d of %d must contribute by %s\npool       %s of %s\nmap        %s\n",
			doc.Minimum, doc.Parties, doc.Deadline.Format(time.RFC3339),
			console.Counted(doc.PoolRows,
				"rows"), columnWords(p), doc.Map)
		if doc.Where != "" {
			fmt.Fprintf(w, "about      %s\n", p.ConditionText())
		}
		if words := dataset.KeptText(doc.Kept); words != "" {
			fmt.Fprintf(w, "           %s\n", words)
		}
		printForecasts(w, doc.Forecast, doc.ShareError, doc.Noise)
		if narrow != "" {
			fmt.Fprintf(w, "           %s\n", narrow)
		}
		fmt.Fprintf(w, "policy     a site takes part if its agent.yaml allows at least this, under policy:\n")
		for _, line := range doc.Policy {
			fmt.Fprintf(w, "             %s\n", line)
		}
		if !dry {
			fmt.Fprintf(w, "open it with: caucus study open %s\n", doc.Plan.String()[:16])
		}
	})
}
