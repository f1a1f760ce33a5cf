package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"caucus/agent/site"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/stated"
)

// Progress says how far a study is at this site, in words for a person. It is read from the
// study folder, policy and ledger, and from no record.
type Progress string

// Stages in the order in which a study passes them; a refusal, a release and a closing end it.
const (
	ProgressUndeclared   Progress = "waiting for its source to be declared"
	ProgressWaiting      Progress = "waiting for approval"
	ProgressRefused      Progress = "refused by the policy"
	ProgressDeclined     Progress = "refused by a person"
	ProgressAwaitsHelper Progress = "waiting for its helper's word"
	ProgressReady        Progress = "ready to contribute"
	ProgressPreparing    Progress = "charged, being prepared"
	ProgressPrepared     Progress = "prepared, not yet received"
	ProgressReceived     Progress = "received by the coordinator"
	ProgressReleased     Progress = "released"
	ProgressClosed       Progress = "closed"
	// ProgressUnreadable is the stage of a plan that this version cannot read.
	ProgressUnreadable Progress = "not readable here"
)

// Review describes a study to this site before an approval: what exactly would leave, at what cost,
// and whether the policy allows it. It contains the number of records, so it is for the site only.
type Review struct {
	Study    string     `json:"study"`
	Plan     study.Hash `json:"plan"`
	Progress Progress   `json:"progress"`
	// why the study was closed here, or cannot be read
	ClosedReason string   `json:"closed,omitempty"`
	Purpose      string   `json:"purpose,omitempty"`
	Contact      string   `json:"contact,omitempty"`
	Readers      []string `json:"readers,omitempty"`
	// Deadline and Minimum are the values in force. EndingText describes the whole ending.
	// AmendmentTexts lists the changes, one on each line. Floor is the least minimum that
	// amendments may set, 0 if they may set none.
	Deadline       time.Time `json:"deadline,omitzero"`
	EndingText     string    `json:"ends"`
	AmendmentTexts []string  `json:"amended,omitempty"`
	Parties        int       `json:"parties"`
	Minimum        int       `json:"minimum"`
	Floor          int       `json:"floor,omitempty"`

	Kind       string            `json:"kind"`
	Unit       privacy.Unit      `json:"unit"`
	Epsilon    float64           `json:"epsilon"`
	Delta      float64           `json:"delta"`
	Mechanism  string            `json:"mechanism"`
	Noise      study.Noise       `json:"noise"`
	Sampler    string            `json:"sampler"`
	Parameters map[string]string `json:"parameters"`
	// DataSent describes the data that leave. GuaranteeText describes the guarantee.
	DataSent string `json:"leaves"`
	// Where is the plan's condition on records, "" for all records. ConditionText describes the
	// condition. MeetingCondition is the number of the source's records that meet the condition.
	Where         string `json:"where,omitempty"`
	ConditionText string `json:"about"`
	// MissingText says what stands for missing cells, "" if the study counts them.
	MissingText      string `json:"filled,omitempty"`
	MeetingCondition *int   `json:"inside,omitempty"`
	GuaranteeText    string `json:"protects"`
	// Helper names the second server of this site's policy, "" if the plan has no helper. It also
	// says whether the helper's acceptance of this plan is here (HelperAgreed), or why not.
	// ServersLearn says what each server alone, and both together, learn.
	Helper       string   `json:"helper,omitempty"`
	HelperAgreed bool     `json:"helper_agreed,omitempty"`
	ServersLearn []string `json:"who_sees,omitempty"`
	// UploadBytes is the size of the upload: an upper bound before the upload is prepared, and
	// exact afterwards (UploadBytesExact).
	UploadBytes      int      `json:"bytes"`
	UploadBytesExact bool     `json:"bytes_exact"`
	Columns          []string `json:"columns"`
	ClearColumns     []string `json:"clear_columns"`

	// Label, Learner, Map and Pool describe the label, the classifier, the features and the public
	// rows.
	Label   string `json:"label"`
	Learner string `json:"learner"`
	Map     string `json:"map"`
	// KeptVariance is the share of each column that the map keeps, least first. It is absent if
	// the map keeps all, and before the pool is here.
	KeptVariance []dataset.KeptShare `json:"kept,omitempty"`
	Pool         string              `json:"pool"`

	Source string `json:"source"`
	// SourceClaims is the declaring person's statement about the source's records.
	SourceClaims string `json:"claims,omitempty"`
	// DeclarationDigest is the digest of the declaration that an approval covers
	// (Declaration.ApprovedDigest).
	DeclarationDigest string `json:"shown,omitempty"`
	// DeclareFirst says what a person has to do before the study can take place.
	DeclareFirst string `json:"undeclared,omitempty"`
	// Records is the number of records for the study, as declared when the study was charged or,
	// before that, now. RecordsFound is the number in the file now.
	Records      int      `json:"records"`
	RecordsFound int      `json:"records_found"`
	Remarks      []string `json:"remarks,omitempty"`
	// Forecast is the operator's forecast of the study. Nothing here depends on it.
	Forecast *stated.Statement `json:"forecast,omitempty"`
	RecordSummary
	// Outputs are this site's own numbers before noise. They are there if a person asked for them.
	Outputs []Output `json:"values,omitempty"`

	// EstimatedSeconds is the approximate time from charge to upload, from public numbers and this
	// machine's speed.
	EstimatedSeconds float64 `json:"seconds"`
	// Budgets are the units of the ledger that the study is charged to.
	Budgets []UnitBudget `json:"ledger"`
	// Allowed reports whether policy and ledger allow the study. Objections say why not.
	Allowed    bool     `json:"allowed"`
	Objections []string `json:"objections"`
	// NeedsPerson reports whether the policy requires approvals, by ApprovalsNeeded people.
	// Approved reports whether enough people approved; ApprovedBy names them.
	NeedsPerson     bool     `json:"needs_approval"`
	ApprovalsNeeded int      `json:"approvals_needed"`
	Approved        bool     `json:"approved"`
	ApprovedBy      []string `json:"approved_by"`
	// ApprovedBefore says that the person who approves now had approved this study earlier.
	ApprovedBefore bool `json:"approved_before,omitempty"`
	// LapsedApprovals names people who approved before the source was declared again.
	LapsedApprovals []string `json:"approvals_lapsed,omitempty"`
	// RefusedBy names the person who refused, and the day; "" if nobody did.
	RefusedBy string `json:"refused,omitempty"`
	// Problems lists what the site must repair: a missing pool, or a file that differs from its
	// declaration. With a problem the site contributes empty records to the study.
	Problems []string `json:"problems,omitempty"`

	charged bool // the ledger holds the study's charge
}

