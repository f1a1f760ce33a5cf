package classify

import (
	"encoding/json"

	"caucus/study"
	"caucus/study/classifier"
)

// Report describes the classifier and its coefficients, if they are known.
func (Kind) Report(r study.Release) (out study.Report, err error) {
	c, _, _, err := classifier.Sound(r)
	if err != nil {
		return out, err
	}
	out.Answer = classifier.Answer(c, r)
	of := CoefficientsOf(r)
	out.Lines = []study.ReportLine{{Name: "coefficients", Text: of.Words(c)}}
	if of != nil {
		outcome := of.Class
		if p, err := r.DecodedPlan(); err == nil {
			outcome = p.Schema.Label.Column + ": " + of.Class
		}
		out.Answer, out.Tables = of.Answer(outcome, r.Parties, out.Answer), of.Tables()
		if chart := of.Chart(outcome); chart != nil {
			out.Charts = []*study.ReportChart{chart}
		}
	}
	return out, nil
}

// CoefficientsOf returns the coefficients of a classify release; nil if it has none.
func CoefficientsOf(r study.Release) *classifier.Coefficients {
	var body struct {
		Coefficients *classifier.Coefficients `json:"coefficients"`
	}
	if json.Unmarshal(r.Result.Body, &body) != nil {
		return nil
	}
	return body.Coefficients
}
