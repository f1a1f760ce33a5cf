package files

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"caucus/dataset"
)

// maxParquet bounds a row group's declared unpacked bytes. Usual writers make 128 MiB to 1 GiB.
const maxParquet = 8 << 30

// parquetRows are the rows of the columns with one value per row. Lists, maps and columns of types
// that are no text of one cell are left out, and named.
type parquetRows struct {
	file   io.ReaderAt
	pages  pages
	holds  budget // memory
	names  []string
	number []bool // of each name: its type is no text
	leaves []leaf
	told   []dataset.Remark // columns that are left out, or read in a way of their own
	groups []parquet.RowGroup
	meta   []format.RowGroup
	rows   parquet.Rows
	buffer []parquet.Row
	ready  []parquet.Row
	group  int // number of the row group, from 1
	read   int64
	place  int
	cells  []string
}

// leaf is a column with values of its own.
type leaf struct {
	at   int // its position among the names; -1 if it is left out
	most levels
	text func(parquet.Value) string
	held heldValues
	runs *boolRuns         // of booleans
	seen map[string]string // texts of this row group, which were compared; nil if there are many
}

// maxSeen is the most texts that seen remembers, and the most bytes of a text that it remembers.
const maxSeen = 64

// read returns a value's text, and compares each value with the file's statistics of it, but a text
// that stands again and again only once.
func (l *leaf) read(v *parquet.Value) string {
	if v.IsNull() {
		l.held.add(v)
		return ""
	}
	if l.held.kind != byteOrder {
		l.held.add(v)
		return l.text(*v)
	}
	b := v.ByteArray()
	if text, again := l.seen[string(b)]; again {
		l.held.values++
		return text
	}
	l.held.add(v)
	text := l.text(*v)
	if l.seen != nil && len(b) <= maxSeen {
		if l.seen[string(b)] = text; len(l.seen) > maxSeen {
			l.seen = nil
		}
	}
	return text
}

func openParquet(r io.ReaderAt, size int64, most budget) (dataset.Rows, error) {
	p := &parquetRows{file: r, pages: pages{r: r, most: most.most}, holds: most,
		buffer: make([]parquet.Row, 64)}
	err := guarded(func() error {
		if err := checkFooter(r, size, most); err != nil {
			return err
		}
		file, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true),
			parquet.SkipPageIndex(true))
		if err != nil {
			return err
		}
		p.groups, p.meta = file.RowGroups(), file.Metadata().RowGroups
		if err := p.checkGroups(); err != nil {
			return err
		}
		if err := p.columns(file); err != nil {
			return err
		}
		if len(p.names) == 0 {
			var left []string
			for _, r := range p.told {
				left = append(left, r.String())
			}
			return fmt.Errorf("it has no column with one text or number a row (%s): write each "+
				"into a column of its own", strings.Join(left, "; "))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open Parquet: %w", err)
	}
	p.names = dataset.UniqueNames(p.names)
	p.cells = make([]string, len(p.names))
	return p, nil
}

