package study

import (
	"fmt"
	"slices"

	"caucus/dataset"
	"caucus/privacy"
)

// checkWhere refuses an invalid condition. At unit label it also refuses a condition on the label.
// There, neighbours share all features and differ in one label, so the label must not decide
// whether a record's features are used.
func (p Plan) checkWhere() error {
	if p.Where == "" {
		return nil
	}
	c, err := dataset.ParseCondition(p.Where)
	if err != nil {
		return PlanError("where", "%v", err)
	}
	if err := p.Schema.CheckWhere(c); err != nil {
		return PlanError("where", "%v", err)
	}
	if p.Unit == privacy.Label && p.WhereReadsLabel() {
		return PlanError("where", "%q reads the label, which unit label hides: use the features alone, or unit record", p.Where)
	}
	return nil
}

// WhereReadsLabel reports whether the condition depends on the label. A condition that cannot be
// read counts as one that does.
func (p Plan) WhereReadsLabel() bool {
	if p.Where == "" {
		return false
	}
	c, err := dataset.ParseCondition(p.Where)
	return err != nil || slices.Contains(c.Columns(), p.Schema.Label.Column)
}

// Encode turns a table into one record for each row, under the plan's schema or the part of it that
// an agent needs. Rows that fail the plan's condition become empty records. Only Encode and Decode
// apply the condition, before any computation (proof: dataset.Schema.EncodeWhere).
func (p Plan) Encode(s dataset.Schema, t *dataset.Table) (*dataset.Records, []dataset.Remark,
	error) {
	h, remarks, err := p.EncodeLazily(s, t)
	if err != nil {
		return nil, nil, err
	}
	return h.All(), remarks, nil
}

// EncodeLazily is Encode for records to be encoded later.
func (p Plan) EncodeLazily(s dataset.Schema, t *dataset.Table) (*dataset.EncodedTable,
	[]dataset.Remark, error) {
	c, err := p.condition(s)
	if err != nil {
		return nil, nil, err
	}
	return s.EncodeLabelledLazily(t, c)
}

// Decode is Encode for records in coded form, under a schema that has all columns of s.
func (p Plan) Decode(s dataset.Schema, coding *dataset.RecordCoding,
	b dataset.CodedBlock) (*dataset.Records, error) {
	c, err := p.condition(s)
	if err != nil {
		return nil, err
	}
	return coding.Records(s, c, b), nil
}

func (p Plan) condition(s dataset.Schema) (*dataset.Condition, error) {
	if p.Where == "" {
		return nil, nil
	}
	c, err := dataset.ParseCondition(p.Where)
	if err == nil {
		err = s.CheckWhere(c)
	}
	if err != nil { // only with an unchecked plan
		return nil, PlanError("where", "%v", err)
	}
	return &c, nil
}

// whereSteps bounds the steps of the condition on one record. Most records take fewer steps, but
// the time of an answer must not show how many, so Work counts the most for each.
func (p Plan) whereSteps() float64 {
	if p.Where == "" {
		return 0
	}
	c, err := dataset.ParseCondition(p.Where)
	if err != nil { // only with an unchecked plan
		return 0
	}
	return CellSteps * float64(c.Comparisons())
}

// ConditionForecastText says how a condition affects a forecast, "" if there is no condition. The
// number of records that meet the condition is not known beforehand, so the forecast assumes all.
func (p Plan) ConditionForecastText(s Size) string {
	if p.Where == "" {
		return ""
	}
	return fmt.Sprintf("this is as if the condition held for all of the %d records, because how many it holds for is not known beforehand; where it holds for a tenth, noise moves shares, means and an AUC 10 times as far, and sampling √10 times (caucus study create --count asks how many)", s.Records)
}

// ConditionText tells a person which records the study is about, and what happens to the others.
func (p Plan) ConditionText() string {
	all, some := "all records", "records"
	if p.Unit == privacy.Patient {
		all = p.ChosenText()
		some = all + ","
	}
	if p.Where == "" {
		return all
	}
	return fmt.Sprintf("%s for which %s; every other counts as an empty one, and how many those are does not show but in what is released with noise", some, p.Where)
}

// ChosenText says which record of each patient counts at unit patient.
func (p Plan) ChosenText() string {
	if p.Choose == ByKey {
		return "one record of each patient, chosen by the site's key"
	}
	return fmt.Sprintf("the %s record of each patient, by %s", p.Choose, p.Schema.PatientDate)
}
