package trained

import (
	"encoding/json"
	"fmt"

	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
)

// Report describes the classifier and, if they are known, its coefficients.
func (Results) Report(r study.Release) (out study.Report, err error) {
	c, model, p, err := classifier.CheckedClassifier(r)
	if err != nil {
		return out, err
	}
	of := CoefficientsOf(r)
	out.Lines = []study.ReportLine{{Name: "coefficients", Text: of.Words(c)}}
	if of != nil {
		outcome := p.Schema.Label.Column + ": " + of.Class
		out.Answer, out.Tables = of.Conclusion(outcome, r.Parties), of.Tables()
		if chart := of.Chart(outcome); chart != nil {
			out.Charts = []*study.ReportChart{chart}
		}
	}
	if out.Answer != "" {
		out.Answer += " " + fitted.AccuracyUnknownText
		return out, nil
	}
	moves, goesBy := fitted.SeparatingColumns(c, p, model)
	out.Answer = fitted.Conclusion(c, r, goesBy, fitted.AccuracyUnknownText)
	if moves != nil {
		out.Charts = append(out.Charts, moves)
	}
	return out, nil
}

// CoefficientsOf returns the coefficients of a classify release; nil if it has none.
func CoefficientsOf(r study.Release) *fitted.Coefficients {
	var body struct {
		Coefficients *fitted.Coefficients `json:"coefficients"`
	}
	if json.Unmarshal(r.Result.Body, &body) != nil {
		return nil
	}
	return body.Coefficients
}

// NoCoefficients says why a release of the plan has no coefficients, "" if it may have some.
func NoCoefficients(p study.Plan) string {
	if p.Mechanism != "cross" {
		return fmt.Sprintf("mechanism %s shows no outcomes, so there is no odds ratio; mechanism cross (unit record or label) does", p.Mechanism)
	} else if len(p.Schema.Classes()) > 2 {
		return "the error of an odds ratio is known for two classes alone; kind regress compares one class with all others (regress.is)"
	} else if p.Map.LeadingComponents > 0 {
		return "a number in bins has no single odds ratio: leave out map.bins"
	}
	return ""
}
