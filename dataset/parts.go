package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadInParts reads a file part by part, so that memory does not grow with the file. It calls use
// for each part, with the part's records as [Schema.Encode] encodes them, but without patients and
// parties, and with the texts of the file's columns in keep, one list a column. Both are valid
// until use returns. An error comes from use, or is about the file or its columns. A malformed
// record is a row of empty cells.
func (s Schema) ReadInParts(rows Rows, keep []string,
	use func(r *Records, kept [][]string) error) ([]Remark, error) {
	names := rows.Columns()
	empty, err := NewTable(names, nil)
	if err == nil {
		_, _, err = s.Encode(empty)
	}
	if err != nil {
		return nil, err
	}
	s.Patient, s.PatientDate, s.Party = "", "", ""
	c := s.Coding()
	coder, err := c.Coder(names, nil)
	if err != nil {
		return nil, err
	}
	var places []int
	for _, name := range keep {
		places = append(places, slices.Index(names, name))
	}
	var b CodedBlock
	kept, record := make([][]string, len(keep)), make([]byte, c.Width())
	pass := func(n int) error { // calls use with the first n rows
		part := slices.Clone(kept)
		for i := range kept {
			part[i], kept[i] = kept[i][:n], kept[i][n:]
		}
		err := use(c.Records(s, nil, c.Slice(b, 0, n)), part)
		rest := CodedBlock{Rows: b.Rows - n}
		for i, p := range c.parts {
			rest.Columns = append(rest.Columns,
				append(b.Columns[i][:0], b.Columns[i][n*p.width:]...))
		}
		b = rest
		return err
	}
	for {
		cells, ok, err := rows.Next()
		if errors.Is(err, io.EOF) {
			if err = nil; b.Rows > 0 {
				err = pass(b.Rows)
			}
			return slices.Concat(rows.Remarks(), coder.Remarks()), err
		}
		if err != nil {
			return nil, fmt.Errorf("read records: %w", err)
		}
		if !ok {
			cells = make([]string, len(names))
		}
		coder.Code(cells, record)
		c.Append(&b, record)
		for i, at := range places {
			text := cells[at]
			if !IsValidText(text) {
				text = ""
			}
			kept[i] = append(kept[i], strings.Clone(text))
		}
		if b.Rows == 2*partRows {
			if err := pass(partRows); err != nil {
				return nil, err
			}
		}
	}
}
