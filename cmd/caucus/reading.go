package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"caucus/agent/source"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
)

// reading says how to read a command's files of records. Flags override the mapping, which
// overrides the schema's format. An unreadable line is an error, because a person reads the
// message.
type reading struct {
	mapping string
	written files.Written
	decimal string
	lenient bool // read a table as declare does: a malformed row is an empty record, and counted
}

func (r *reading) flags(f *pflag.FlagSet) {
	f.StringVar(&r.mapping, "mapping", "", "YAML file with the file's format, and the source of each schema column (draft one with: caucus agent map)")
	console.MarkInputs(f, "mapping")
	f.StringVar(&r.written.Delimiter, "delimiter", "", "separator of cells in text (default the mapping's or the schema's, else a comma)")
	f.StringVar(&r.written.Encoding, "encoding", "", "encoding of text, such as latin1 or utf-16 (default utf-8)")
	f.StringVar(&r.decimal, "decimal", "", "sign before a number's fraction, a comma or a point")
	f.StringVar(&r.written.Sheet, "sheet", "", "sheet of a workbook (default the first)")
}

func (r *reading) given() bool {
	return r.mapping+r.decimal+r.written.Delimiter+r.written.Encoding+r.written.Sheet != ""
}

// howTo returns the mapping. Values of flags replace values of the mapping, and f fills in what
// both leave open.
func (r *reading) howTo(f dataset.Format) (mapping.Mapping, error) {
	var m mapping.Mapping
	if r.mapping != "" {
		file, err := os.Open(r.mapping)
		if err != nil {
			return m, err
		}
		defer file.Close()
		if m, err = mapping.Parse(file); err != nil {
			return m, fmt.Errorf("%s: %w", r.mapping, err)
		}
	}
	m.Delimiter = cmp.Or(r.written.Delimiter, m.Delimiter)
	m.Encoding = cmp.Or(r.written.Encoding, m.Encoding)
	m.Decimal = cmp.Or(r.decimal, m.Decimal)
	m.Sheet = cmp.Or(r.written.Sheet, m.Sheet)
	m.Written = m.Written.Or(f)
	if err := m.Validate(); err != nil {
		return m, console.Usagef("%w", err)
	}
	return m, nil
}

// stdinName is the name in messages for standard input.
const stdinName = "-"

func inputName(name string) string {
	if name == stdinName {
		return "standard input"
	}
	return name
}

func (r *reading) open(name string, f dataset.Format) (*recordFile, error) {
	m, err := r.howTo(f)
	if err != nil {
		return nil, err
	}
	in := os.Stdin
	if name != stdinName {
		in, err = os.Open(name)
	}
	var file *recordFile
	if err == nil {
		file, err = openRecords(in, m, files.OpenStrict)
	}
	if err != nil {
		return nil, namedOnce(name, err)
	}
	return file, nil
}

// table reads a file (- for standard input) under a schema. It keeps columns that the schema does
// not name.
func (r *reading) table(c *console.Console, name string, s dataset.Schema,
	f dataset.Format) (*dataset.Table, error) {
	file, err := r.open(name, f)
	if err != nil {
		return nil, err
	}
	defer file.close()
	if r.lenient {
		file.open = files.OpenForPerson
	}
	t, err := r.mapped(c, file, s)
	if err != nil {
		return nil, namedOnce(name, err)
	}
	return t, nil
}

// namedOnce puts the file's name before an error that does not begin with it.
func namedOnce(name string, err error) error {
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", inputName(name))
	case errors.As(err, &of):
		return of
	case strings.HasPrefix(err.Error(), name):
		return err
	}
	return fmt.Errorf("%s: %w", inputName(name), err)
}

func (r *reading) mapped(c *console.Console, file *recordFile, s dataset.Schema) (*dataset.Table, error) {
	rows, bound, err := file.mapped(s)
	if err != nil {
		return nil, err
	}
	lines, err := dataset.Collect(rows)
	if err != nil {
		return nil, err
	}
	if n := lines.Malformed; n > 0 && n == lines.Table.Rows() {
		return nil, fmt.Errorf("no line is a row of %d cells: %s", len(lines.Columns),
			lines.Remarks[0])
	}
	for _, note := range bound.Notes {
		c.Note("note: %s", note)
	}
	for _, remark := range append(lines.Remarks, bound.Remarks()...) {
		c.Note("note: %s", remark)
	}
	for _, advice := range mapping.Advice(lines.Table, s) {
		c.Note("note: %s", advice)
	}
	return lines.Table, nil
}

// opener is files.OpenStrict or files.OpenForPerson.
type opener func(in io.ReaderAt, size int64, f files.Format, w files.Written) (dataset.Rows, error)

func openRows(name string, m mapping.Mapping, open opener) (rows dataset.Rows, done func() error,
	err error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	file, err := openRecords(in, m, open)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = file.rows(); err != nil {
		file.close()
	}
	return rows, file.close, err
}

// recordFile is an open file of records, which can be read again and again.
type recordFile struct {
	in    io.ReaderAt
	size  int64
	form  files.Format
	m     mapping.Mapping
	open  opener
	close func() error
}

// openRecords recognises the format of a file, and closes the file on an error. It reads pipes and
// standard input into memory, because their length is not known and they can be read only once.
func openRecords(file *os.File, m mapping.Mapping, open opener) (*recordFile, error) {
	f := &recordFile{in: file, m: m, open: open, close: file.Close}
	info, err := file.Stat()
	switch {
	case err != nil:
	case file == os.Stdin || !info.Mode().IsRegular() && !info.IsDir():
		var all []byte
		all, err = io.ReadAll(file)
		f.in, f.size = bytes.NewReader(all), int64(len(all))
	default:
		f.size = info.Size()
	}
	if err == nil {
		f.form, err = files.Detect(f.in, f.size, m.Written)
	}
	if err != nil {
		file.Close()
	}
	return f, err
}

func (f *recordFile) rows() (dataset.Rows, error) {
	return f.open(f.in, f.size, f.form, f.m.Written)
}

// mapped begins to read the file, with its mapping to the schema's columns.
func (f *recordFile) mapped(s dataset.Schema) (dataset.Rows, *mapping.Bound, error) {
	in, err := f.rows()
	if err != nil {
		return nil, nil, err
	}
	return f.m.AllRows(in, s)
}

// formatOf returns the schema's format. Without a schema it is comma-separated text with a header.
func formatOf(schema string) (dataset.Format, error) {
	if schema == "" {
		return dataset.Format{}, nil
	}
	s, err := source.ReadSchema(schema)
	return s.Format(), err
}
