package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"caucus/dataset"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/internal/yamlfile"
)

// Source is one set of records of a site.
type Source struct {
	// File is delimited text (one line is one record), packed with gzip or zstd
	// or not, an Excel workbook or Parquet (one row is one record). What it is
	// its first bytes say when a person declares it.
	File string `yaml:"file"`
	// Schema is the site's own schema file: what the columns mean. A plan is held
	// against it, never against the file.
	Schema string `yaml:"schema"`
	// Mapping says how the file is written, and what of it each column of the
	// schema is. Without it the file has the schema's columns and is written as
	// the schema says.
	Mapping MappingSource `yaml:"mapping"`
	// Expected is what a person would find normal in the file.
	Expected `yaml:",inline"`
	// Redeclare is "daily" where the file is written anew as records come in, so
	// that nobody is to declare it again for that: see state.take. It is for text.
	Redeclare string `yaml:"redeclare"`
}

// RedeclareDaily is what Source.Redeclare may say.
const RedeclareDaily = "daily"

// MappingSource is a mapping that is written in the configuration, or the name of
// a file that holds one, which several sources and sites may share.
type MappingSource struct {
	File   string
	Inline mapping.Mapping
}

// UnmarshalYAML takes a text for the name of a file.
func (m *MappingSource) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.File = n.Value
		return nil
	}
	return yamlfile.DecodeNode(n, &m.Inline)
}

// read is the mapping.
func (m MappingSource) read() (mapping.Mapping, error) {
	if m.File == "" {
		return m.Inline, nil
	}
	file, err := os.Open(m.File)
	if err != nil {
		return mapping.Mapping{}, err
	}
	defer file.Close()
	read, err := mapping.Parse(file)
	if err != nil {
		return mapping.Mapping{}, fmt.Errorf("%s: %w", m.File, err)
	}
	return read, nil
}

// reading is a file as it was read, for the eyes of the site.
type reading struct {
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
func (s Source) survey(own dataset.Schema, m mapping.Mapping) (reading, error) {
	var r reading
	err := s.open(&r, func(in io.ReaderAt, size int64) error {
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

// read reads the file as it was declared: nothing of how hangs on what it
// holds. Errors are about the file, without a word of it.
func (d Declaration) read() (reading, error) {
	r := reading{form: d.Form}
	err := Source{File: d.File}.open(&r, func(in io.ReaderAt, size int64) error {
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

// open calls read with the file, and adds the digest of all its bytes.
func (s Source) open(r *reading, read func(in io.ReaderAt, size int64) error) error {
	file, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s: it is a directory: name the file", s.File)
	}
	in, size := &hashed{in: file, digest: sha256.New()}, info.Size()
	if !info.Mode().IsRegular() { // a pipe is text and read once, in order
		in.in, size = &inOrder{in: file}, math.MaxInt64
	}
	err = read(in, size)
	if err == nil {
		r.digest, err = in.rest(size)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	return nil
}

// hashed is a file whose digest is made of what is read in order, so that text is
// read once.
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

// remarks are what was odd, a line each, and what to do. They show texts of the
// file, for the eyes of the site.
func (r reading) remarks() []string {
	out := slices.Clone(r.bound.Notes)
	if n := r.lines.Malformed; n > 0 {
		out = append(out, fmt.Sprintf("%d lines are no row of %d cells, the first is line %d: look at quotes, delimiters and line breaks in cells; they are empty records",
			n, len(r.lines.Columns), r.lines.FirstMalformed))
	}
	for _, m := range slices.Concat(r.lines.Remarks, r.encoded) {
		out = append(out, m.String())
	}
	return append(out, mapping.Advice(r.lines.Table, r.schema)...)
}

// unlike says which of the schema's columns a file lacks. Where it has none of
// them, its own may be a record, and it says only how many there are.
func (r reading) unlike() error {
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

// below puts the files of a source in a folder, where they have no place of
// their own.
func (s Source) below(folder string) Source {
	s.File, s.Schema, s.Mapping.File = below(folder, s.File), below(folder, s.Schema), below(folder, s.Mapping.File)
	return s
}

func below(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
