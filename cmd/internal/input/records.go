package input

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

// ReadOptions says how to read a command's files of records. Flags override the mapping, which
// overrides the schema's format. An unreadable line is an error, because a person reads the
// message.
type ReadOptions struct {
	MappingFile string
	written     files.TextFormat
	decimal     string
	// Lenient reads a table as declare does: a malformed row is an empty record, and counted.
	Lenient bool
}

// Flags adds the flags that say how files are read.
func (r *ReadOptions) Flags(f *pflag.FlagSet) {
	f.StringVar(&r.MappingFile, "mapping", "", "YAML file with the file's format, and the source of each schema column (draft one with: caucus agent map)")
	console.MarkInputs(f, "mapping")
	f.StringVar(&r.written.Delimiter, "delimiter", "", "separator of cells in text (default the mapping's or the schema's, else a comma)")
	f.StringVar(&r.written.Encoding, "encoding", "", "encoding of text, such as latin1 or utf-16 (default utf-8)")
	f.StringVar(&r.decimal, "decimal", "", "sign before a number's fraction, a comma or a point")
	f.StringVar(&r.written.Sheet, "sheet", "", "sheet of a workbook (default the first)")
}

// AnyFlagSet reports whether a flag says how files are read.
func (r *ReadOptions) AnyFlagSet() bool {
	return r.MappingFile+r.decimal+r.written.Delimiter+r.written.Encoding+r.written.Sheet != ""
}

// Mapping returns the mapping. Values of flags replace values of the mapping, and f fills in what
// both leave open.
func (r *ReadOptions) Mapping(f dataset.Format) (mapping.Mapping, error) {
	var m mapping.Mapping
	if r.MappingFile != "" {
		file, err := os.Open(r.MappingFile)
		if err != nil {
			return m, err
		}
		defer file.Close()
		if m, err = mapping.Parse(file); err != nil {
			return m, fmt.Errorf("%s: %w", r.MappingFile, err)
		}
	}
	m.Delimiter = cmp.Or(r.written.Delimiter, m.Delimiter)
	m.Encoding = cmp.Or(r.written.Encoding, m.Encoding)
	m.Decimal = cmp.Or(r.decimal, m.Decimal)
	m.Sheet = cmp.Or(r.written.Sheet, m.Sheet)
	m.TextFormat = m.TextFormat.WithDefaults(f)
	if err := m.Validate(); err != nil {
		return m, console.Usagef("%w", err)
	}
	return m, nil
}

// stdinName is the name in messages for standard input.
const stdinName = "-"

// Name returns what messages call a file: - is standard input.
func Name(name string) string {
	if name == stdinName {
		return "standard input"
	}
	return name
}

// Open opens a file (- for standard input), in which an unreadable line is an error.
func (r *ReadOptions) Open(name string, f dataset.Format) (*RecordFile, error) {
	m, err := r.Mapping(f)
	if err != nil {
		return nil, err
	}
	in := os.Stdin
	if name != stdinName {
		in, err = os.Open(name)
	}
	var file *RecordFile
	if err == nil {
		file, err = OpenRecords(in, m, files.OpenStrict)
	}
	if err != nil {
		return nil, PrefixFileName(name, err)
	}
	return file, nil
}

// Table reads a file (- for standard input) under a schema. It keeps columns that the schema does
// not name.
func (r *ReadOptions) Table(c *console.Console, name string, s dataset.Schema,
	f dataset.Format) (*dataset.Table, error) {
	file, err := r.Open(name, f)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if r.Lenient {
		file.open = files.OpenForPerson
	}
	t, err := r.mapped(c, file, s)
	if err != nil {
		return nil, PrefixFileName(name, err)
	}
	return t, nil
}

// PrefixFileName puts the file's name before an error that does not begin with it.
func PrefixFileName(name string, err error) error {
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", Name(name))
	case errors.As(err, &of):
		return of
	case strings.HasPrefix(err.Error(), name):
		return err
	}
	return fmt.Errorf("%s: %w", Name(name), err)
}

func (r *ReadOptions) mapped(c *console.Console, file *RecordFile,
	s dataset.Schema) (*dataset.Table,
	error) {
	rows, bound, err := file.Mapped(s)
	if err != nil {
		return nil, err
	}
	lines, err := dataset.CollectRows(rows)
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

// Opener is files.OpenStrict or files.OpenForPerson.
type Opener func(in io.ReaderAt, size int64, f files.Format, w files.TextFormat) (dataset.Rows,
	error)

// RecordFile is an open file of records, which can be read again and again.
type RecordFile struct {
	in    io.ReaderAt
	size  int64
	form  files.Format
	m     mapping.Mapping
	open  Opener
	Close func() error
}

// OpenRecords recognises the format of a file, and closes the file on an error. It reads pipes and
// standard input into memory, because their length is not known and they can be read only once.
func OpenRecords(file *os.File, m mapping.Mapping, open Opener) (*RecordFile, error) {
	f := &RecordFile{in: file, m: m, open: open, Close: file.Close}
	info, err := file.Stat()
	switch {
	case err != nil:
	case file == os.Stdin || !info.Mode().IsRegular() && !info.IsDir():
		var all []byte
		all, err = io.ReadAll(io.LimitReader(file, mostWhole+1))
		if len(all) > mostWhole {
			err = tooLong(file.Name())
		}
		f.in, f.size = bytes.NewReader(all), int64(len(all))
	default:
		f.size = info.Size()
	}
	if err == nil {
		f.form, err = files.Detect(f.in, f.size, m.TextFormat)
	}
	if err != nil {
		file.Close()
	}
	return f, err
}

// Rows begins to read the file from its first row.
func (r *RecordFile) Rows() (dataset.Rows, error) {
	return r.open(r.in, r.size, r.form, r.m.TextFormat)
}

// Mapped begins to read the file, with its mapping to the schema's columns.
func (r *RecordFile) Mapped(s dataset.Schema) (dataset.Rows, *mapping.BoundMapping, error) {
	in, err := r.Rows()
	if err != nil {
		return nil, nil, err
	}
	return r.m.AllRows(in, s)
}

// FormatOf returns the schema's format. Without a schema it is comma-separated text with a header.
func FormatOf(schema string) (dataset.Format, error) {
	if schema == "" {
		return dataset.Format{}, nil
	}
	s, err := source.ReadSchema(schema)
	return s.Format(), err
}
