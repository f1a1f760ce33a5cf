package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregator/uploading"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/kinds"
)

// Cost is the price of a study, and its window. Both follow from public numbers.
type Cost struct {
	Records  int // as declared by the site
	Reserved []study.Reservation
	Charges  []study.Charge
	Window   WindowTimes
}

// CostOf returns a study's cost for this site, or an error that says why the study is refused. The
// result follows from plan, pool, policy and the declared number of records.
func (s *Site) CostOf(t study.Task) (c Cost, err error) {
	if err := s.Config.Policy.PoolObjection(t.Pool()); err != nil {
		return Cost{}, err
	}
	if err := study.CheckTerms(t); err != nil {
		return Cost{}, err
	}
	source, err := s.Sources.Of(t.Plan())
	if err != nil {
		return Cost{}, err
	}
	c.Records = cmp.Or(s.Studies.Folder(t.Hash()).DeclaredRecords(), source.Counted(t.Plan()))
	if c.Reserved, err = t.Reservations(c.Records); err != nil {
		return Cost{}, err
	}
	if c.Charges, err = t.Charges(0); err != nil {
		return Cost{}, err
	}
	w, err := t.Work(c.Records)
	if err != nil {
		return Cost{}, err
	}
	w.OtherSteps += uploading.ContributeSteps(t, c.Records)
	w.OtherSteps += study.CellSteps * float64(c.Records) * source.Cells()
	draw := 0.0
	for _, r := range c.Reserved {
		draw += r.Terms.Steps()
	}
	own, program, err := s.Config.learnerTime(t, c.Records)
	if err != nil {
		return Cost{}, err
	}
	w.ShardSteps += own
	c.Window = s.Config.spanOf(s.Speed.Step(), w, draw).with(program)
	if have, most := c.Window.Total(), s.Config.Policy.MaxWindow(); have > most ||
		have >= longestSpan {
		return Cost{}, fmt.Errorf("preparing it has to be given %v, the policy allows %v", have.Round(time.Second), most)
	}
	return c, nil
}

// spanOf returns the window for a study's work and for the steps of drawing its releases. Draw
// includes time for the constant that replaces a late contribution, so that both leave at the same
// moment. The constant is made from the same number of empty records, which train no classifier.
func (c Config) spanOf(stepTime time.Duration, w study.Work, draw float64) WindowTimes {
	step, least := float64(stepTime)/stepsCounted*c.TimeMargin, float64(c.MinWindow)
	s := WindowTimes{DrawNoise: lasting(float64(leastDraw) + step*(draw+w.OtherSteps))}
	if w.Shards > 0 {
		least /= 2 // the other half is for the classifiers
		s.PerShard = lasting(max(float64(leastShard), least/float64(w.Shards)) + step*w.ShardSteps)
	}
	s.Prepare = lasting(least + step*w.OtherSteps + float64(w.Shards)*float64(s.PerShard))
	return s
}

// WindowTimes is the length of a window and of its parts. It follows from public numbers.
type WindowTimes struct {
	// Prepare is the time to read and compute, and PerShard the part of it for one classifier.
	// DrawNoise is the time from the window's end to the upload, for drawing noise and for making
	// the constant that replaces a late contribution.
	Prepare, PerShard, DrawNoise time.Duration
}

// Total is the time from the window's start to the upload. It is fixed before records are read.
func (w WindowTimes) Total() time.Duration { return w.Prepare + w.DrawNoise }

// with returns the span with time for the site's own program, which then is the only classifier.
func (w WindowTimes) with(program time.Duration) WindowTimes {
	w.PerShard = min(w.PerShard+program, longestSpan)
	w.Prepare = min(w.Prepare+program, longestSpan)
	return w
}

// StartingAt returns the moments of a span that begins now.
func (w WindowTimes) StartingAt(now time.Time) Schedule {
	return Schedule{now, now.Add(w.Prepare), now.Add(w.Total())}
}

