package study

import (
	"fmt"
	"slices"

	"caucus/dataset"
	"caucus/privacy"
)

// checkWhere refuses a condition that the schema gives no meaning, or that would make
// what neighbours share hang on what they do not: at unit label a condition on the
// label would decide by it whether a record's features are used.
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

// WhereReadsLabel says whether the condition asks for the label.
func (p Plan) WhereReadsLabel() bool {
	if p.Where == "" {
		return false
	}
	c, err := dataset.ParseCondition(p.Where)
	return err != nil || slices.Contains(c.Columns(), p.Schema.Label.Column)
}

// Encode makes records of a table by a schema, the plan's or what an agent takes of it:
// as many as it has rows, those empty that the plan's condition does not hold for. It
// is the one place where a condition is applied, and all that is made of records comes
// after it (dataset.Schema.EncodeWhere has the proof).
func (p Plan) Encode(s dataset.Schema, t *dataset.Table) (*dataset.Records, []dataset.Remark, error) {
	if p.Where == "" {
		return s.EncodeLabelled(t)
	}
	c, err := dataset.ParseCondition(p.Where)
	if err == nil {
		err = s.CheckWhere(c)
	}
	if err != nil { // of a plan that was not checked
		return nil, nil, PlanError("where", "%v", err)
	}
	return s.EncodeWhere(t, c)
}

// whereSteps is what it takes at most to answer the condition for one record. A column of
// few values takes far less, which must not show: see Work.
func (p Plan) whereSteps() float64 {
	if p.Where == "" {
		return 0
	}
	c, err := dataset.ParseCondition(p.Where)
	if err != nil { // of a plan that was not checked
		return 0
	}
	return CellSteps * float64(c.Comparisons())
}

// AboutFewer says of a forecast of so many records what a condition does to it, "" where
// a plan has none: nobody knows beforehand how many it holds for, so the forecast is as if
// it held for all.
func (p Plan) AboutFewer(s Size) string {
	if p.Where == "" {
		return ""
	}
	return fmt.Sprintf("this is as if the condition held for all of the %d records, because how many it holds for is not known beforehand; where it holds for a tenth, noise moves shares, means and an AUC 10 times as far, and sampling √10 times (caucus study create --count asks how many)", s.Records)
}

// About says in words which records a study is about.
func (p Plan) About() string {
	if p.Where == "" {
		return "all records"
	}
	return fmt.Sprintf("records for which %s; every other counts as an empty one, and how many those are does not show but in what is released with noise", p.Where)
}