// UnitBudget is the spending at one unit, before and after the study, and its limit: for all time,
// or for a year.
type UnitBudget struct {
	Year  string       `json:"year,omitempty"`
	Unit  privacy.Unit `json:"unit"`
	Delta float64      `json:"delta"`
	Limit float64      `json:"limit_epsilon"`
	// SpentBefore and SpentAfter are null if there is no guarantee.
	SpentBefore *float64 `json:"spent_epsilon"`
	SpentAfter  *float64 `json:"after_epsilon"`
}

// describe fills in the facts from plan, policy and study folder.
func (k *Desk) describe(d site.StudyFolder, h study.Hash, p study.Plan) Review {
	r := Review{
		Study: p.Name, Plan: h, Purpose: p.Purpose, Contact: p.Contact, Readers: p.Readers, Deadline: p.Deadline,
		Parties: len(p.Roster), Minimum: p.Minimum,
		Kind: p.Kind, Unit: p.Unit, Epsilon: p.Epsilon, Delta: p.Delta, Mechanism: p.Mechanism, Noise: p.Noise,
		DataSent: kinds.Explain(p).DataSent, Where: p.Where, ConditionText: p.ConditionText(), MissingText: kinds.MissingText(p), GuaranteeText: protects(p),
		Columns: p.Schema.FeatureColumns(), ClearColumns: kinds.Explain(p).InClear,
		ServersLearn: whoSees(p), ApprovalsNeeded: k.site.Config.Policy.RequiredApprovals(),
		Label: p.Schema.Label.Column + ": " + strings.Join(p.Schema.Label.Classes, ", "), Learner: kinds.Explain(p).Trained, Map: p.Map.Describe(),
		Objections: k.site.Config.Policy.Objections(p),
	}
	if site.SiteChooses(p) {
		var err error
		if r.Learner, err = k.site.Config.SiteChoice(p); err != nil {
			r.Objections = append(r.Objections, err.Error())
		}
	}
	if chain, err := d.Chain(p, h); err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("its amendments cannot be read: %v", err))
	} else {
		e := chain.Ending()
		r.Deadline, r.Minimum, r.Floor, r.EndingText, r.AmendmentTexts = e.Deadline, e.Minimum,
			p.Floor,
			e.Words(len(p.Roster)), chain.Changes(0)
		if no := k.site.Config.Policy.EndingObjection(p, e); no != "" {
			r.Objections = append(r.Objections, no)
		}
	}
	if source, err := k.site.Sources.Of(p); err != nil {
		r.DeclareFirst = err.Error()
	} else {
		r.DeclarationDigest = source.ApprovedDigest()
		r.Source, r.SourceClaims, r.Records = source.Origin(), source.ClaimText(),
			cmp.Or(d.DeclaredRecords(),
				source.Counted(p))
		r.Objections = append(r.Objections, source.Objections(p)...)
	}
	r.Forecast = forecastIn(d, h)
	if b, err := d.Read(site.FileMissedWindow); err == nil {
		r.Problems = append(r.Problems, "not ready in time, a constant was sent in its place: "+strings.TrimSpace(string(b)))
	}
	if b, err := d.Read(site.FileReadFailure); err == nil {
		r.Problems = append(r.Problems, "it got empty records: "+strings.TrimSpace(string(b)))
	}
	if b, err := d.Read(site.FileVoteFailure); err == nil {
		gave := "this site's own classifier gave no votes, a constant was sent in their place: "
		if kinds.Explain(p).SiteScores {
			gave = "this site's own program gave no scores, all its records count as without one: "
		}
		r.Problems = append(r.Problems, gave+strings.TrimSpace(string(b)))
	}
	if b, err := d.Read(site.FileSourceRemarks); err == nil {
		r.Problems = append(r.Problems, "when its file was read: "+strings.TrimSpace(string(b)))
	}
	by, lapsed := k.site.Approvers(d, h, p)
	r.ApprovedBy, r.LapsedApprovals = append([]string{}, by...), lapsed
	r.NeedsPerson, r.Approved = r.ApprovalsNeeded > 0, len(r.ApprovedBy) >= r.ApprovalsNeeded
	if no := k.site.Refused(d); no != nil {
		r.RefusedBy = fmt.Sprintf("refused by %s on %s", no.Name, no.At.Format(time.DateOnly))
		// an answer that was written to a file can no longer be refused
		if d.Has(site.FileUpload) && d.Has(site.FileAnswer) && !d.Has(site.FileReceipt) {
			r.RefusedBy += "; an answer was written to a file before that, and counts if whoever has it hands it in: get it back and destroy it"
		}
	}
	if b, err := d.Read(site.FileClosed); err == nil {
		r.ClosedReason = strings.TrimSpace(string(b))
	}
	// JSON gets empty lists in place of null.
	r.Objections, r.ClearColumns = append([]string{}, r.Objections...), append([]string{},
		r.ClearColumns...)
	r.Allowed = len(r.Objections) == 0
	r.Progress = k.progress(d, r)
	return r
}

