package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
	"caucus/study"
	"caucus/study/keyed"
	"caucus/study/kinds"
)

// open calls read with a file, and returns the digest of all its bytes.
func open(path string, read func(in io.ReaderAt, size int64) error) (digest string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s: it is a directory: name the file", path)
	}
	in, size := &hashed{in: file, digest: sha256.New()}, info.Size()
	if !info.Mode().IsRegular() { // a pipe is text and read once, in order
		in.in, size = &inOrder{in: file}, math.MaxInt64
	}
	err = read(in, size)
	if err == nil {
		digest, err = in.rest(size)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return digest, nil
}

// hashed is a file whose digest is made of what is read in order, so that text is read once.
type hashed struct {
	in     io.ReaderAt
	digest hash.Hash
	upTo   int64
}

func (h *hashed) ReadAt(p []byte, at int64) (int, error) {
	n, err := h.in.ReadAt(p, at)
	if at <= h.upTo && at+int64(n) > h.upTo {
		h.digest.Write(p[h.upTo-at : n])
		h.upTo = at + int64(n)
	}
	return n, err
}

// rest is the digest of the whole file.
func (h *hashed) rest(size int64) (string, error) {
	if _, err := io.Copy(io.Discard, io.NewSectionReader(h, h.upTo, size-h.upTo)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.digest.Sum(nil)), nil
}

// inOrder is a stream that is read from its beginning to its end.
type inOrder struct {
	in io.Reader
	at int64
}

func (o *inOrder) ReadAt(p []byte, at int64) (int, error) {
	if at != o.at {
		return 0, errors.New("it is a pipe, which can be read once only: write a file")
	}
	n, err := o.in.Read(p)
	o.at += int64(n)
	return n, err
}

// unread is why a file is not read, without a word of what it holds: where a
// header is missing the names of its columns are a record.
func unread(err error, f files.Format) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	if f.Container() {
		return fmt.Errorf("it cannot be read as %s: check that it is whole, and that its first row names its columns; if it has none, list them under header in its mapping", f)
	}
	return errors.New("it cannot be read as a table: check that it is whole, and its header and delimiter; if it has no header, list its names under columns in this site's schema, or under header in its mapping")
}

// Reading is a file as it was read, for the eyes of the site.
type Reading struct {
	digest string // SHA-256 of the file's bytes
	form   files.Format
	lines  dataset.Lines
	bound  *mapping.Bound
	// encoded counts what the schema made of the cells of so many columns.
	encoded []dataset.Remark
	columns int
	schema  dataset.Schema
}

// errOther: the file has other columns than were declared.
var errOther = errors.New("its columns are not those that were declared: put the file back, or declare it again")

// errChanged: a container is read only as it was when it was declared. A line
// of text is a record whatever it holds; but one row of a workbook may damage all
// others, so no bound would hold for files that nobody has read before.
var errChanged = errors.New("a workbook or a Parquet file is read only as it was when it was declared, and it has changed: put it back, or declare it again")

// survey reads a file whose form nobody has declared yet. Errors are for the
// person who asks, on this machine.
func (s Source) survey(own dataset.Schema, m mapping.Mapping) (Reading, error) {
	var r Reading
	var err error
	r.digest, err = open(s.File, func(in io.ReaderAt, size int64) error {
		w := m.Written.Or(own.Format())
		form, err := files.Detect(in, size, w)
		if err != nil {
			return err
		}
		r.form = form
		rows, err := files.Open(in, size, form, w)
		if err != nil && form.Container() { // it names sheets and parts of the file, no cells
			return err
		}
		if err != nil {
			return unread(err, form)
		}
		r.lines, r.bound, err = m.Read(rows, own)
		return err
	})
	return r, err
}

// open reads the file as it was declared: nothing of how hangs on what it
// holds. Errors are about the file, without a word of it.
func (d Declaration) open() (Reading, error) {
	r := Reading{form: d.Form}
	var err error
	r.digest, err = open(d.File, func(in io.ReaderAt, size int64) error {
		if d.Form.Container() {
			digest := sha256.New()
			if _, err := io.Copy(digest, io.NewSectionReader(in, 0, size)); err != nil {
				return err
			}
			if hex.EncodeToString(digest.Sum(nil)) != d.Digest {
				return errChanged
			}
		}
		rows, err := files.Open(in, size, d.Form, d.Mapping.Written.Or(d.Schema.Format()))
		if err != nil {
			return unread(err, d.Form)
		}
		if r.lines.Columns = rows.Columns(); !slices.Equal(r.lines.Columns, d.Columns) {
			return errOther
		}
		if r.lines, r.bound, err = d.Mapping.Read(rows, d.Schema); err != nil {
			return unread(err, d.Form)
		}
		return nil
	})
	return r, err
}

