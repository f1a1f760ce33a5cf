package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"caucus/privacy"
	"caucus/study"
)

// Standing is how far a study has come at this site.
type Standing string

// The standings of a study at a site.
const (
	StandingWaiting  Standing = "waiting for approval"
	StandingRefused  Standing = "refused here"
	StandingDeclined Standing = "refused by a person"
	StandingReady    Standing = "ready to contribute"
	StandingPrepared Standing = "prepared, not yet received"
	StandingReceived Standing = "received by the coordinator"
	StandingReleased Standing = "released"
	StandingClosed   Standing = "closed"
)

// Review is what this site knows about a study before it says yes: exactly
// what would leave, at which price, and whether the policy allows it. It is for
// the eyes of the site; it tells how many records there are.
type Review struct {
	Study    string     `json:"study"`
	Plan     study.Hash `json:"plan"`
	Standing Standing   `json:"standing"`
	Closed   string     `json:"closed,omitempty"` // why it was closed
	Purpose  string     `json:"purpose,omitempty"`
	Contact  string     `json:"contact,omitempty"`
	Readers  []string   `json:"readers,omitempty"`
	Deadline time.Time  `json:"deadline,omitzero"`
	Parties  int        `json:"parties"`
	Minimum  int        `json:"minimum"`

	Kind       string            `json:"kind"`
	Unit       privacy.Unit      `json:"unit"`
	Epsilon    float64           `json:"epsilon"`
	Delta      float64           `json:"delta"`
	Mechanism  string            `json:"mechanism"`
	Noise      string            `json:"noise"`
	Sampler    string            `json:"sampler"`
	Parameters map[string]string `json:"parameters"`
	// Leaves says in words what leaves, Protects what that guarantees.
	Leaves   string `json:"leaves"`
	Protects string `json:"protects"`
	// Bytes leave: exactly these where the upload is prepared, else about as
	// many.
	Bytes        int      `json:"bytes"`
	Exact        bool     `json:"bytes_exact"`
	Columns      []string `json:"columns"`
	ClearColumns []string `json:"clear_columns"`

	Source  string   `json:"source"`
	Records int      `json:"records"`
	Remarks []string `json:"remarks,omitempty"`

	// Budgets are the ledger's units that the study touches.
	Budgets []UnitBudget `json:"ledger"`
	// Allowed: policy and ledger allow it; Objections say why not.
	Allowed    bool     `json:"allowed"`
	Objections []string `json:"objections"`
	// NeedsPerson: the policy asks that persons approve, Needed of them;
	// Approved: enough did, ApprovedBy.
	NeedsPerson bool     `json:"needs_approval"`
	Needed      int      `json:"approvals_needed"`
	Approved    bool     `json:"approved"`
	ApprovedBy  []string `json:"approved_by"`
	// Refused says which person refused it, and when; "" where none did.
	Refused string `json:"refused,omitempty"`
	// Problems are what keeps the site from contributing although it may:
	// a file that cannot be read, a column that is missing.
	Problems []string `json:"problems,omitempty"`
}

// UnitBudget is what one unit of the ledger has spent, would have, and may: in
// all, or in a year.
type UnitBudget struct {
	Year  string       `json:"year,omitempty"`
	Unit  privacy.Unit `json:"unit"`
	Delta float64      `json:"delta"`
	Limit float64      `json:"limit_epsilon"`
	// Before and After are null where nothing is guaranteed.
	Before *float64 `json:"spent_epsilon"`
	After  *float64 `json:"after_epsilon"`
}

// finite is x, nil where it is infinite: JSON has no word for it.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func show(x *float64) string {
	if x == nil {
		return "unbounded"
	}
	return fmt.Sprintf("%.4g", *x)
}

