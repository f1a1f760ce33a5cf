package agent

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"caucus/dataset"
	"caucus/study"
)

// Source is one set of records of a site.
type Source struct {
	// File is delimited text, packed with gzip or not, in which one line is one
	// record.
	File string `yaml:"file"`
	// Schema is the site's own schema file: how the file is written (delimiter,
	// comment, header or columns) and what its columns mean. A plan is held
	// against it, never against the file.
	Schema string `yaml:"schema"`
}

// reading is a file as it was read, for the eyes of the site.
type reading struct {
	digest string // SHA-256 of the file's bytes
	packed bool
	lines  dataset.Lines
}

// read reads the file as the site's schema says it is written, and of its
// columns those that the schema names. With packed given, that alone says whether
// gzip is undone: which bytes a file begins with may be a record's. Errors are
// about the file and stay on this machine.
func (s Source) read(own dataset.Schema, packed *bool) (reading, error) {
	file, err := os.Open(s.File)
	if err != nil {
		return reading{}, err
	}
	defer file.Close()
	digest := sha256.New()
	bytes := bufio.NewReaderSize(io.TeeReader(file, digest), 1<<16)
	var r reading
	var plain io.Reader = bytes
	switch {
	case packed == nil:
		plain, r.packed, err = dataset.Unpack(bytes)
	case *packed:
		r.packed = true
		plain, err = gzip.NewReader(bytes)
	}
	if err == nil {
		r.lines, err = dataset.ReadLines(plain, own.Format(), columnsOf(own)...)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, bytes) // what lies behind the last line, for the digest
	}
	r.digest = hex.EncodeToString(digest.Sum(nil))
	if err != nil {
		return reading{}, fmt.Errorf("%s: %w", s.File, unread(err))
	}
	return r, nil
}

// remarks are what was odd, a line each.
func (r reading) remarks(more ...dataset.Remark) []string {
	var out []string
	if n := r.lines.Malformed; n > 0 {
		out = append(out, fmt.Sprintf("%d lines are no row of %d cells, the first is line %d: look at quotes, delimiters and line breaks in cells; they are empty records",
			n, len(r.lines.Columns), r.lines.FirstMalformed))
	}
	for _, m := range append(r.lines.Remarks, more...) {
		out = append(out, m.String())
	}
	return out
}

// unread is why a file is not read, without a word of what it holds: where a
// header is missing the names of its columns are a record.
func unread(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return errors.New("it cannot be read as a table: check that it is whole, and its header and delimiter; if it has no header, list its names under columns in this site's schema")
}

// errOther: the file has other columns than were declared.
var errOther = errors.New("its columns are not those that were declared: put the file back, or declare it again")

// encoded reads the records that a plan asks for, as they were declared: what
// the file's lines mean is the plan's schema, which means the same as the
// site's where Objections has none. With an error there are no records.
func (d Declaration) encoded(p study.Plan) (*dataset.Records, reading, []string, error) {
	r, err := Source{File: d.File}.read(d.Schema, &d.Packed)
	if err == nil && !slices.Equal(r.lines.Columns, d.Columns) {
		err = fmt.Errorf("%s: %w", d.File, errOther)
	}
	if err != nil {
		return none(p), r, nil, err
	}
	records, remarks, err := asked(p).EncodeLabelled(r.lines.Table)
	if err != nil {
		return none(p), r, nil, fmt.Errorf("%s: %w", d.File, errOther)
	}
	return records, r, r.remarks(remarks...), nil
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
	records, _, err := s.EncodeLabelled(t)
	if err != nil {
		panic(err)
	}
	return records
}

// asksSets says whether a plan asks for the column that names each record's set.
func asksSets(p study.Plan) bool { return p.Ratio != nil && p.Ratio.Sets == study.SetsColumn }

// records are the records of this site for a study: exactly n, as were declared
// when it was charged, and it never fails. Whatever keeps the file from being read as it
// was declared (it is gone, torn, has other columns) gives empty records, in
// the same number; the site is told in its log, its audit log and the study's
// review, and nobody else. It is called once what a study costs is charged.
func (s *site) records(p study.Plan, n int) *dataset.Records {
	d, err := s.declared(p)
	if err == nil { // as when the study was decided
		err = objection(d.Objections(p))
	}
	records := none(p)
	if err == nil {
		records, _, _, err = d.encoded(p)
	}
	if err != nil { // and there are no records
		s.flag(p, d, err)
	}
	return study.Exactly(p, records, n, s.shardKey)
}

// flag tells the site that a study got empty records, and why. What cannot be
// told changes nothing.
func (s *site) flag(p study.Plan, d Declaration, why error) {
	canonical, err := p.Canonical()
	if err != nil {
		return
	}
	h := study.HashOf(canonical)
	log := s.config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log.Error("this study gets empty records of this site: its source cannot be read as it was declared", "study", h.String(), "error", why)
	err = errors.Join(s.audit.record(auditUnread, h, p.Name, "source", d.Source), s.studies.of(h).write(fileUnread, []byte(why.Error()+"\n")))
	if err != nil {
		log.Error("that could not be written down", "study", h.String(), "error", err)
	}
}
