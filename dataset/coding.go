package dataset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// RecordCoding writes every record of a schema in the same number of bytes, so that the time to
// read records depends on their number alone. The parts of a record, in order:
//
//   - each feature column: a number as the bits of a float64, big-endian, NaN for a cell without a
//     number; a text as the index of its level, or the index after the last level for a missing
//     text, in one, two or four bytes;
//   - the label's class, in one, two or four bytes; the number of classes stands for no label;
//   - patient and party, if the schema names such a column: KeySize bytes of HMAC-SHA256 under the
//     site's key, zero for an empty cell. Equal texts of a column have equal keys; the text itself
//     is lost;
//   - patient's date, if the schema names such a column: the bits of a float64, NaN for no day.
//
// Decoded records equal the records of [Schema.EncodeWhere] for the same cells, but Patient and
// Party hold keys.
type RecordCoding struct {
	schema   Schema
	features []codedFeature
	place    map[string]int // index in features, by name
	parts    []part         // places in a record: features, label, patient, party, patient's date
	width    int
}

// KeySize is the number of bytes in a patient's or party's key.
const KeySize = 16

type part struct{ at, width int }

type codedFeature struct {
	name  string
	of    Feature
	cells cellEncoder // numbers the encoded columns from 0
}

// Coding computes the layout of a record's bytes from the schema alone, so all records have the
// same length. The schema must be valid.
func (s Schema) Coding() *RecordCoding {
	c := &RecordCoding{schema: s, place: map[string]int{}}
	add := func(width int) {
		c.parts = append(c.parts, part{c.width, width})
		c.width += width
	}
	for i := range s.Features {
		f := &s.Features[i]
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		for _, name := range names {
			c.place[name] = len(c.features)
			c.features = append(c.features, codedFeature{name, *f, newCellEncoder(&c.schema, f, 0)})
			if f.Kind == Numeric {
				add(8)
			} else {
				add(bytesFor(f.width() + 1))
			}
		}
	}
	add(bytesFor(len(s.Label.Classes) + 1))
	for _, name := range []string{s.Patient, s.Party} {
		if name != "" {
			add(KeySize)
		} else {
			add(0)
		}
	}
	if s.PatientDate != "" {
		add(8)
	}
	return c
}

func bytesFor(values int) int {
	switch {
	case values <= 1<<8:
		return 1
	case values <= 1<<16:
		return 2
	}
	return 4
}

// Width returns the number of bytes of a record.
func (rc *RecordCoding) Width() int { return rc.width }

func (rc *RecordCoding) label() part   { return rc.parts[len(rc.features)] }
func (rc *RecordCoding) patient() part { return rc.parts[len(rc.features)+1] }
func (rc *RecordCoding) party() part   { return rc.parts[len(rc.features)+2] }

// PatientKey returns the key of a record's patient: zero for a record without a patient's number,
// and if the schema names no patient column.
func (rc *RecordCoding) PatientKey(record []byte) [KeySize]byte {
	var key [KeySize]byte
	p := rc.patient()
	copy(key[:], record[p.at:p.at+p.width])
	return key
}

// PatientKeyOf is PatientKey of a block's record.
func (rc *RecordCoding) PatientKeyOf(b CodedBlock, row int) [KeySize]byte {
	var key [KeySize]byte
	width := rc.patient().width
	copy(key[:], b.Columns[len(rc.features)+1][row*width:(row+1)*width])
	return key
}

// PatientDay returns the day of a record (Schema.PatientDate): NaN for no day, and if the schema
// names no such column.
func (rc *RecordCoding) PatientDay(record []byte) float64 {
	if rc.schema.PatientDate == "" {
		return math.NaN()
	}
	return math.Float64frombits(binary.BigEndian.Uint64(record[rc.parts[len(rc.features)+3].at:]))
}

func putCode(to []byte, code int) {
	switch len(to) {
	case 1:
		to[0] = byte(code)
	case 2:
		binary.BigEndian.PutUint16(to, uint16(code))
	default:
		binary.BigEndian.PutUint32(to, uint32(code))
	}
}

func getCode(from []byte) int {
	switch len(from) {
	case 1:
		return int(from[0])
	case 2:
		return int(binary.BigEndian.Uint16(from))
	}
	return int(binary.BigEndian.Uint32(from))
}

// RecordCoder codes the records of a file one by one, and counts odd cells.
type RecordCoder struct {
	coding  *RecordCoding
	columns []codedColumn
	mac     hash.Hash
}

type codedColumn struct {
	name string
	at   int // index in a row's cells; -1 if there is none
	part part
	code func(text string, to []byte) oddity
	// codes of the column's first texts; nil for numbers, whose codes are computed as fast
	seen   map[string]codedCell
	counts [oddities]int
}

type codedCell struct {
	bytes [KeySize]byte
	odd   oddity
}

// mostSeen (texts) and longestSeen (bytes of a text) bound the codes kept for a column.
const mostSeen, longestSeen = 1 << 12, 256

