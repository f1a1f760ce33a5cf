package files

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"caucus/dataset"
)

// TextFormat describes a file that does not describe itself. The zero value is comma-separated
// UTF-8 with a header, or what a workbook or Parquet file says.
type TextFormat struct {
	// Encoding of text: utf-8 if empty, utf-16, latin1, windows-1252, ...
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
	// Delimiter separates cells of text: a comma if empty; \t is a tab.
	Delimiter string `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	// Escape is the character that makes text of a quote after it in a quoted cell of text, such as
	// \. Without it a quote is doubled.
	Escape string `yaml:"escape,omitempty" json:"escape,omitempty"`
	// FirstRow is the line or row, from 1, in which the names of the columns stand; with Header it
	// is the first record's. What stands above is skipped. The default is the first row that is not
	// empty.
	FirstRow int `yaml:"first_row,omitempty" json:"first_row,omitempty"`
	// LastRow is the line or row, from 1, of the last record. What stands below is left out:
	// totals, a footer, a second table. The default is the last one of the file.
	LastRow int `yaml:"last_row,omitempty" json:"last_row,omitempty"`
	// Header names the columns of a file without names. It may abbreviate: p0..p783.
	Header []string `yaml:"header,omitempty,flow" json:"header,omitempty"`
	// Comment begins rows to skip, or their first cell that is not empty: notes, lines of dashes, a
	// footer.
	Comment string `yaml:"comment,omitempty" json:"comment,omitempty"`
	// Sheet names a workbook's sheet; empty is the first that is not hidden.
	Sheet string `yaml:"sheet,omitempty" json:"sheet,omitempty"`
}

// WithDefaults fills w's empty fields from a format for text.
func (t TextFormat) WithDefaults(f dataset.Format) TextFormat {
	if t.Delimiter == "" && f.Delimiter != 0 {
		t.Delimiter = string(f.Delimiter)
	}
	t.Comment = cmp.Or(t.Comment, f.Comment)
	if t.Header == nil {
		t.Header = f.Columns
	}
	return t
}

// Validate checks each setting by itself and the rows against each other. Its error begins with the
// setting's name. Whether a file fits shows when it is opened.
func (t TextFormat) Validate() error {
	if t.Encoding != "" && canonicalEncoding(t.Encoding) != utf16Any &&
		encodingOf(t.Encoding) == nil {
		return fmt.Errorf("encoding: %q is none that is read: use one of %s", t.Encoding, strings.Join(encodingNames(), ", "))
	}
	if utf8.RuneCountInString(t.Delimiter) > 1 && t.Delimiter != `\t` {
		return fmt.Errorf("delimiter: %q is not one character, such as ; or \\t for a tab", t.Delimiter)
	}
	if len(t.Escape) > 1 {
		return fmt.Errorf("escape: %q is not one ASCII character, such as \\", t.Escape)
	}
	if t.LastRow != 0 && t.LastRow <= t.FirstRow {
		return fmt.Errorf("last_row: %d must be below first_row", t.LastRow)
	}
	names, err := dataset.ExpandNames(t.Header)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			return fmt.Errorf("header: the name %q, number %d, is empty or there twice: give each column a name of its own", name, i+1)
		}
	}
	return t.format().Validate()
}

func (t TextFormat) format() dataset.Format {
	f := dataset.Format{Comment: t.Comment, FirstRow: t.FirstRow}
	if t.Escape != "" {
		f.Escape = t.Escape[0]
	}
	if t.Delimiter == `\t` {
		f.Delimiter = '\t'
	} else if t.Delimiter != "" {
		f.Delimiter, _ = utf8.DecodeRuneInString(t.Delimiter)
	}
	if len(t.Header) > 0 {
		f.Columns, _ = dataset.ExpandNames(t.Header) // no error: Validate has checked the names
	}
	return f
}

// Names of encodings in a Format. With utf-16 in a configuration, the file's byte order mark
// decides.
const (
	utf8Text = "utf-8"
	utf16Any = "utf-16"
	utf16LE  = "utf-16le"
	utf16BE  = "utf-16be"
)

var encodings = map[string]encoding.Encoding{
	utf8Text:       encoding.Nop,
	utf16LE:        unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	utf16BE:        unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"latin1":       charmap.ISO8859_1,
	"latin2":       charmap.ISO8859_2,
	"latin9":       charmap.ISO8859_15,
	"windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251,
	"windows-1252": charmap.Windows1252,
	"cp850":        charmap.CodePage850,
	"mac":          charmap.Macintosh,
}

var otherNames = map[string]string{
	"utf8": utf8Text, "utf16": utf16Any, "utf16le": utf16LE, "utf16be": utf16BE,
	"latin-1": "latin1", "iso-8859-1": "latin1", "iso8859-1": "latin1",
	"latin-2": "latin2", "iso-8859-2": "latin2", "latin-9": "latin9", "iso-8859-15": "latin9",
	"cp1250": "windows-1250", "cp1251": "windows-1251", "cp1252": "windows-1252", "ansi": "windows-1252", "macintosh": "mac",
}

func canonicalEncoding(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if other, ok := otherNames[name]; ok {
		return other
	}
	return name
}

func encodingOf(name string) encoding.Encoding { return encodings[canonicalEncoding(name)] }

func encodingNames() []string {
	return append(slices.Sorted(maps.Keys(encodings)), utf16Any)
}

// decoded returns text as UTF-8. Bad characters become U+FFFD, except in UTF-8, where readers
// handle them.
func decoded(r io.Reader, name string) (io.Reader, error) {
	e := encodingOf(name)
	if e == nil {
		return nil, fmt.Errorf("encoding %q is none that is read: use one of %s", name,
			strings.Join(encodingNames(), ", "))
	}
	if e == encoding.Nop {
		return r, nil
	}
	return e.NewDecoder().Reader(r), nil
}
