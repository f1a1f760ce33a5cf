package source

import (
	"fmt"
	"iter"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/keyed"
	"caucus/study/kinds"
)

// StudyRecords are a source's records in the form that a plan asks for. They are for the site only.
type StudyRecords struct {
	SourceReading
	digest string // digest of the file, if the file is written again regularly
	plan   study.Plan
	table  table
	// most, if not nil, leaves out records of a patient beyond the plan's number. It serves one
	// reading.
	most *patientCap
}

// Open opens the records for a plan, as declared: an import, or the file of a source that is
// written again regularly. They are decoded by the plan's schema, which means the same as the
// site's if there are no Objections. Close, All or Blocks ends their use.
func (s Sources) Open(d Declaration, p study.Plan) (*StudyRecords, error) {
	h := &StudyRecords{plan: p, most: capOf(p, d)}
	if d.Redeclare == RedeclareDaily {
		t, r, err := d.readDaily(s.Key)
		h.SourceReading, h.digest, h.table = r.SourceReading, r.digest, t
		return h, err
	}
	var err error
	file := s.importFile(d)
	if p.Unit == privacy.Patient && !d.Mapping.LacksPatientNumbers() {
		file = s.patientsFile(d, p.Choose)
	}
	if h.table, err = openTable(file, d.Schema.Coding()); err == nil {
		if err = h.table.check(); err != nil {
			h.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", d.Source, err)
	}
	h.SourceReading = s.seen(d, h.table.head.Rows)
	return h, nil
}

// Close ends the use without reading more. It reports no error: closing a file that was only read
// loses nothing.
// closing a file that was only read loses nothing
func (sr *StudyRecords) Close() { _ = sr.table.close() }

// All decodes every record into memory at once, N×Dim numbers of 8 bytes, and closes h. Without any
// record it returns empty records of the plan.
func (sr *StudyRecords) All() (*dataset.Records, error) {
	defer sr.Close()
	t, s := sr.table, kinds.RecordSchema(sr.plan)
	if t.head.Rows == 0 {
		return none(sr.plan), nil
	}
	all := &dataset.Records{X: mat.NewDense(t.head.Rows, s.Dim(), nil),
		Y: make([]int, 0, t.head.Rows)}
	for i := range t.head.blocks() {
		b, err := t.block(i)
		if err != nil {
			return nil, err
		}
		r, err := sr.decode(s, b, b.Rows)
		if err != nil {
			return nil, err
		}
		for row := range r.Len() {
			copy(all.X.RawRowView(len(all.Y)+row), r.X.RawRowView(row))
		}
		all.Y = append(all.Y, r.Y...)
		all.Party, all.Patient, all.FailsCondition = append(all.Party, r.Party...),
			append(all.Patient,
				r.Patient...), append(all.FailsCondition, r.FailsCondition...)
	}
	if len(all.Y) == 0 {
		return none(sr.plan), nil
	}
	all.X = all.X.Slice(0, len(all.Y), 0, s.Dim()).(*mat.Dense)
	return all, nil
}

// decode returns the records of the table's next block that count, at most most.
func (sr *StudyRecords) decode(s dataset.Schema, b dataset.CodedBlock,
	most int) (*dataset.Records, error) {
	t := sr.table
	if sr.most == nil {
		return sr.plan.Decode(s, t.coding, t.coding.Slice(b, 0, min(most, b.Rows)))
	}
	rows := sr.most.rows(b)
	r, err := sr.plan.Decode(s, t.coding, b)
	if err != nil {
		return nil, err
	}
	return r.Select(rows[:min(most, len(rows))]), nil
}

// Blocks yields exactly n records, in blocks: the table's first n, and empty ones if it has fewer.
//
// Proof note. Claim: for statistics that are sums over records, at units party, record and label,
// neighbours remain neighbours when only the first n records are taken.
//   - Order: a total preorder on the contents of records (table.go): first by a digest of all but
//     the label, then by the bytes. Ties are equal records.
//   - Lemma: take two multisets of N records that differ in k of them. Their first n records in
//     that order differ in at most k. Reason, for one replaced record: the record that leaves makes
//     room for at most one other, and the record that enters drives out at most one. If both are
//     inside or both outside, no other record moves. This serves unit record, and unit party with
//     the corresponding number of replacements.
//   - Unit label: records that are equal in all but the label form a group. How many of each group
//     are among the first n depends only on the groups' sizes, which neighbours share. At most one
//     group is split. By the lemma, one record inside that group is exchanged for another with the
//     same features.
//   - The order is the same for every study that reads blocks.
//   - keyed.ExactlyN takes the records instead if a bound keeps a patient's records together in
//     shards, or if neighbours must share the sets of a column. It also serves a file that is read
//     again each time, in the file's own order.
//
// The table was checked when it was opened, and stays open. If the disk fails later, Blocks panics
// and the contribution is not ready; window says what is sent then.
func (sr *StudyRecords) Blocks(n int) iter.Seq[*dataset.Records] {
	return func(yield func(*dataset.Records) bool) {
		defer sr.Close()
		t, left := sr.table, n
		for i := 0; i < t.head.blocks() && left > 0; i++ {
			b, err := t.block(i)
			if err != nil {
				panic(err)
			}
			r, err := sr.decode(kinds.RecordSchema(sr.plan), b, left)
			if err != nil {
				panic(err)
			}
			if left -= r.Len(); r.Len() > 0 && !yield(r) {
				return
			}
		}
		emptyBlocks(sr.plan, left)(yield)
	}
}

func emptyBlocks(p study.Plan, n int) iter.Seq[*dataset.Records] {
	return func(yield func(*dataset.Records) bool) {
		for none := none(p); n > 0; n -= blockRows {
			if !yield(ordered(p, none, min(n, blockRows), nil)) {
				return
			}
		}
	}
}

// Empty returns n empty records in the encoding of a plan's schema, in blocks if the study reads
// blocks.
func Empty(p study.Plan, n int, key []byte, blocks bool) study.Inputs {
	in := study.NewInputs(nil, key)
	if blocks {
		in.Blocks = emptyBlocks(p, n)
	} else {
		in.Records = ordered(p, none(p), n, key)
	}
	return in
}

func ordered(p study.Plan, records *dataset.Records, n int, key []byte) *dataset.Records {
	return keyed.ExactlyN(kinds.SelectionRuleOf(p), kinds.RecordSchema(p), records, n, key)
}

func none(p study.Plan) *dataset.Records {
	s := kinds.RecordSchema(p)
	t, err := dataset.NewTable(s.AllColumns(), nil)
	if err != nil { // impossible: a checked schema names a column once
		panic(err)
	}
	records, _, err := p.Encode(s, t)
	if err != nil {
		panic(err)
	}
	return records
}