// Coder makes a coder for rows with these columns. key is the site's key (see RecordCoding). A
// missing feature column is an error; label, patient and party may be missing.
func (rc *RecordCoding) Coder(columns []string, key []byte) (*RecordCoder, error) {
	k := &RecordCoder{coding: rc, mac: hmac.New(sha256.New, key)}
	add := func(name string, p part, code func(string, []byte) oddity) error {
		at := slices.Index(columns, name)
		if at < 0 && len(k.columns) < len(rc.features) {
			return fmt.Errorf("code records: no column %q", name)
		}
		column := codedColumn{name: name, at: at, part: p, code: code}
		if i := len(k.columns); i >= len(rc.features) || rc.features[i].of.Kind == Categorical {
			column.seen = map[string]codedCell{}
		}
		k.columns = append(k.columns, column)
		return nil
	}
	for i := range rc.features {
		if err := add(rc.features[i].name, rc.parts[i], rc.features[i].code); err != nil {
			return nil, err
		}
	}
	s := &rc.schema
	known := s.knownClasses()
	err := add(s.Label.Column, rc.label(), func(text string, to []byte) oddity {
		y := s.classOf(known, text)
		if y < 0 {
			putCode(to, len(s.Label.Classes))
			return unknownLabel
		}
		putCode(to, y)
		return fine
	})
	for _, key := range []struct {
		name    string
		part    part
		missing string
	}{{s.Patient, rc.patient(), s.Missing}, {s.Party, rc.party(), ""}} {
		if err == nil && key.name != "" {
			err = add(key.name, key.part, k.key(key.name, key.missing))
		}
	}
	if err != nil || s.PatientDate == "" {
		return k, err
	}
	return k, add(s.PatientDate, rc.parts[len(rc.features)+3], func(text string, to []byte) oddity {
		day, ok := ParseNumber(text)
		odd := fine
		if !ok {
			day, odd = math.NaN(), missing
		}
		binary.BigEndian.PutUint64(to, math.Float64bits(day))
		return odd
	})
}

// key returns a function that writes a text's key. Equal texts in different columns have different
// keys. The key of an empty or missing text is zero.
func (r *RecordCoder) key(column, missing string) func(string, []byte) oddity {
	return func(text string, to []byte) oddity {
		clear(to)
		if text == "" || text == missing {
			return fine
		}
		r.mac.Reset()
		r.mac.Write([]byte("key\x00" + column + "\x00" + text))
		copy(to, r.mac.Sum(nil))
		return fine
	}
}

func (cf *codedFeature) code(text string, to []byte) oddity {
	if cf.of.Kind == Categorical {
		c := cf.cells.encode(text)
		if c.odd == missing {
			c.at = int32(cf.of.width())
		}
		putCode(to, int(c.at))
		return c.odd
	}
	v, odd := cf.cells.number(text)
	binary.BigEndian.PutUint64(to, math.Float64bits(v))
	return odd
}

// Code writes one record. nil cells stand for a malformed record, and count as empty cells. A cell
// that is not text counts as empty too.
func (r *RecordCoder) Code(cells []string, to []byte) {
	for i := range r.columns {
		c := &r.columns[i]
		text, odd := "", fine
		if c.at >= 0 && cells != nil {
			if text = cells[c.at]; !IsValidText(text) {
				text, odd = "", noText
			}
		}
		out := to[c.part.at : c.part.at+c.part.width]
		if odd == noText {
			c.counts[noText]++
		}
		known, ok := c.seen[text]
		switch {
		case ok:
			copy(out, known.bytes[:])
		default:
			known.odd = c.code(text, out)
			if c.seen != nil && len(c.seen) < mostSeen && len(text) <= longestSeen {
				copy(known.bytes[:], out)
				c.seen[strings.Clone(text)] = known
			}
		}
		if c.at >= 0 {
			c.counts[known.odd]++
		}
	}
}

// Remarks counts the odd cells so far.
func (r *RecordCoder) Remarks() []Remark {
	var all []Remark
	for i := range r.columns {
		c := &r.columns[i]
		for odd, problem := range problemOf {
			all = appendRemark(all, c.name, problem, c.counts[odd])
		}
	}
	return all
}

// EmptyRecord returns the bytes of a record that lacks every value, label, patient and party. It
// stands for a record that could not be read.
func (rc *RecordCoding) EmptyRecord() []byte {
	out := make([]byte, rc.width)
	for i, f := range rc.features {
		_ = f.code("", out[rc.parts[i].at:][:rc.parts[i].width]) // encodes a missing cell
	}
	putCode(out[rc.label().at:][:rc.label().width], len(rc.schema.Label.Classes))
	return out
}

// Shared writes a record's bytes except its label into the memory of to, and returns them. Records
// that differ only in the label share these bytes.
func (rc *RecordCoding) Shared(record, to []byte) []byte {
	l := rc.label()
	return append(append(to[:0], record[:l.at]...), record[l.at+l.width:]...)
}

