package dataset

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// EncodedTable are records that are encoded only when they are selected, so that memory holds few
// encoded rows at a time. Parts of the records share memory.
type EncodedTable struct {
	// Y is as in Records.
	Y    []int
	rows []int // places in from, nil for all
	from source
}

type source interface {
	Select(rows []int) *Records
	hasParty() bool
	parties() []string
	marked() source
}

// AsTable returns records that are encoded already.
func (r *Records) AsTable() *EncodedTable {
	if r == nil {
		return nil
	}
	return &EncodedTable{Y: r.Y, from: r}
}

func (r *Records) hasParty() bool    { return r.Party != nil }
func (r *Records) parties() []string { return r.Party }
func (r *Records) marked() source    { return r }

// Len counts the selected records, without encoding any.
func (e *EncodedTable) Len() int { return len(e.Y) }

// MarkMissing returns the records as under a schema with MarkMissing. Records that are encoded
// already stay as they are.
func (e *EncodedTable) MarkMissing() *EncodedTable {
	return &EncodedTable{e.Y, e.rows, e.from.marked()}
}

// Select encodes the records at the given rows, in order. It panics on an absent row.
func (e *EncodedTable) Select(rows []int) *Records { return e.from.Select(e.places(rows)) }

// All encodes all records.
func (e *EncodedTable) All() *Records { return e.Select(RowRange(0, e.Len())) }

// partRows is the least number of rows of a part, unless the file has fewer. Products of much
// smaller matrices are computed in another way, which would let a row's results depend on its part.
const partRows = 4096

// Blocks encodes all records, one block after the other. Each has at least partRows records, unless
// there are fewer, and comes with the index of its first record.
func (e *EncodedTable) Blocks() iter.Seq2[int, *Records] {
	return func(yield func(int, *Records) bool) {
		for first, end := 0, 0; first < e.Len(); first = end {
			if end = first + partRows; e.Len()-end < partRows {
				end = e.Len()
			}
			if !yield(first, e.Select(RowRange(first, end))) {
				return
			}
		}
	}
}

// Subset returns the records at the given rows, in order, without encoding them.
func (e *EncodedTable) Subset(rows []int) *EncodedTable {
	return &EncodedTable{pickRows(e.Y, rows), e.places(rows), e.from}
}

// HasParty reports whether the schema names a party column, so that each record names its party.
func (e *EncodedTable) HasParty() bool { return e.from.hasParty() }

// Party is as in Records. Each call makes a list.
func (e *EncodedTable) Party() []string {
	all := e.from.parties()
	if all == nil || e.rows == nil {
		return all
	}
	return pickRows(all, e.rows)
}

func (e *EncodedTable) places(rows []int) []int {
	if e.rows == nil {
		return rows
	}
	return pickRows(e.rows, rows)
}

// RowRange returns the rows first to end−1.
func RowRange(first, end int) []int {
	rows := make([]int, end-first)
	for i := range rows {
		rows[i] = first + i
	}
	return rows
}

// heldTable holds the records of a table as codes of its columns.
type heldTable struct {
	schema         Schema
	dim            int
	features       []heldColumn
	y              []int
	inside         []bool // nil without a condition
	party, patient *column
}

type heldColumn struct {
	feature *Feature
	first   int // column of X
	fill    int // column of the feature that a missing cell fills
	// codes give each row's place in cells; without codes a row's place is its index. A cell is a
	// text's level or a number's encoding, NaN for a missing text and for no number.
	codes *codes
	cells []float64
}

// EncodeLazily is [Schema.Encode] for records to be encoded later.
func (s Schema) EncodeLazily(t *Table) (*EncodedTable, []Remark, error) {
	c, remarks, err := s.hold(t)
	if err != nil {
		return nil, nil, err
	}
	return &EncodedTable{Y: c.y, from: c}, remarks, nil
}

