package source

import (
	"context"
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
	"caucus/dataset/database"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
)

func open(path string, read func(in *hashed, size int64) error) (digest string, err error) {
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
	if !info.Mode().IsRegular() { // a pipe has text, and is read once, in order
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

// hashed computes a file's digest while the file is read in order, so that text is read only once.
type hashed struct {
	in     io.ReaderAt
	digest hash.Hash
	upTo   int64 // bytes read in order, from the start
	read   int64 // bytes read altogether
}

func (h *hashed) ReadAt(p []byte, at int64) (int, error) {
	n, err := h.in.ReadAt(p, at)
	h.read += int64(n)
	if at <= h.upTo && at+int64(n) > h.upTo {
		h.digest.Write(p[h.upTo-at : n])
		h.upTo = at + int64(n)
	}
	return n, err
}

func (h *hashed) rest(size int64) (string, error) {
	if _, err := io.Copy(io.Discard, io.NewSectionReader(h, h.upTo, size-h.upTo)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.digest.Sum(nil)), nil
}

type inOrder struct {
	in io.Reader
	at int64
}

func (i *inOrder) ReadAt(p []byte, at int64) (int, error) {
	if at != i.at {
		return 0, errors.New("it is a pipe, which can be read once only: write a file")
	}
	n, err := i.in.Read(p)
	i.at += int64(n)
	return n, err
}

// unread is the error for a file that cannot be read. It quotes nothing: what looks like a header
// may be a record.
func unread(err error, f files.Format) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	if f.IsContainer() {
		return fmt.Errorf("it cannot be read as %s: check that it is whole, and that its first row names its columns; if it has none, list them under header in its mapping", f)
	}
	return errors.New("it cannot be read as a table: check that it is whole, and its header and delimiter; if it has no header, list its names under columns in this site's schema, or under header in its mapping")
}

// SourceReading describes a source as it was read. It is for the site only.
type SourceReading struct {
	Records int `json:"records"`
	// Malformed counts the lines that are read as empty records. FirstMalformed is the first of
	// them.
	Malformed      int `json:"malformed,omitempty"`
	FirstMalformed int `json:"first_malformed,omitempty"`
	// RowRemarks counts rows that were repaired or dropped, by cause, and odd cells by column, both
	// as read and as the schema interpreted them.
	RowRemarks []dataset.Remark `json:"odd,omitempty"`
	// Notes list what the mapping inferred and what a person might change.
	Notes []string `json:"notes,omitempty"`
}

type reading struct {
	SourceReading
	digest string // SHA-256 of the file's bytes, or of a query
	// parts of a query that may make rows depend on each other (QueryOrigin.RowDependences)
	derives []string
	zone    string // time zone of a query's session
	form    files.Format
	columns []string // the file's columns
	bound   *mapping.BoundMapping
}

var errLacks = errors.New("a column of the schema is missing")

var errOther = errors.New("its columns are not those that were declared: put the file back, or declare it again")

// take maps and encodes all rows, and passes each encoded record to keep. From time to time it
// calls progress with the number of records so far; an error from progress stops the reading.
// Without a person who waits, progress is nil.
func (r *reading) take(progress func(records int) error, in dataset.Rows, m mapping.Mapping,
	own dataset.Schema, key []byte, keep func([]byte) error) error {
	r.columns = in.Columns()
	var err error
	if r.bound, err = m.Bind(r.columns, own); err != nil {
		return err
	}
	if slices.ContainsFunc(r.bound.Missing, func(name string) bool { return name != own.Party }) {
		return errLacks
	}
	rows := r.bound.Rows(in)
	coding := own.Coding()
	coder, err := coding.Coder(rows.Columns(), key)
	if err != nil {
		return err
	}
	c := &codedRows{Rows: rows, progress: progress, coder: coder,
		record: make([]byte, coding.Width()), keep: keep}
	sample := dataset.CollectedRows{}
	if progress != nil { // a person reads this advice
		sample, err = dataset.CollectRows(dataset.FirstRows(c, mapping.AdviceRecords))
	}
	for err == nil {
		_, _, err = c.Next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	r.SourceReading = SourceReading{
		Records: c.records, Malformed: c.malformed, FirstMalformed: c.firstMalformed,
		RowRemarks: slices.Concat(in.Remarks(), c.none, coder.Remarks(), r.bound.Remarks()),
		Notes:      r.bound.Notes,
	}
	if words := own.FilledText(dataset.MissingColumns(r.RowRemarks)); words != "" {
		r.Notes = append(r.Notes, "missing cells: describe and evaluate count them, survival "+
			"and regress leave the record out; in other studies stand in their place: "+words)
	}
	if progress != nil {
		r.Notes = append(r.Notes, mapping.Advice(sample.Table, own)...)
	}
	return nil
}

type codedRows struct {
	dataset.Rows
	progress                           func(records int) error
	coder                              *dataset.RecordCoder
	record                             []byte
	keep                               func([]byte) error
	records, malformed, firstMalformed int
	none                               dataset.RowRemarks // records without a cell of the schema
}

func (c *codedRows) Next() ([]string, bool, error) {
	cells, ok, err := c.Rows.Next()
	if err != nil {
		return nil, false, err
	}
	if !ok {
		if c.malformed++; c.malformed == 1 {
			c.firstMalformed = c.Place()
		}
		cells = nil
	} else if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
		c.none.Add(mapping.ProblemNoCell, c.Place())
	}
	if c.records++; c.progress != nil && c.records%1024 == 0 {
		if err := c.progress(c.records); err != nil {
			return nil, false, err
		}
	}
	c.coder.Code(cells, c.record)
	return cells, ok, c.keep(c.record)
}

// Progress, if not nil, gets the numbers of records and bytes read so far, and the file's size, 0
// without a file.
type Progress func(records int, read, size int64)

// survey reads a source for a person's import. Its errors are for the person on this machine.
func (s Source) survey(ctx context.Context, own dataset.Schema, m mapping.Mapping, key []byte,
	keep func([]byte) error, progress Progress) (r reading, err error) {
	take := func(rows dataset.Rows, read func() (n, size int64)) error {
		every := func(records int) error {
			if progress != nil {
				n, size := read()
				progress(records, n, size)
			}
			return context.Cause(ctx)
		}
		return r.take(every, rows, m, own, key, keep)
	}
	if s.queries() {
		text, err := s.Query.Text()
		if err != nil {
			return r, err
		}
		q := s.Query
		q.SQL, q.SQLFile, q.Zone = text, "", m.Zone // run exactly the text that was checked
		rows, err := database.Open(ctx, q)
		if err != nil {
			return r, err
		}
		defer rows.Close()
		r.digest, r.derives, r.zone = rows.Digest(), database.RowDependences(text), rows.Zone()
		err = take(rows, func() (int64, int64) { return 0, 0 })
		if errors.Is(err, errLacks) {
			err = r.unlike("")
		}
		return r, err
	}
	r.digest, err = open(s.File, func(in *hashed, size int64) error {
		w := m.TextFormat.WithDefaults(own.Format())
		if r.form, err = files.Detect(in, size, w); err != nil {
			return err
		}
		openRows := files.OpenForPerson
		if s.Redeclare == RedeclareDaily { // read as studies will read it
			openRows = files.Open
		}
		rows, err := openRows(in, size, r.form, w)
		if err == nil {
			err = take(rows, func() (int64, int64) { return min(in.read, size), size })
			if errors.Is(err, errLacks) {
				err = r.unlike(tableElsewhere(in, size, r.form, w, own))
			}
			return err
		}
		// the error of a container names sheets and parts of the file, but no cells
		if !r.form.IsContainer() {
			err = unread(err, r.form)
		}
		if elsewhere := tableElsewhere(in, size, r.form, w, own); elsewhere != "" {
			err = fmt.Errorf("%w; %s", err, elsewhere)
		}
		return err
	})
	return r, err
}

// tableElsewhere says which keys of a mapping find a file's table, if it seems to stand elsewhere
// or to have another delimiter. It shows nothing of the rows.
func tableElsewhere(in io.ReaderAt, size int64, f files.Format, w files.TextFormat,
	own dataset.Schema) string {
	proposed, _, err := files.ProposeTextFormat(in, size, f, w, own.AllColumns())
	var keys []string
	if proposed.Sheet != w.Sheet {
		keys = append(keys, fmt.Sprintf("sheet: %q", proposed.Sheet))
	}
	if proposed.FirstRow != w.FirstRow {
		keys = append(keys, fmt.Sprintf("first_row: %d", proposed.FirstRow))
	}
	if proposed.Delimiter != w.Delimiter {
		keys = append(keys, fmt.Sprintf("delimiter: %q", proposed.Delimiter))
	}
	if err != nil || len(keys) == 0 {
		return ""
	}
	return "its table seems to be found by " + strings.Join(keys, ", ") + " in its mapping"
}

// readDaily reads, as declared, the file of a source that is written again regularly. How it reads
// does not depend on the file's content. Its errors are about the file and quote nothing.
func (d Declaration) readDaily(key []byte) (table, reading, error) {
	r, memory := reading{form: d.Form}, memory{coding: d.Schema.Coding()}
	var err error
	r.digest, err = open(d.File, func(in *hashed, size int64) error {
		rows, err := files.Open(in, size, d.Form,
			d.Mapping.TextFormat.WithDefaults(d.Schema.Format()))
		if err != nil {
			return unread(err, d.Form)
		}
		if !slices.Equal(rows.Columns(), d.Columns) {
			return errOther
		}
		err = r.take(nil, rows, d.Mapping, d.Schema, key, memory.add)
		if errors.Is(err, errLacks) {
			return errOther
		}
		if err != nil {
			return unread(err, d.Form)
		}
		return nil
	})
	return memory.table(), r, err
}

// Remarks lists what was unexpected, with remedies. They quote the file, so they are for the site
// only.
func (s SourceReading) Remarks() []string {
	var out []string
	for _, m := range s.RowRemarks {
		out = append(out, m.String())
	}
	return append(out, s.Notes...)
}

// unlike names the schema's columns that a file lacks, and where they may be. It gives only the
// number of the file's own columns, because their names may be a record.
func (r reading) unlike(elsewhere string) error {
	missing := slices.Clone(r.bound.Missing)
	if shared := dataset.SharedNamesNote(missing, r.columns); shared != "" {
		elsewhere = strings.TrimPrefix(shared, "; ")
	}
	const most = 12
	more := ""
	if n := len(missing) - most; n > 0 {
		missing, more = missing[:most], fmt.Sprintf(" and %d more", n)
	}
	for i, name := range missing {
		missing[i] = strconv.Quote(name)
	}
	if elsewhere != "" {
		return fmt.Errorf("no column %s%s; the file has %d columns, and %s",
			strings.Join(missing, ", "), more, len(r.columns), elsewhere)
	}
	return fmt.Errorf("no column %s%s; the file has %d columns: map them (caucus agent map drafts a mapping), rename them or correct the schema; if the file has no header, list its names under columns in this site's schema, or under header in its mapping%s",
		strings.Join(missing, ", "), more, len(r.columns), r.bound.PatientHint())
}

var unreadableProblems = []dataset.Problem{
	dataset.ProblemNotANumber, dataset.ProblemUnknownLevel, dataset.ProblemNotText,
	mapping.ProblemNoDate, mapping.ProblemNoValue, mapping.ProblemAfterDay, mapping.ProblemDayForMonth,
}

func (e Expected) problems(r SourceReading, own dataset.Schema) []string {
	records, columns := r.Records, len(own.FeatureColumns())
	if len(e.Records) == 2 && (records < e.Records[0] || records > e.Records[1]) {
		return []string{fmt.Sprintf("the file has %s, expected are %d to %d (records: in the source's entry)", textpage.Count(records, "record"), e.Records[0], e.Records[1])}
	}
	if records == 0 {
		if len(e.Records) == 2 { // the configuration says how many records are expected
			return nil
		}
		return []string{"the file has no record, only a line of names: look whether it was written to its end, or write records: [0, 100000] in the source's entry if that is as it should be"}
	}
	unreadable, unlabelled := r.Malformed*columns, 0
	column, clamped, none := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range r.RowRemarks {
		if m.Problem == dataset.ProblemMissing || m.Problem == dataset.ProblemNotANumber {
			none[m.Column] += m.Count
		}
		switch {
		case m.Problem == dataset.ProblemClamped:
			clamped[m.Column] += m.Count
		case m.Problem == dataset.ProblemUnknownLabel:
			unlabelled += m.Count
		case slices.Contains(unreadableProblems, m.Problem):
			unreadable += m.Count
			column[m.Column] += m.Count
		}
	}
	var out []string
	say := func(n, total int, most *Fraction, usual Fraction, format string, args ...any) {
		if most == nil {
			most = &usual
		}
		if share := Fraction(float64(n) / float64(total)); share > *most {
			out = append(out, fmt.Sprintf(format, append([]any{share, *most}, args...)...))
		}
	}
	say(unreadable, records*max(columns, 1), e.Unreadable, usualUnreadable,
		"%v of the cells cannot be read as what the schema says, at most %v are expected (unreadable: in the source's entry): look at the remarks; a mapping may be missing")
	say(unlabelled, records, e.Unlabelled, usualUnlabelled,
		"%v of the records have no known label, at most %v are expected (unlabelled: in the source's entry): look at the label's texts; a mapping may be missing")
	ofColumn := usualColumn
	if e.Unreadable != nil {
		ofColumn = max(usualColumn, *e.Unreadable)
	}
	for _, name := range slices.Sorted(maps.Keys(column)) {
		if share := Fraction(float64(column[name]) / float64(records)); share > ofColumn &&
			len(out) == 0 {
			out = append(out, fmt.Sprintf("%v of the cells of %s cannot be read as what the schema says: look at the remarks; a mapping may be missing, or write unreadable: 100%% in the source's entry if that is as it should be", share, name))
		}
	}
	for _, f := range own.Features {
		// no error: the schema was checked
		names, _ := dataset.ExpandNames(append(f.Columns, f.Column))
		for _, name := range names {
			say(clamped[name], max(records-none[name], 1), e.Clamped, usualClamped,
				"%[1]v of the numbers of %[3]s are outside its bounds %[4]g to %[5]g, "+
					"at most %[2]v are expected (clamped: in the source's entry): "+
					"look whether they are in the schema's unit (multiply: in a mapping converts them), "+
					"or stand for a missing number (missing: in a mapping names such texts)",
				name, f.Min, f.Max)
		}
	}
	return out
}