// describe is what plan and policy alone say.
func (s *site) describe(d dossier, h study.Hash, p study.Plan) Review {
	r := Review{
		Study: p.Name, Plan: h, Purpose: p.Purpose, Contact: p.Contact, Readers: p.Readers, Deadline: p.Deadline,
		Parties: len(p.Roster), Minimum: p.Minimum,
		Kind: p.Kind, Unit: p.Unit, Epsilon: p.Epsilon, Delta: p.Delta, Mechanism: p.Mechanism, Noise: p.Noise,
		Leaves: leaves(p), Protects: protects(p),
		Columns: p.Schema.FeatureColumns(), ClearColumns: ClearColumns(p),
		Needed: s.config.Policy.needed(), ApprovedBy: append([]string{}, s.approvers(d, h)...),
		Objections: s.config.Policy.Objections(p),
	}
	r.NeedsPerson, r.Approved = r.Needed > 0, len(r.ApprovedBy) >= r.Needed
	if no := s.refused(d); no != nil {
		r.Refused = fmt.Sprintf("refused by %s on %s", no.Name, no.At.Format(time.DateOnly))
	}
	if b, err := d.read(fileClosed); err == nil {
		r.Closed = strings.TrimSpace(string(b))
	}
	// Lists are never null in JSON.
	r.Objections, r.ClearColumns = append([]string{}, r.Objections...), append([]string{}, r.ClearColumns...)
	r.Allowed = len(r.Objections) == 0
	r.Standing = s.standing(d, r)
	return r
}

// outline is a study at a glance, without its records. What is still to be
// decided is held against the ledger too.
func (s *site) outline(ctx context.Context, h study.Hash) (Review, error) {
	d := s.studies.of(h)
	p, err := d.plan()
	if err != nil {
		return Review{}, err
	}
	r := s.describe(d, h, p)
	if r.Standing == StandingWaiting || r.Standing == StandingReady {
		err = s.reviewCosts(ctx, &r, d, p)
	}
	return r, err
}

// review reads one study. It spends nothing and sends nothing.
func (s *site) review(ctx context.Context, h study.Hash) (Review, error) {
	d := s.studies.of(h)
	p, err := d.plan()
	if err != nil {
		return Review{}, err
	}
	r := s.describe(d, h, p)
	if err := s.reviewCosts(ctx, &r, d, p); err != nil {
		return Review{}, err
	}
	s.reviewData(ctx, &r, h, p)
	return r, nil
}

// reviewCosts adds what plan and pool make the study cost, and whether the
// ledger can bear it.
func (s *site) reviewCosts(ctx context.Context, r *Review, d dossier, p study.Plan) error {
	pool, err := s.pool(p)
	if errors.Is(err, fs.ErrNotExist) {
		r.Problems = append(r.Problems, "the public pool is not here yet: it is fetched while the agent runs")
		return nil
	}
	if err != nil {
		return err
	}
	charges, err := study.DeclaredCosts(p, pool)
	if err != nil {
		return err
	}
	var costs []privacy.Cost
	for _, c := range charges {
		r.Sampler, r.Parameters = c.Mechanism, c.Parameters
		costs = append(costs, c.Cost)
	}
	if err := study.CheckTerms(p, pool); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	if err := s.reviewLedger(ctx, r, costs, d.has(fileUpload)); err != nil {
		return err
	}
	r.Allowed = len(r.Objections) == 0
	r.Standing = s.standing(d, *r)
	return nil
}

// reviewLedger adds what the ledger has to say. A study that is prepared is
// charged already.
func (s *site) reviewLedger(ctx context.Context, r *Review, costs []privacy.Cost, charged bool) error {
	all, err := s.spending(ctx)
	if err != nil {
		return err
	}
	if charged {
		costs = nil
	}
	for _, limit := range all {
		if !charged {
			r.Objections = append(r.Objections, limit.objections(costs)...)
		}
		after := limit.after(costs)
		for _, u := range privacy.Units() {
			if most, ok := limit.most[u]; ok {
				r.Budgets = append(r.Budgets, UnitBudget{
					Year: limit.year, Unit: u, Delta: most.Delta, Limit: most.Epsilon,
					Before: finite(limit.spent[u].Epsilon(most.Delta)), After: finite(after[u].Epsilon(most.Delta)),
				})
			}
		}
	}
	return nil
}

