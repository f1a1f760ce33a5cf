package mapping

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"caucus/dataset"
)

// Sample is a file for a draft: all of it was read and counted, and some of its rows are kept.
type Sample struct {
	// Lines counts as those of [dataset.CollectRows]. Its Table has the kept rows, in file order.
	dataset.CollectedRows
	// Records counts all records.
	Records int
}

// Limits of a sample: rows, and bytes with those of Go's strings and slices. Files below them are
// kept whole.
const (
	sampleRows  = 100_000
	sampleBytes = 256 << 20
	cellBytes   = 32
)

// ReadSample reads rows to their end, and keeps the first, the last, and as many of the others as
// the limits allow. Which ones hangs on their number alone, and is as if drawn: rows that alternate
// are kept alike. An error is about the file.
func ReadSample(rows dataset.Rows) (s Sample, err error) {
	fail := func(err error) (Sample, error) { return s, fmt.Errorf("read records: %w", err) }
	s.Columns = rows.Columns()
	noText := make([]int, len(s.Columns))
	var kept []drawn
	var last drawn
	level, bytes := 0, 0
	for {
		cells, ok, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(err)
		}
		if s.Records++; !ok {
			if s.Malformed++; s.Malformed == 1 {
				s.FirstMalformed = rows.Place()
			}
			cells = nil
		}
		last = drawn{place: s.Records, cells: append(last.cells[:0], cells...)}
		last.cells = slices.Grow(last.cells, len(s.Columns))[:len(s.Columns)]
		clear(last.cells[len(cells):])
		for i, cell := range last.cells {
			if !dataset.IsValidText(cell) {
				noText[i]++
				last.cells[i] = ""
			}
		}
		if !last.at(level) {
			continue
		}
		kept = append(kept, last.clone())
		for bytes += last.bytes(); len(kept) > sampleRows || bytes > sampleBytes && len(kept) > 1; {
			level++
			bytes = 0
			kept = slices.DeleteFunc(kept, func(d drawn) bool {
				if d.at(level) {
					bytes += d.bytes()
					return false
				}
				return true
			})
		}
	}
	if n := len(kept); n > 0 && kept[n-1].place < last.place {
		kept = append(kept, last)
	}
	table := make([][]string, len(kept))
	for i, d := range kept {
		table[i] = d.cells
	}
	s.Remarks = rows.Remarks()
	for i, n := range noText {
		if n > 0 {
			s.Remarks = append(s.Remarks,
				dataset.Remark{Column: s.Columns[i], Problem: dataset.ProblemNotText,
					Count: n})
		}
	}
	if s.Table, err = dataset.NewTable(s.Columns, table); err != nil {
		return fail(err)
	}
	return s, nil
}

// drawn is a row that may be kept.
type drawn struct {
	place int // among the records, from 1
	cells []string
}

func (d drawn) clone() drawn {
	d.cells = slices.Clone(d.cells)
	for i, cell := range d.cells {
		d.cells[i] = strings.Clone(cell)
	}
	return d
}

func (d drawn) bytes() int {
	n := cellBytes * (1 + len(d.cells))
	for _, cell := range d.cells {
		n += len(cell)
	}
	return n
}

// at reports whether a row is kept at a level, as is one of 2^level: its place, well mixed
// (SplitMix64; Steele, Lea and Flood 2014), has as many zeros at its end.
func (d drawn) at(level int) bool {
	z := uint64(d.place) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return d.place == 1 || bits.TrailingZeros64(z^z>>31) >= level
}