// forecastIn reads the operator's forecast of a study. Nil if there is none that this version can
// read.
func forecastIn(d site.StudyFolder, h study.Hash) *stated.Statement {
	var signed protocol.Signed
	b, err := d.Read(site.FileForecast)
	if err != nil || json.Unmarshal(b, &signed) != nil {
		return nil
	}
	operator, err := stated.Parse(signed.Document, h)
	if err != nil {
		return nil
	}
	return &operator
}

// ReviewWithoutRecords reviews a study without reading records. It checks an undecided study
// against the ledger too.
func (k *Desk) ReviewWithoutRecords(ctx context.Context, h study.Hash) (Review, error) {
	d := k.site.Studies.Folder(h)
	p, err := d.Plan()
	if err != nil {
		return Review{}, err
	}
	r := k.describe(d, h, p)
	if r.Progress == ProgressUndeclared || r.Progress == ProgressWaiting ||
		r.Progress == ProgressAwaitsHelper || r.Progress == ProgressReady {
		_, err = k.reviewCosts(ctx, &r, d, p)
	}
	return r, err
}

// unreadable reviews a study whose plan this version cannot read, for example one of an earlier
// version. It gives the reason, and the name if the bytes contain one.
func (k *Desk) unreadable(h study.Hash, why error) Review {
	d := k.site.Studies.Folder(h)
	r := Review{Plan: h, Progress: ProgressUnreadable}
	var named struct{ Name string }
	if b, err := d.Read(site.FilePlan); err == nil && json.Unmarshal(b, &named) == nil {
		r.Study = named.Name
	}
	r.ClosedReason = fmt.Sprintf("%v: the version of caucus that took part reads it; its folder is %s", why, d.Dir)
	return r
}