// reviewData reads the records and tries a contribution; problems are for the site to mend.
func (s *site) reviewData(ctx context.Context, r *Review, h study.Hash, p study.Plan) {
	problem := func(err error) { r.Problems = append(r.Problems, err.Error()) }
	if body, err := s.studies.of(h).read(fileUpload); err == nil {
		r.Bytes, r.Exact = len(body), true
	}
	source, err := s.config.source(p.Data)
	if err != nil {
		problem(err)
		return
	}
	r.Source = source.File
	records, remarks, err := source.records(p)
	if err != nil {
		problem(err)
		return
	}
	r.Records = records.Len()
	for _, m := range remarks {
		r.Remarks = append(r.Remarks, m.String())
	}
	pool, err := s.pool(p)
	if err != nil || r.Exact {
		return
	}
	kind, err := study.KindNamed(p.Kind)
	if err != nil {
		problem(err)
		return
	}
	draft, err := kind.Draft(p, s.inputs(pool, records))
	if err != nil {
		problem(err)
		return
	}
	// A ledger in memory, gone with this call: what it releases is measured and
	// thrown away.
	ledger, err := privacy.Open(privacy.NewMemory(), privacy.Config{})
	if err != nil {
		problem(err)
		return
	}
	trial, err := study.Settle(ctx, ledger, h, draft.Asks)
	if err != nil {
		problem(err)
		return
	}
	if body, err := draft.Body(trial); err == nil {
		r.Bytes = len(body)
	}
}

func (s *site) standing(d dossier, r Review) Standing {
	switch {
	case d.has(fileRelease):
		return StandingReleased
	case d.has(fileClosed):
		return StandingClosed
	case d.has(fileReceipt):
		return StandingReceived
	case r.Refused != "":
		return StandingDeclined
	case d.has(fileUpload):
		return StandingPrepared
	case !r.Allowed:
		return StandingRefused
	case r.NeedsPerson && !r.Approved:
		return StandingWaiting
	}
	return StandingReady
}

// leaves says what a contribution is made of.
func leaves(p study.Plan) string {
	what := map[string]string{
		"cross":  "sums over this site's records of label × mapped features, and the number of records",
		"means":  "the direction of the mean over this site's records of label × mapped features",
		"tally":  "one vote for a class on each row of the public pool",
		"moment": "one vote for a class on each row of the public pool",
		"output": "one vote for a class on each row of the public pool",
		"rr":     "the mapped features of every record, in clear, beside its label",
		"em":     "the mapped features of every record, in clear, beside its label",

		"entropy":  "sums over this site's records of the schema's features, and the number of records",
		"logistic": "the coefficients of a model that tells this site's records from the public pool's, times the number of records, and that number",
	}[p.Mechanism]
	if p.Kind == "ratio" && p.Ratio != nil {
		return leavesRatio(*p.Ratio)
	}
	if what == "" {
		what = "a contribution of mechanism " + p.Mechanism
	}
	if p.Shards > 1 {
		what = fmt.Sprintf("how many of %d classifiers, trained on disjoint shards of the patients, vote for each class on each row of the public pool", p.Shards)
	}
	if p.Noise == study.NoiseSite && p.Mechanism == "moment" {
		what = "public linear combinations of this site's votes on the public pool"
	}
	if p.Kind == "labels" {
		return what + "; only the label is privatised, by this site, before anything leaves"
	}
	if p.Noise == study.NoiseSite {
		return what + "; with this site's own noise added before anything leaves"
	}
	return what + "; exact, without noise: the coordinator adds noise to the sum of all sites"
}