func (s Schema) hold(t *Table) (*heldTable, []Remark, error) {
	if err := s.checkColumns(t, s.FeatureColumns()); err != nil {
		return nil, nil, fmt.Errorf("encode table: %w", err)
	}
	c := &heldTable{schema: s, y: make([]int, t.rows), party: t.column(s.Party),
		patient: t.column(s.Patient)}
	var remarks []Remark
	if label := t.column(s.Label.Column); label != nil {
		remarks = appendRemark(remarks, s.Label.Column, ProblemUnknownLabel,
			s.encodeLabel(label, c.y))
	} else {
		for i := range c.y {
			c.y[i] = -1
		}
	}
	for i := range s.Features {
		f := &s.Features[i]
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		for _, name := range names {
			column, odd := s.holdColumn(f, c.dim, t.column(name), t.rows)
			c.features = append(c.features, column)
			for o, problem := range problemOf {
				remarks = appendRemark(remarks, name, problem, odd[o])
			}
			c.dim += f.width()
		}
	}
	return c, remarks, nil
}

// EncodeLabelledLazily is [Schema.EncodeLabelled], with a condition [Schema.EncodeWhere], for
// records to be encoded later.
func (s Schema) EncodeLabelledLazily(t *Table, where *Condition) (*EncodedTable, []Remark, error) {
	needed := []string{s.Label.Column}
	if s.Patient != "" {
		needed = append(needed, s.Patient)
	}
	if err := s.checkColumns(t, append(s.FeatureColumns(), needed...)); err != nil {
		return nil, nil, fmt.Errorf("encode table: %w", err)
	}
	c, remarks, err := s.hold(t)
	if err == nil && where != nil {
		c.inside, err = where.Rows(s.meant(t, where.Columns()))
	}
	if err != nil {
		return nil, nil, err
	}
	for i, in := range c.inside {
		if !in {
			c.y[i] = -1
		}
	}
	return &EncodedTable{Y: c.y, from: c}, remarks, nil
}

func (s *Schema) holdColumn(f *Feature, first int, of *column,
	rows int) (heldColumn, [oddities]int) {
	encoder := newCellEncoder(s, f, 0)
	h := heldColumn{feature: f, first: first, fill: encoder.other, codes: &of.codes}
	n, text := len(of.values), func(i int) string { return of.values[i] }
	if f.Kind == Numeric && n > rows/2 || n > rows { // codes would not save memory
		h.codes, n, text = nil, rows, func(i int) string { return of.values[of.codes.at(i)] }
	}
	h.cells = make([]float64, n)
	odd, counts := make([]oddity, n), [oddities]int{}
	for i := range h.cells {
		e := encoder.encode(text(i))
		odd[i] = e.odd
		switch {
		case e.odd == missing || e.odd == notANumber:
			h.cells[i] = math.NaN()
		case f.Kind == Categorical:
			h.cells[i] = float64(e.at)
		default:
			h.cells[i] = e.value
		}
	}
	for i := range rows {
		counts[odd[h.place(i)]]++
	}
	return h, counts
}

func (h *heldColumn) place(row int) int {
	if h.codes == nil {
		return row
	}
	return int(h.codes.at(row))
}

// Select encodes the records at the given rows, in order.
func (ht *heldTable) Select(rows []int) *Records {
	r := &Records{X: &mat.Dense{}, Y: pickRows(ht.y, rows), Party: ht.party.texts(rows),
		Patient: ht.patient.texts(rows)}
	for i, number := range r.Patient {
		if number == ht.schema.Missing {
			r.Patient[i] = ""
		}
	}
	if len(rows) > 0 {
		r.X = mat.NewDense(len(rows), ht.dim, nil)
	}
	// Blocks of rows keep their part of X in cache while all columns are encoded.
	const block = 128
	for top := 0; top < len(rows); top += block {
		for j := range ht.features {
			h := &ht.features[j]
			for i := top; i < min(top+block, len(rows)); i++ {
				to, cell := r.X.RawRowView(i)[h.first:], h.cells[h.place(rows[i])]
				switch {
				case math.IsNaN(cell):
					h.feature.fill(to, h.fill, ht.schema.MarkMissing)
				case h.feature.Kind == Categorical:
					to[int(cell)] = 1
				default:
					to[0] = cell
				}
			}
		}
	}
	if ht.inside != nil {
		ht.schema.keepWhere(r, pickRows(ht.inside, rows))
	}
	return r
}

func (ht *heldTable) marked() source {
	out := *ht
	out.schema.MarkMissing = true
	return &out
}

