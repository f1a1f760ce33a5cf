package input

import (
	"errors"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
)

// ReadDetecting reads a file as an import does. Where m leaves them open, it tries common
// encodings, and looks for the table: its delimiter, sheet, and first row, its escape, and rows
// that are no records.
func ReadDetecting(c *console.Console, name string, m *mapping.Mapping,
	wanted []string) (lines mapping.Sample, typed []string, err error) {
	open := func() (*RecordFile, error) {
		in, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return OpenRecords(in, *m, files.OpenForPerson)
	}
	file, err := open()
	var other *files.EncodingError
	if errors.As(err, &other) {
		m.Encoding = other.LikelyEncoding
		c.Note("look at: the file is read as %s: check its letters", m.Encoding)
		file, err = open()
	}
	if err != nil {
		return lines, typed, err
	}
	defer file.Close()
	var notes []string
	if m.TextFormat, notes, err = files.ProposeTextFormat(file.in, file.size, file.form,
		m.TextFormat,
		wanted); err != nil {
		return lines, typed, err
	}
	for _, note := range notes {
		c.Note("look at: %s", note)
	}
	read := func(w files.TextFormat) (lines mapping.Sample, err error) {
		file.m.TextFormat = w
		if file.form, err = files.Detect(file.in, file.size, w); err != nil {
			return lines, err
		}
		rows, err := file.Rows()
		if err == nil {
			watched := mapping.WatchNumbers(rows)
			lines, err = mapping.ReadSample(watched)
			typed = watched.NumberColumns()
		}
		return lines, err
	}
	if lines, err = read(m.TextFormat); err != nil {
		return lines, typed, err
	}
	if m.Encoding == "" && seemsWindows(lines) {
		m.Encoding = "windows-1252"
		c.Note("look at: some cells are not UTF-8, so the file is read as %s: check its letters", m.Encoding)
		return ReadDetecting(c, name, m, wanted)
	}
	if escaped := m.TextFormat; slices.ContainsFunc(lines.Remarks,
		func(r dataset.Remark) bool { return r.Problem == dataset.ProblemBackslash }) {
		escaped.Escape = `\`
		if other, err := read(escaped); err == nil && other.Malformed < lines.Malformed {
			c.Note("look at: %d records have a backslash before a quote, so the draft says "+
				"escape: \\", lines.Malformed-other.Malformed)
			m.TextFormat, lines = escaped, other
		}
	}
	comment, row := files.ProposeComment(lines.Table)
	if comment == "" && row != "" {
		c.Note("look at: the row below the names is taken for units, and no comment skips it alone: "+
			"remove it, or list the names under header and write first_row, the first record's: %s",
			row)
	} else if comment != "" && m.Comment == "" {
		m.Comment = comment
		c.Note("look at: %q is taken for no record, so the draft skips rows that begin with %q "+
			"(comment)", row, comment)
		lines, err = read(m.TextFormat)
	}
	at := slices.IndexFunc(lines.Remarks,
		func(r dataset.Remark) bool { return r.Problem == files.ProblemFooter })
	if err == nil && at >= 0 && m.LastRow == 0 {
		footer := lines.Remarks[at]
		if m.LastRow = footer.First - 1; strings.Trim(m.Comment, "-=+") != "" {
			m.Comment = "" // of a line of the footer
		}
		c.Note("look at: the last rows (%d, the first in line %d) lack cells that the rows before "+
			"have, so the draft leaves them out (last_row): take last_row out if they are records",
			footer.Count, footer.First)
		lines, err = read(m.TextFormat)
	}
	return lines, typed, err
}

// seemsWindows reports whether a file read as UTF-8 has letters of another encoding, and of UTF-8
// only ASCII.
func seemsWindows(lines mapping.Sample) bool {
	const few = 10 // up to this number of odd cells may be damage
	odd := 0
	for _, r := range lines.Remarks {
		if r.Problem == dataset.ProblemNotText {
			odd += r.Count
		}
	}
	if odd < few {
		return false
	}
	for _, name := range lines.Table.Columns() {
		for text := range lines.Table.Distinct(name) {
			if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
				return false
			}
		}
	}
	return true
}
