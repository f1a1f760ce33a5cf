package desk

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"caucus/dataset"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/study"
)

func sizeWords(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// WriteText writes the review for a terminal. Text that others wrote cannot leave its own line.
func (r Review) WriteText(w io.Writer) error { return r.page().WriteText(w) }

func (r Review) page() textpage.Page {
	var b textpage.Page
	line := b.Add
	line("study", "%s (%s)", r.Study, r.Plan.String()[:16])
	line("progress", "%s", r.Progress)
	if r.ClosedReason != "" {
		line("", "%s", r.ClosedReason)
	}
	if r.Purpose != "" {
		line("purpose", "%s", r.Purpose)
	}
	if r.Contact != "" {
		line("contact", "%s", r.Contact)
	}
	least := ""
	if r.Floor > 0 && r.Floor < r.Minimum {
		least = fmt.Sprintf("; an amendment may lower that to %d", r.Floor)
	}
	line("parties", "at least %d of %d must contribute%s", r.Minimum, r.Parties, least)
	if r.EndingText != "" && r.Progress != ProgressReleased {
		line("ends", "%s", r.EndingText)
	}
	for _, a := range r.AmendmentTexts {
		line("", "%s", a)
	}
	if r.Forecast != nil {
		for i, words := range r.Forecast.Words() {
			line([]string{"forecast", "", ""}[i], "%s", words)
		}
	}
	line("about", "%s", r.ConditionText)
	if r.MissingText != "" {
		line("filled", "%s", r.MissingText)
	}
	line("leaves", "%s", r.DataSent)
	if r.UploadBytesExact {
		line("size", "%s: this upload exactly, and nothing after it", sizeWords(r.UploadBytes))
	} else if r.Noise.Shared() && r.UploadBytes > 0 {
		line("size", "at most %s, in one upload; the size follows from the plan and the declared number of %ss", sizeWords(r.UploadBytes), study.Counted(r.Unit))
	} else if r.UploadBytes > 0 {
		line("size", "at most %s, in one upload; the size follows from the plan and the noise", sizeWords(r.UploadBytes))
	}
	line("protects", "%s", r.GuaranteeText)
	for i, sees := range r.ServersLearn {
		line([]string{"who sees", ""}[min(i, 1)], "%s", sees)
	}
	if r.Helper != "" {
		line("helper", "%s", r.Helper)
	}
	line("mechanism", "%s by %s (%s, in the integers that leave), noise added by %s", r.Mechanism, r.Sampler, parameterWords(r.Parameters), r.Noise.Trust().By)
	line("label", "%s", r.Label)
	line("columns", "%s", strings.Join(r.Columns, ", "))
	clear := "none"
	if len(r.ClearColumns) > 0 {
		clear = strings.Join(r.ClearColumns, ", ")
	}
	line("in clear", "%s", clear)
	line("learner", "%s", r.Learner)
	line("map", "%s", r.Map)
	if words := dataset.KeptText(r.KeptVariance); words != "" {
		line("", "%s", words)
	}
	line("pool", "%s", r.Pool)
	switch {
	case r.DeclareFirst != "":
		line("data", "%s", r.DeclareFirst)
	case r.RecordsFound == 0:
		line("data", "%s, declared with %s", r.Source,
			textpage.Count(r.Records, study.Counted(r.Unit)))
	default:
		line("data", "%s, declared with %s, now %d", r.Source,
			textpage.Count(r.Records, study.Counted(r.Unit)), r.RecordsFound)
	}
	if r.SourceClaims != "" {
		line("", "the declaring person states: %s", r.SourceClaims)
	}
	if r.MeetingCondition != nil {
		line("", "%d of them meet the study's condition; this number stays here", *r.MeetingCondition)
	}
	for _, m := range r.Remarks {
		line("", "%s", m)
	}
	r.RecordSummary.writeTo(&b)
	if r.EstimatedSeconds > 0 {
		line("time", "sent %.3g s after it is charged: a time fixed beforehand, which hides how long computing took", r.EstimatedSeconds)
	}
	for _, u := range r.Budgets {
		when, at, also := "", fmt.Sprintf("at δ = %g", u.Delta), ""
		if r.Unit == privacy.Party && u.Unit != privacy.Party {
			also = "; a study that hides whole parties is charged for each record too"
		}
		if u.Year != "" {
			when = " in " + u.Year
		}
		if r.Delta > 0 && r.Delta != u.Delta {
			at = fmt.Sprintf("all at your limit's δ = %g, not the plan's %g", u.Delta, r.Delta)
		}
		if r.charged {
			line("ledger", "unit %s%s: spent ε = %s, this study included; limit %g (%s)%s", u.Unit, when, show(u.SpentAfter), u.Limit, at, also)
		} else {
			line("ledger", "unit %s%s: spent ε = %s, after this study %s; limit %g (%s)%s", u.Unit, when, show(u.SpentBefore), show(u.SpentAfter), u.Limit, at, also)
			if u.SpentBefore != nil && u.SpentAfter != nil {
				if adds := *u.SpentAfter - *u.SpentBefore; adds < .99*r.Epsilon {
					line("", "%s", study.LedgerWords(adds, r.Epsilon))
				}
			}
		}
	}
	if r.NeedsPerson && r.DeclarationDigest != "" {
		line("shown", "%s: an approval covers this plan and this declaration of the source only; give it with --shown", r.DeclarationDigest[:min(16, len(r.DeclarationDigest))])
	}
	by := strings.Join(r.ApprovedBy, ", ")
	switch {
	case r.RefusedBy != "":
		line("policy", "%s", r.RefusedBy)
	case !r.Allowed:
		line("policy", "refuses it")
	case r.NeedsPerson && r.Approved:
		line("policy", "allows it; approved by %s", by)
	case len(r.ApprovedBy) > 0:
		line("policy", "allows it when another person besides %s approves: caucus agent approve %s", by, r.Study)
	case r.ApprovalsNeeded > 1:
		line("policy", "allows it once two persons approve: caucus agent approve %s", r.Study)
	case r.NeedsPerson:
		line("policy", "allows it once a person approves: caucus agent approve %s", r.Study)
	default:
		line("policy", "allows it")
	}
	if len(r.LapsedApprovals) > 0 {
		line("", "%s approved it before its source was declared again; that approval no longer counts", strings.Join(r.LapsedApprovals, ", "))
	}
	for _, o := range r.Objections {
		line("", "%s", o)
	}
	for _, o := range r.Outputs {
		o.writeTo(&b)
	}
	for _, p := range r.Problems {
		line("problem", "%s", p)
	}
	return b
}

func parameterWords(all map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+" "+all[name])
	}
	return strings.Join(out, ", ")
}