// Read reads the records that a plan asks for, as they were declared: what
// the file's columns mean is the plan's schema, which means the same as the
// site's where Objections has none. With an error there are no records.
func (d Declaration) Read(p study.Plan) (*dataset.Records, Reading, error) {
	r, err := d.open()
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
func (r *Reading) encode(p study.Plan, s dataset.Schema) (records *dataset.Records, err error) {
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

// ordered are n records by the keyed order of what was read.
func ordered(p study.Plan, records *dataset.Records, n int, key []byte) *dataset.Records {
	return keyed.Exactly(kinds.RuleOf(p), p.Schema, records, n, key)
}

// Empty are n empty records, as a plan's schema encodes them.
func Empty(p study.Plan, n int, key []byte) *dataset.Records { return ordered(p, none(p), n, key) }

// asked is a plan's schema, with the party column only where the plan asks for what is in it.
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

// Remarks are what was odd, a line each, and what to do. They show texts of the
// file, for the eyes of the site.
func (r Reading) Remarks() []string {
	out := slices.Clone(r.bound.Notes)
	if n := r.lines.Malformed; n > 0 {
		out = append(out, fmt.Sprintf("%d lines are no row of %d cells, the first is line %d: look at quotes, delimiters and line breaks in cells; they are empty records",
			n, len(r.lines.Columns), r.lines.FirstMalformed))
	}
	for _, m := range r.Cells() {
		out = append(out, m.String())
	}
	return append(out, mapping.Advice(r.lines.Table, r.schema)...)
}

// Cells count what was odd in columns' cells: as they were read, and as the schema took them.
func (r Reading) Cells() []dataset.Remark { return slices.Concat(r.lines.Remarks, r.encoded) }

// Lines are the file's rows, by the schema's columns.
func (r Reading) Lines() *dataset.Table { return r.lines.Table }

// unlike says which of the schema's columns a file lacks. Where it has none of
// them, its own may be a record, and it says only how many there are.
func (r Reading) unlike() error {
	if d, ok := dataset.LikelyDelimiter(r.lines.Columns); ok {
		return fmt.Errorf("its first line is one column, and its delimiter looks like %q: write delimiter: %q in its mapping", d, d)
	}
	missing := slices.Clone(r.bound.Missing)
	const most = 12
	more := ""
	if n := len(missing) - most; n > 0 {
		missing, more = missing[:most], fmt.Sprintf(" and %d more", n)
	}
	for i, name := range missing {
		missing[i] = strconv.Quote(name)
	}
	return fmt.Errorf("no column %s%s; the file has %d columns: map them (caucus agent map drafts a mapping), rename them or correct the schema; if the file has no header, list its names under columns in this site's schema, or under header in its mapping",
		strings.Join(missing, ", "), more, len(r.lines.Columns))
}

// unreadableProblems are those of cells that hold something that cannot be used.
var unreadableProblems = []dataset.Problem{dataset.NotANumber, dataset.UnknownLevel, dataset.NoText, mapping.NoDate, mapping.NoValue}

// problems says where a file is not as expected. It tells of the records: for
// the eyes of the site.
func (e Expected) problems(r Reading) []string {
	records := r.lines.Table.Rows()
	if len(e.Records) == 2 && (records < e.Records[0] || records > e.Records[1]) {
		return []string{fmt.Sprintf("the file has %s, expected are %d to %d (records: in the source's entry)", textpage.Count(records, "record"), e.Records[0], e.Records[1])}
	}
	if records == 0 {
		if len(e.Records) == 2 { // somebody expects that
			return nil
		}
		return []string{"the file has no record, only a line of names: look whether it was written to its end, or write records: [0, 100000] in the source's entry if that is as it should be"}
	}
	unreadable, unlabelled := r.lines.Malformed*r.columns, 0
	column := map[string]int{}
	for _, m := range r.Cells() {
		switch {
		case m.Problem == dataset.UnknownLabel:
			unlabelled += m.Count
		case slices.Contains(unreadableProblems, m.Problem):
			unreadable += m.Count
			column[m.Column] += m.Count
		}
	}
	var out []string
	say := func(n, of int, most *Fraction, usual Fraction, format string) {
		if most == nil {
			most = &usual
		}
		if share := Fraction(float64(n) / float64(of)); share > *most {
			out = append(out, fmt.Sprintf(format, share, *most))
		}
	}
	say(unreadable, records*max(r.columns, 1), e.Unreadable, usualUnreadable,
		"%v of the cells cannot be read as what the schema says, at most %v are expected (unreadable: in the source's entry): look at the remarks; a mapping may be missing")
	say(unlabelled, records, e.Unlabelled, usualUnlabelled,
		"%v of the records have no known label, at most %v are expected (unlabelled: in the source's entry): look at the label's texts; a mapping may be missing")
	ofColumn := usualColumn
	if e.Unreadable != nil {
		ofColumn = max(usualColumn, *e.Unreadable)
	}
	for _, name := range slices.Sorted(maps.Keys(column)) {
		if share := Fraction(float64(column[name]) / float64(records)); share > ofColumn && len(out) == 0 {
			out = append(out, fmt.Sprintf("%v of the cells of %s cannot be read as what the schema says: look at the remarks; a mapping may be missing, or write unreadable: 100%% in the source's entry if that is as it should be", share, name))
		}
	}
	return out
}
