package agent

import (
	"fmt"
	"slices"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/keyed"
	"caucus/study/kinds"
)

// encoded reads the records that a plan asks for, as they were declared: what
// the file's columns mean is the plan's schema, which means the same as the
// site's where Objections has none. With an error there are no records.
func (d Declaration) encoded(p study.Plan) (*dataset.Records, reading, error) {
	r, err := d.read()
	if err != nil {
		return none(p), r, err
	}
	records, err := r.encode(p, asked(p))
	if err != nil {
		return none(p), r, fmt.Errorf("%s: %w", d.File, errOther)
	}
	return records, r, nil
}

// encode makes records of what was read as a plan asks for them, and notes what was odd.
func (r *reading) encode(p study.Plan, s dataset.Schema) (records *dataset.Records, err error) {
	records, r.encoded, err = p.Encode(s, r.lines.Table)
	r.columns, r.schema = len(s.FeatureColumns()), s
	return records, err
}

// columnsOf are the columns that a schema names, each once.
func columnsOf(s dataset.Schema) []string {
	columns := append(s.FeatureColumns(), s.Label.Column)
	for _, c := range []string{s.Patient, s.Party} {
		if c != "" && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// asked is a plan's schema, with the party column only where the plan asks for
// what is in it.
func asked(p study.Plan) dataset.Schema {
	s := p.Schema
	if !asksSets(p) {
		s.Party = ""
	}
	return s
}

// none are no records, as a plan's schema encodes them.
func none(p study.Plan) *dataset.Records {
	s := asked(p)
	t, err := dataset.NewTable(columnsOf(s), nil)
	if err != nil { // a schema that was checked names a column once
		panic(err)
	}
	records, _, err := p.Encode(s, t)
	if err != nil {
		panic(err)
	}
	return records
}

// asksSets says whether a plan asks for the column that names each record's set;
// one of no kind, by which a source is read on its own, does not.
func asksSets(p study.Plan) bool {
	kind, err := kinds.Named(p.Kind)
	return err == nil && kind.Words(p).SetColumn
}

// records are the records of this site for a study: exactly n, as were declared
// when it was charged, and it never fails. Whatever keeps the file from being read as it
// was declared (it is gone, torn, has other columns) gives empty records, in
// the same number; the study's review says so, and at its moment log and audit log (tell):
// nobody else is told. It is called once what a study costs is charged.
func (s *state) records(p study.Plan, n int) *dataset.Records {
	d, err := s.declared(p)
	if err == nil { // as when the study was decided
		err = objection(d.Objections(p))
	}
	records := none(p)
	if err == nil {
		var read reading
		if records, read, err = d.encoded(p); err == nil {
			s.take(p, d, read)
		}
	}
	if err != nil { // and there are no records
		s.flag(p, err)
	}
	return keyed.Exactly(kinds.RuleOf(p), p.Schema, records, n, s.shardKey)
}

// flag notes in the study's folder, and nowhere else, that it got empty records, and why.
func (s *state) flag(p study.Plan, why error) {
	if canonical, err := p.Canonical(); err == nil {
		_ = s.studies.of(study.HashOf(canonical)).write(fileUnread, []byte(why.Error()+"\n")) // what the disk did not take changes nothing
	}
}