// leavesRatio says what a set is published as.
func leavesRatio(t study.RatioTerms) string {
	sets := map[string]string{
		study.SetsParty:  "all records of this site as one set",
		study.SetsColumn: "one set for each value of the schema's party column; which values there are, and how many records have each, is thereby public",
		study.SetsMade:   "one set a class, each holding mostly that class",
	}[t.Sets]
	return map[string]string{
		study.FeaturesClear:          "of each set its mapped features, record by record, exact; and its number of records of each class, with this site's own noise added before anything leaves: ",
		study.FeaturesEmbedding:      fmt.Sprintf("of each set the exact mean of %d public random features, which no proof covers; and its number of records of each class, with this site's own noise added before anything leaves: ", t.Fourier),
		study.FeaturesNoisyEmbedding: fmt.Sprintf("of each set the sums of %d public random features and its number of records of each class, all with this site's own noise added before anything leaves: ", t.Fourier),
	}[t.Features] + sets
}

// protects says who learns what.
func protects(p study.Plan) string {
	budget := fmt.Sprintf("ε = %g", p.Epsilon)
	if p.Delta > 0 {
		budget += fmt.Sprintf(", δ = %g", p.Delta)
	}
	hides := map[privacy.Unit]string{
		privacy.Label:  "each label is hidden",
		privacy.Record: "each record is hidden",
		privacy.Party:  "everything this site holds is hidden",
	}[p.Unit]
	beside := ""
	if p.Unit == privacy.Label {
		beside = "; the features beside it are not"
	}
	if p.Noise == study.NoiseSite {
		return fmt.Sprintf("%s at %s from everyone, the coordinator included%s", hides, budget, beside)
	}
	return fmt.Sprintf("%s at %s from readers of the release; the coordinator sees this site's contribution as it is", hides, budget)
}

// WriteText writes a review for people.
func (r Review) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("study", "%s (%s)", r.Study, r.Plan.String()[:16])
	line("standing", "%s", r.Standing)
	if r.Closed != "" {
		line("", "%s", r.Closed)
	}
	if r.Purpose != "" {
		line("purpose", "%s", r.Purpose)
	}
	if r.Contact != "" {
		line("contact", "%s", r.Contact)
	}
	line("parties", "%d on the roster, at least %d must contribute", r.Parties, r.Minimum)
	if !r.Deadline.IsZero() {
		line("deadline", "%s", r.Deadline.Format(time.RFC3339))
	}
	line("leaves", "%s", r.Leaves)
	about := "about "
	if r.Exact {
		about = "exactly "
	}
	line("size", "%s%d bytes, once", about, r.Bytes)
	line("protects", "%s", r.Protects)
	line("mechanism", "%s by %s %v, noise: %s", r.Mechanism, r.Sampler, r.Parameters, r.Noise)
	line("columns", "%s", strings.Join(r.Columns, ", "))
	clear := "none"
	if len(r.ClearColumns) > 0 {
		clear = strings.Join(r.ClearColumns, ", ")
	}
	line("in clear", "%s", clear)
	line("data", "%s, %d records", r.Source, r.Records)
	for _, m := range r.Remarks {
		line("", "%s", m)
	}
	for _, u := range r.Budgets {
		when := ""
		if u.Year != "" {
			when = " in " + u.Year
		}
		line("ledger", "unit %s%s: ε = %s now, %s after, %g at most (δ = %g)", u.Unit, when, show(u.Before), show(u.After), u.Limit, u.Delta)
	}
	by := strings.Join(r.ApprovedBy, ", ")
	switch {
	case r.Refused != "":
		line("policy", "%s", r.Refused)
	case !r.Allowed:
		line("policy", "refuses it")
	case r.NeedsPerson && r.Approved:
		line("policy", "allows it; approved by %s", by)
	case len(r.ApprovedBy) > 0:
		line("policy", "allows it once another person approves, beside %s: caucus agent approve %s", by, r.Study)
	case r.Needed > 1:
		line("policy", "allows it once two persons approve: caucus agent approve %s", r.Study)
	case r.NeedsPerson:
		line("policy", "allows it once a person approves: caucus agent approve %s", r.Study)
	default:
		line("policy", "allows it")
	}
	for _, o := range r.Objections {
		line("", "%s", o)
	}
	for _, p := range r.Problems {
		line("problem", "%s", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