// These times are added to the bound of a window's work, as Config.MinWindow is.
const (
	leastShard = 100 * time.Millisecond // for a classifier of a few records
	leastDraw  = 200 * time.Millisecond // for a few numbers, and for writing them to disk
)

// longestSpan bounds a span's parts, so that no sum overflows. No policy allows such a long time.
const longestSpan = 10 * 365 * 24 * time.Hour

// lasting converts nanoseconds, also +Inf and NaN, to a duration of at most longestSpan.
func lasting(nanoseconds float64) time.Duration {
	if !(nanoseconds < float64(longestSpan)) {
		return longestSpan
	}
	return time.Duration(nanoseconds)
}

// SiteChooses reports whether a study lets this site choose the classifier or the scorer of its
// records.
func SiteChooses(p study.Plan) bool { return kinds.Explain(p).Learner == learners.AnyClassifier }

// SiteChoice names the classifier or scorer that this site chose. The error says why the site does
// not take part.
func (c Config) SiteChoice(p study.Plan) (words string, err error) {
	switch {
	case !kinds.Explain(p).SiteScores:
		return "any that a site chooses; here " + c.Learner.String(), nil
	case !c.Scorer.Configured():
		return "a program of each site's own scores its records; here none", errors.New("a program of this site's own has to score its records, and none is named: write scorer: {command: [python3, score.py]}")
	}
	return "none is trained; records are scored by " + c.Scorer.String(), nil
}

// learnerTime returns the time for the classifier or scorer that this site chose (Chosen): the
// steps of a built-in classifier, and the time limit of a program. Both follow from the
// configuration and public numbers.
func (c Config) learnerTime(t study.Task, records int) (steps float64, program time.Duration,
	err error) {
	if !SiteChooses(t.Plan()) {
		return 0, 0, nil
	}
	p := t.Plan()
	if kinds.Explain(p).SiteScores {
		_, err := c.SiteChoice(p)
		return study.CellSteps * float64(records) * float64(len(p.Schema.FeatureColumns())),
			c.Scorer.program("").TimeLimit(), err
	}
	if c.Learner.Configured() { // all cells are written to files, which the program reads
		cells := float64(records+t.Pool().Rows()) * float64(len(p.Schema.FeatureColumns())+1)
		return study.CellSteps * cells, c.Learner.program("").TimeLimit(), nil
	}
	steps, err = learners.TrainingSteps(cmp.Or(c.Learner.Name, learners.DefaultLearner),
		learners.TrainingSize{
			Rows: records, MappedColumns: p.Map.Dim(), EncodedColumns: p.Schema.Dim(), Classes: len(p.Schema.Classes()), PredictedRows: t.Pool().Rows(),
		})
	return steps, 0, err
}

// Voter returns the classifier that votes here. It tells failed why votes are missing; only the
// site may see that.
func (s *Site) Voter(failed func(error)) study.Voter {
	l := s.Config.Learner
	if !l.Configured() {
		return study.Voter{Learner: l.Name}
	}
	return study.Voter{Vote: func(ctx context.Context, schema dataset.Schema,
		labelled *dataset.Records, rows *mat.Dense) ([]int, error) {
		votes, err := l.program(s.scratch).Vote(ctx, schema, labelled, rows)
		if err != nil {
			failed(err)
		}
		return votes, err
	}}
}

// Scorer returns the function that scores this site's records. It tells failed why scores are
// missing; only the site may see that.
func (s *Site) Scorer(failed func(error)) func(context.Context, dataset.Schema,
	*mat.Dense) ([]float64, error) {
	if !s.Config.Scorer.Configured() {
		return nil
	}
	return func(ctx context.Context, schema dataset.Schema, rows *mat.Dense) ([]float64, error) {
		scores, err := s.Config.Scorer.program(s.scratch).Score(ctx, schema, rows)
		if err != nil {
			failed(err)
		}
		return scores, err
	}
}