// checkFooter checks the footer's length, which the library allocates, against the file's size, and
// what the footer makes the library hold, also for columns in columns.
func checkFooter(r io.ReaderAt, size int64, most budget) error {
	var tail [8]byte
	if size < 12 {
		return errDamaged
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail[4:]) != "PAR1" ||
		int64(binary.LittleEndian.Uint32(tail[:])) > min(size-12, small) {
		return errDamaged
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	footer := thriftSize{bytes: make([]byte, length)}
	if _, err := r.ReadAt(footer.bytes, size-8-length); err != nil {
		return err
	}
	footer.skip(12, 0)
	if err := most.take(length + elementSize*footer.elements); err != nil {
		return err
	}
	var says format.FileMetaData
	if thrift.Unmarshal(new(thrift.CompactProtocol), footer.bytes[:footer.at], &says) != nil {
		return errDamaged
	}
	var left []int32 // elements that the groups around this one still have
	for _, e := range says.Schema {
		for len(left) > 0 && left[len(left)-1] == 0 {
			left = left[:len(left)-1]
		}
		if len(left) > 0 {
			left[len(left)-1]--
		}
		if n := e.NumChildren.V; n > 0 {
			left = append(left, n)
		}
		if len(left) > maxDepth {
			return errDamaged
		}
	}
	return nil
}

// checkGroups refuses row groups that are too large, or packed in a way that the library reads
// wrongly: it takes blocks of LZ4_RAW for the values of others (parquet-go issue 608).
func (p *parquetRows) checkGroups() error {
	for _, g := range p.meta {
		if g.TotalByteSize < 0 || g.TotalByteSize > maxParquet {
			return fmt.Errorf("a row group unpacks to more than %d GiB: write it anew in smaller "+
				"ones", int64(maxParquet)>>30)
		}
		for _, c := range g.Columns {
			switch codec := c.MetaData.Codec; codec {
			case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
			default:
				return fmt.Errorf("its column %s is packed with %s, which is not read: write it "+
					"anew, packed with zstd or snappy", strings.Join(c.MetaData.PathInSchema, "."),
					codec)
			}
		}
	}
	return nil
}

// columns finds the columns that are read, and how each value becomes text.
func (p *parquetRows) columns(file *parquet.File) error {
	arrow := arrowTypes(file.Metadata().KeyValueMetadata)
	elements := leafElements(file.Metadata().Schema)
	paths := file.Schema().Columns()
	if len(elements) != len(paths) {
		return errDamaged
	}
	for i, path := range paths {
		found, _ := file.Schema().Lookup(path...)
		name, l := strings.Join(path, "."), leaf{at: -1,
			most: levels{found.MaxRepetitionLevel, found.MaxDefinitionLevel}}
		var why string
		if found.MaxRepetitionLevel > 0 {
			name, why = path[0], "a list or map"
		} else if l.text, why = textOf(elements[i], arrow[name]); why == "" {
			l.at = len(p.names)
			p.names = append(p.names, name)
			p.number = append(p.number, hasPoint(elements[i]))
			l.held.kind = orderOf(elements[i])
			if elements[i].Type.V == format.Boolean {
				l.runs = &boolRuns{levels: found.MaxDefinitionLevel}
				l.text = l.runs.text
			}
			if arrow[name].spanPerDay > 0 {
				p.told = append(p.told, dataset.Remark{Column: name,
					Problem: dataset.ProblemSpanOfDays})
			}
			if elements[i].Type.V == format.Int96 && !arrow[name].moment {
				p.told = append(p.told, dataset.Remark{Column: name, Problem: noZone})
			}
		}
		left := dataset.Remark{Column: name, Problem: dataset.Problem(why + ", left out")}
		if why != "" && !slices.Contains(p.told, left) {
			p.told = append(p.told, left)
		}
		p.leaves = append(p.leaves, l)
	}
	return nil
}

// leafElements returns the elements of a schema, which is in depth-first order, that have values.
func leafElements(schema []format.SchemaElement) (leaves []format.SchemaElement) {
	for _, e := range schema {
		if e.Type.Valid {
			leaves = append(leaves, e)
		}
	}
	return leaves
}

// hasPoint reports whether values of a column become text with a decimal point, if they have one.
func hasPoint(e format.SchemaElement) bool {
	switch logicalType(e).(type) {
	case *format.DecimalType, *format.Float16Type:
		return true
	}
	return e.Type.V != format.ByteArray && e.Type.V != format.FixedLenByteArray
}

// IsNumber reports whether a column's cells are numbers, and not texts.
func (p *parquetRows) IsNumber(column int) bool  { return p.number[column] }
func (p *parquetRows) Columns() []string         { return p.names }
func (p *parquetRows) Place() int                { return p.place }
func (p *parquetRows) Remarks() []dataset.Remark { return slices.Clone(p.told) }

func (p *parquetRows) Next() (cells []string, ok bool, err error) {
	err = guarded(func() error {
		if len(p.ready) == 0 {
			if err := p.fill(); err != nil {
				return err
			}
		}
		row := p.ready[0]
		p.ready = p.ready[1:]
		p.place++
		p.read++
		clear(p.cells)
		for j := range row {
			v := &row[j]
			i := v.Column()
			if i < 0 || i >= len(p.leaves) || p.leaves[i].at < 0 {
				continue
			}
			l := &p.leaves[i]
			p.cells[l.at] = l.read(v)
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return p.cells, true, nil
}

// fill reads the next rows, from the next row group with rows if this one has ended.
func (p *parquetRows) fill() error {
	for {
		if p.rows == nil {
			// the library cannot seek in it
			for p.group < len(p.groups) && p.meta[p.group].NumRows == 0 {
				p.group++
			}
			if p.group == len(p.groups) {
				return io.EOF
			}
			p.rows = p.groups[p.group].Rows()
			if err := p.begin(); err != nil {
				return err
			}
		}
		n, err := p.rows.ReadRows(p.buffer)
		if p.ready = p.buffer[:n]; n > 0 {
			return nil
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := p.rows.Close(); err != nil {
			return err
		}
		p.rows = nil
		if err := p.agrees(); err != nil {
			return err
		}
	}
}

// begin starts a row group.
func (p *parquetRows) begin() error {
	holds := p.holds
	for i := range p.leaves {
		l, says := &p.leaves[i], p.meta[p.group].Columns[i].MetaData
		needs, err := p.pages.needs(says, l.most)
		if err = cmp.Or(err, holds.take(needs)); err != nil {
			return err
		}
		l.seen = map[string]string{}
		if l.held.begin(says); l.runs != nil {
			if err := l.runs.begin(p.file, says, p.pages.hasRuns); err != nil {
				return err
			}
		}
	}
	p.group++
	p.read = 0
	return nil
}

// agrees compares the row group that has ended with what the file says of it.
func (p *parquetRows) agrees() error {
	says := func(of, what string) error {
		return fmt.Errorf("the Parquet file contradicts itself: what is read of %s in row group "+
			"%d is not what the file's own %s say: write it anew, and tell who makes it", of,
			p.group, what)
	}
	if p.read != p.meta[p.group-1].NumRows {
		return says("its rows", "row counts")
	}
	for i := range p.leaves {
		if l := &p.leaves[i]; l.at >= 0 {
			if what := l.held.contradicts(); what != "" {
				return says("column "+p.names[l.at], what)
			}
		}
	}
	return nil
}