// Columns returns the widths of a record's parts in bytes, for a table that stores columns
// separately.
func (rc *RecordCoding) Columns() (widths []int) {
	for _, p := range rc.parts {
		widths = append(widths, p.width)
	}
	return widths
}

// CodedBlock is a block of coded records, column by column.
type CodedBlock struct {
	Rows    int
	Columns [][]byte // one for each of RecordCoding.Columns, Rows times as long
}

// Append adds a record to a block, which may be the zero value.
func (rc *RecordCoding) Append(b *CodedBlock, record []byte) {
	if b.Columns == nil {
		b.Columns = make([][]byte, len(rc.parts))
	}
	for i, p := range rc.parts {
		b.Columns[i] = append(b.Columns[i], record[p.at:p.at+p.width]...)
	}
	b.Rows++
}

// Slice returns rows first to end−1 of a block, in the block's memory.
func (rc *RecordCoding) Slice(b CodedBlock, first, end int) CodedBlock {
	out := CodedBlock{Rows: end - first, Columns: make([][]byte, len(rc.parts))}
	for i, p := range rc.parts {
		out.Columns[i] = b.Columns[i][first*p.width : end*p.width]
	}
	return out
}

// Records decodes a block under s, a schema within the coding's (Schema.Differences). where is nil
// or has passed s.CheckWhere. The result equals that of [Schema.EncodeLabelled] or
// [Schema.EncodeWhere].
func (rc *RecordCoding) Records(s Schema, where *Condition, b CodedBlock) *Records {
	r := &Records{X: &mat.Dense{}, Y: make([]int, b.Rows)}
	if b.Rows > 0 {
		r.X = mat.NewDense(b.Rows, s.Dim(), nil)
	}
	first := 0
	for i := range s.Features {
		f := &s.Features[i]
		names, _ := f.names(maxColumns)
		for _, name := range names {
			rc.decode(name, b, r.X, first, s.MarkMissing)
			first += f.width()
		}
	}
	none, width := len(rc.schema.Label.Classes), rc.label().width
	for i := range r.Y {
		if r.Y[i] = getCode(b.Columns[len(rc.features)][i*width : (i+1)*width]); r.Y[i] >= none {
			r.Y[i] = -1
		}
	}
	if s.Patient != "" {
		r.Patient = keys(b.Columns[len(rc.features)+1], b.Rows)
	}
	if s.Party != "" {
		r.Party = keys(b.Columns[len(rc.features)+2], b.Rows)
	}
	if where != nil {
		s.keepWhere(r, where.root.rows(codedCells{rc, b}))
	}
	return r
}

// decode writes a feature's columns into x, starting at column first. mark is Schema.MarkMissing.
func (rc *RecordCoding) decode(name string, b CodedBlock, x *mat.Dense, first int, mark bool) {
	i := rc.place[name]
	f, column, width := &rc.features[i], b.Columns[i], rc.parts[i].width
	for row := range b.Rows {
		to := x.RawRowView(row)[first:]
		cell := column[row*width : (row+1)*width]
		if f.of.Kind == Categorical {
			if level := getCode(cell); level < f.of.width() {
				to[level] = 1
			} else { // a missing text
				f.of.fill(to, f.cells.other, mark)
			}
			continue
		}
		if v := math.Float64frombits(binary.BigEndian.Uint64(cell)); v == v {
			to[0] = f.of.scale(v)
		} else {
			f.of.fill(to, 0, mark)
		}
	}
}

func keys(column []byte, rows int) []string {
	out := make([]string, rows)
	var none [KeySize]byte
	for i := range out {
		if key := column[i*KeySize : (i+1)*KeySize]; string(key) != string(none[:]) {
			out[i] = string(key)
		}
	}
	return out
}

type codedCells struct {
	coding *RecordCoding
	block  CodedBlock
}

func (cc codedCells) answer(of comparison) []bool {
	c, out := cc.coding, make([]bool, cc.block.Rows)
	value, isNumber := ParseNumber(of.value)
	texts, at := c.schema.Label.Classes, len(c.features)
	if of.column != c.schema.Label.Column {
		at = c.place[of.column]
		f := &c.features[at]
		if f.of.Kind == Numeric {
			for i := range out {
				v := math.Float64frombits(binary.BigEndian.Uint64(cc.block.Columns[at][8*i:]))
				out[i] = of.holdsNumber(v, value)
			}
			return out
		}
		if texts = f.of.Levels; f.of.width() > len(texts) {
			texts = append(slices.Clone(texts), otherLevel)
		}
	}
	holds := make([]bool, 1+len(texts)) // the last entry stands for a missing text
	for code := range holds {
		text := ""
		if code < len(texts) {
			text = texts[code]
		}
		holds[code] = of.holds(text, value, isNumber)
	}
	width := c.parts[at].width
	for i := range out {
		out[i] = holds[min(getCode(cc.block.Columns[at][i*width:(i+1)*width]), len(texts))]
	}
	return out
}