func (ht *heldTable) hasParty() bool    { return ht.party != nil }
func (ht *heldTable) parties() []string { return ht.party.texts(RowRange(0, len(ht.y))) }

// texts returns the column's cells at rows, nil without a column.
func (c *column) texts(rows []int) []string {
	if c == nil {
		return nil
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = c.values[c.codes.at(row)]
	}
	return out
}

// Encode turns a table into records with X in [0,1]^Dim.
//
// A number is clamped to its bounds, transformed by log1p if the schema says so, and scaled to
// [0,1]. A cell without a finite number becomes 0.5. A text sets the column of its level, or of
// "other". "3.0" and "3" are the same level and class. No cell is an error: the remarks count the
// changes, for the data's owner only.
//
// A missing feature column is an error that lists the table's columns. Label, party and patient
// columns may be absent: then Y is -1, Party and Patient nil. For training see
// [Schema.EncodeLabelled].
func (s Schema) Encode(t *Table) (*Records, []Remark, error) {
	h, remarks, err := s.EncodeLazily(t)
	if err != nil {
		return nil, nil, err
	}
	return h.All(), remarks, nil
}

// EncodeLabelled is [Schema.Encode] for training records. A missing label column is an error, and
// so is a missing patient column, because a patient's records could not be kept together.
func (s Schema) EncodeLabelled(t *Table) (*Records, []Remark, error) {
	h, remarks, err := s.EncodeLabelledLazily(t, nil)
	if err != nil {
		return nil, nil, err
	}
	return h.All(), remarks, nil
}

// EncodeWhere is [Schema.EncodeLabelled] for a study of the records that meet a condition; the
// condition has passed CheckWhere. Every other record is replaced by the empty record (Empty) with
// the same patient and party, and marked in Outside. So there are as many records as rows. The
// remarks count all rows.
//
// A cell is compared by its meaning in the schema: a text as its level or "other", a label as its
// class under any of its names, a number as itself, not clamped. For a missing cell, or a cell
// without a number in a numeric column, only != holds. So of "x < 3" and "not x < 3" only the
// second holds.
//
// Proof note.
//   - Neighbours: replace one record, the records of a patient, or all records of a party; or
//     replace one label, if the condition does not read the label (study.Plan ensures this).
//   - Lemma: a record's result, Outside included, is a function of its own cells and of the public
//     condition. So neighbouring files become neighbouring files at the same unit, with as many
//     records. At unit label, a record's features and Outside do not depend on its label, and a
//     label outside is gone. Patient and party stay, so the grouping of records does too. Every
//     later step, including names and keyed cuts (keyed.Records), sees these records alone, so each
//     proof about neighbours holds.
//   - Numeric model: texts and comparisons; nothing is added up.
func (s Schema) EncodeWhere(t *Table, c Condition) (*Records, []Remark, error) {
	h, remarks, err := s.EncodeLabelledLazily(t, &c)
	if err != nil {
		return nil, nil, err
	}
	return h.All(), remarks, nil
}

func (s Schema) keepWhere(r *Records, inside []bool) {
	empty := s.Empty()
	r.FailsCondition = make([]bool, len(inside))
	for i, in := range inside {
		if !in {
			r.FailsCondition[i], r.Y[i] = true, empty.Y[0]
			copy(r.X.RawRowView(i), empty.X.RawRowView(0))
		}
	}
}

// Empty returns one record with all cells missing and no label.
func (s Schema) Empty() *Records {
	columns := s.FeatureColumns()
	t, err := NewTable(columns, [][]string{make([]string, len(columns))})
	if err != nil { // no error: a checked schema names a column once
		panic(err)
	}
	r, _, err := s.Encode(t)
	if err != nil {
		panic(err)
	}
	return r
}

// MissingFiller returns a function that copies an encoded row, with missing cells filled as without
// MarkMissing.
func (s Schema) MissingFiller() func(row []float64) []float64 {
	s.MarkMissing = false
	fill := s.Empty().X.RawRowView(0)
	return func(row []float64) []float64 {
		out := slices.Clone(row)
		for j, v := range out {
			if v != v {
				out[j] = fill[j]
			}
		}
		return out
	}
}
