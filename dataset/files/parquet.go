package files

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"caucus/dataset"
)

// maxParquet bounds a row group's declared unpacked bytes. Usual writers make 128 MiB to 1 GiB.
const maxParquet = 8 << 30

// parquetRows are the rows of the columns with one value per row. Lists and maps are left out.
type parquetRows struct {
	names  []string
	text   []func(parquet.Value) string // for each leaf; nil for a column that is left out
	at     []int                        // for each leaf, its position in names
	groups []parquet.RowGroup
	rows   parquet.Rows
	buffer []parquet.Row
	ready  []parquet.Row
	place  int
	cells  []string
}

var errDamaged = errors.New("the Parquet file is damaged: write it anew")

// guarded turns a panic of the library on damaged bytes into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if recover() != nil { // the panic's text could quote a record
			err = errDamaged
		}
	}()
	return do()
}

func openParquet(r io.ReaderAt, size int64) (dataset.Rows, error) {
	p := &parquetRows{buffer: make([]parquet.Row, 64)}
	err := guarded(func() error {
		if err := checkFooter(r, size); err != nil {
			return err
		}
		file, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
		if err != nil {
			return err
		}
		for _, g := range file.Metadata().RowGroups {
			if g.TotalByteSize < 0 || g.TotalByteSize > maxParquet {
				return fmt.Errorf("a row group unpacks to more than %d GiB: write it anew in smaller ones", int64(maxParquet)>>30)
			}
		}
		p.groups = file.RowGroups()
		for _, path := range file.Schema().Columns() {
			leaf, _ := file.Schema().Lookup(path...)
			if leaf.MaxRepetitionLevel > 0 {
				p.text, p.at = append(p.text, nil), append(p.at, -1)
				continue
			}
			p.text, p.at = append(p.text, textOf(leaf.Node.Type())), append(p.at, len(p.names))
			p.names = append(p.names, strings.Join(path, "."))
		}
		if len(p.names) == 0 {
			return errors.New("it has no column with one value a row")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open Parquet: %w", err)
	}
	p.cells = make([]string, len(p.names))
	return p, nil
}

// checkFooter checks the footer's length, which the library allocates, against the file's size.
func checkFooter(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return errDamaged
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail[4:]) != "PAR1" || int64(binary.LittleEndian.Uint32(tail[:])) > min(size-12, small) {
		return errDamaged
	}
	return nil
}

func (p *parquetRows) Columns() []string { return p.names }
func (p *parquetRows) Place() int        { return p.place }

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
		clear(p.cells)
		for _, v := range row {
			if i := v.Column(); i >= 0 && i < len(p.at) && p.at[i] >= 0 && !v.IsNull() {
				p.cells[p.at[i]] = strings.TrimSpace(p.text[i](v))
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return p.cells, true, nil
}

func (p *parquetRows) fill() error {
	for {
		if p.rows == nil {
			if len(p.groups) == 0 {
				return io.EOF
			}
			p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
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
	}
}

func textOf(t parquet.Type) func(parquet.Value) string {
	if logical := t.LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.DateType:
			return func(v parquet.Value) string { return dataset.DayText(int64(v.Int32())) }
		case *format.TimestampType:
			unit, zone := unitOf(l.Unit), zoneOf(l.IsAdjustedToUTC)
			return func(v parquet.Value) string { return dataset.MomentText(v.Int64(), unit, zone) }
		case *format.TimeType:
			unit, zone := unitOf(l.Unit), zoneOf(l.IsAdjustedToUTC)
			return func(v parquet.Value) string { return timeText(v, unit, zone) }
		case *format.DecimalType:
			scale := int(l.Scale)
			return func(v parquet.Value) string { return decimalText(v, scale) }
		case *format.IntType:
			if !l.IsSigned {
				return unsignedText
			}
		case *format.UUIDType:
			return func(v parquet.Value) string { return hex.EncodeToString(v.ByteArray()) }
		}
	}
	if c := t.ConvertedType(); c != nil && *c == deprecated.Date {
		return func(v parquet.Value) string { return dataset.DayText(int64(v.Int32())) }
	}
	return plainText
}

func unsignedText(v parquet.Value) string {
	if v.Kind() == parquet.Int32 {
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}

// unitOf returns the units per second of a timestamp.
func unitOf(u format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	}
	return 1e9
}

func plainText(v parquet.Value) string {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float:
		return dataset.NumberText(float64(v.Float()), 32)
	case parquet.Double:
		return dataset.NumberText(v.Double(), 64)
	case parquet.Int96: // nanoseconds of a day and a Julian day: timestamps of Spark and Impala
		n := v.Int96()
		rest := int64(uint64(n[1])<<32 | uint64(n[0]))
		if rest < 0 || rest >= 86400e9 {
			return ""
		}
		return dataset.DayMomentText(int64(n[2])-2440588, rest, 1e9, "")
	}
	return string(v.ByteArray())
}

func zoneOf(utc bool) string {
	if utc {
		return "Z"
	}
	return ""
}

// timeText writes a time of day counted in 1/unit seconds; "" if there is no such time.
func timeText(v parquet.Value, unit int64, zone string) string {
	t := v.Int64()
	if v.Kind() == parquet.Int32 {
		t = int64(v.Int32())
	}
	if t < 0 || t >= 86400*unit {
		return ""
	}
	return dataset.ClockText(t, unit) + zone
}

// decimalText writes a whole number with a point scale digits from its end.
func decimalText(v parquet.Value, scale int) string {
	var n big.Int
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // two's complement, big-endian
		b := v.ByteArray()
		if len(b) > 64 { // 32 bytes hold the digits of any decimal
			return ""
		}
		n.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if scale <= 0 || scale > 100 {
		return n.String()
	}
	digits := new(big.Int).Abs(&n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	text := digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}