// reviewCosts adds the study's costs and whether the ledger can bear them. task is nil if the pool
// is missing.
func (k *Desk) reviewCosts(ctx context.Context, r *Review, d site.StudyFolder,
	p study.Plan) (study.Task, error) {
	t, err := k.site.Task(p)
	if errors.Is(err, fs.ErrNotExist) {
		r.Problems = append(r.Problems, "the public pool is not here yet: it is fetched while the agent runs")
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	r.Pool = poolWords(t)
	r.Helper, r.HelperAgreed = k.site.HelperText(d, t)
	r.KeptVariance = t.Plan().Map.KeptShares(t.Plan().Schema, t.Pool().Encoded)
	c, err := k.site.CostOf(t)
	if err != nil && r.DeclareFirst == "" {
		r.Objections = append(r.Objections, err.Error())
	}
	if c.Charges, err = t.Charges(0); err != nil {
		r.Allowed = false
		r.Progress = k.progress(d, *r)
		return t, nil // CostOf has given the reason
	}
	r.EstimatedSeconds = c.Window.Total().Seconds()
	r.UploadBytes = t.MaxBody()
	r.SiteNoise = noiseOf(t, c.Reserved)
	var costs []privacy.Cost
	for _, c := range c.Charges {
		r.Sampler, r.Parameters = c.Mechanism, c.Parameters
		costs = append(costs, c.Cost)
		_, found, err := k.site.Ledger.FindLine(ctx, study.ReleaseID(r.Plan, c.Output))
		if err != nil {
			return nil, err
		}
		r.charged = r.charged || found
	}
	if err := k.reviewLedger(ctx, r, costs, r.charged); err != nil {
		return nil, err
	}
	r.Allowed = len(r.Objections) == 0
	r.Progress = k.progress(d, *r)
	return t, nil
}

// reviewLedger adds the ledger's budgets. For a study that is not charged yet, it adds the ledger's
// objections.
func (k *Desk) reviewLedger(ctx context.Context, r *Review, costs []privacy.Cost,
	charged bool) error {
	all, err := k.site.Spending(ctx)
	if err != nil {
		return err
	}
	if charged {
		costs = nil
	}
	for _, limit := range all {
		if !charged {
			r.Objections = append(r.Objections, limit.Objections(costs)...)
		}
		after := limit.TotalsAfter(costs)
		for _, u := range privacy.Units() {
			if most, ok := limit.Most[u]; ok {
				r.Budgets = append(r.Budgets, UnitBudget{
					Year: limit.Year, Unit: u, Delta: most.Delta, Limit: most.Epsilon,
					SpentBefore: finite(limit.Spent[u].Epsilon(most.Delta)), SpentAfter: finite(after[u].Epsilon(most.Delta)),
				})
			}
		}
	}
	return nil
}

func (k *Desk) progress(d site.StudyFolder, r Review) Progress {
	switch {
	case d.Has(site.FileRelease):
		return ProgressReleased
	case d.Has(site.FileClosed):
		return ProgressClosed
	case d.Has(site.FileReceipt):
		return ProgressReceived
	case r.RefusedBy != "":
		return ProgressDeclined
	case d.Has(site.FileUpload):
		return ProgressPrepared
	case r.charged && !d.Has(site.FileDeclined) && (r.Approved || !r.NeedsPerson):
		return ProgressPreparing
	case !r.Allowed:
		return ProgressRefused
	case r.DeclareFirst != "":
		return ProgressUndeclared
	case r.NeedsPerson && !r.Approved:
		return ProgressWaiting
	case r.Noise.Shared() && !r.HelperAgreed:
		return ProgressAwaitsHelper
	}
	return ProgressReady
}

func protects(p study.Plan) string {
	budget := fmt.Sprintf("ε = %g", p.Epsilon)
	if p.Delta > 0 {
		budget += fmt.Sprintf(", δ = %g", p.Delta)
	}
	hides := map[privacy.Unit]string{
		privacy.Label:   "each label is hidden",
		privacy.Record:  "each record is hidden",
		privacy.Patient: "each patient is hidden, with all records",
		privacy.Party:   "everything this site holds is hidden",
	}[p.Unit]
	beside := ""
	if p.Unit == privacy.Label && !p.Noise.SumsInClear() {
		beside = "; the features beside it are not"
	}
	if words := privacy.EpsilonWords(p.Unit, p.Epsilon); words != "" {
		beside += "; " + words
	}
	return fmt.Sprintf("%s at %s %s%s", hides, budget, p.Noise.Trust().HiddenFrom, beside)
}

func whoSees(p study.Plan) []string {
	sees := p.Noise.Trust().ServersLearn
	if sees == "" {
		return nil
	}
	budget := fmt.Sprintf("ε = %g", p.Epsilon)
	if p.Delta > 0 {
		budget += fmt.Sprintf(", δ = %g", p.Delta)
	}
	return strings.Split(fmt.Sprintf(sees, kinds.Explain(p).ExactDataReceived, budget), "\n")
}

func poolWords(t study.Task) string {
	p, pool := t.Plan(), t.Pool()
	weights := "all of one weight"
	switch {
	case p.Weights != nil:
		weights = fmt.Sprintf("made or weighted by the release of study %s",
			p.Weights.Plan.String()[:16])
	case pool.Weight != nil:
		weights = "each with a weight of its own"
	}
	return fmt.Sprintf("%d public rows of %d columns, %s", pool.Rows(),
		len(p.Schema.FeatureColumns()), weights)
}
