package files

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// heldValues compares the values that were read of a column, in one row group, with the file's own
// statistics of them: a library that reads a page wrongly gives values that do not fit these.
//
// What is compared, and why no right file is refused (parquet-format, parquet.thrift, Statistics):
//   - The number of values is the row group's number of rows, one for each row, and that of nulls
//     is null_count. Writers that do not count nulls leave it out, which reads as 0: so 0 proves
//     nothing.
//   - Of whole numbers, floats and texts, every value lies between min_value and max_value, in the
//     order that the column's type defines: signed or unsigned, bytes of texts unsigned. Other
//     types (decimals in bytes, float16, INT96) are not compared; nor are min and max of old
//     writers, whose order is not known.
//   - Whole numbers and floats are never shortened, so their smallest value is min_value and their
//     largest max_value. Texts may be, to a smaller min_value and a larger max_value, and are only
//     compared as bounds.
//   - A NaN is in no order: it is not compared, and statistics with one are not used. -0 is 0.
type heldValues struct {
	kind        valueOrder
	says        format.ColumnMetaData
	values      int64
	nulls       int64
	seen        bool
	low, high   float64 // of floats
	first, last uint64  // of whole numbers, in unsigned order
	least, most []byte  // of texts
}

// valueOrder is how the values of a column are compared.
type valueOrder int

const (
	unordered valueOrder = iota
	signedOrder
	unsignedOrder
	floatOrder
	byteOrder
)

// orderOf returns the order that a column's type defines, and unordered for types that are not
// compared.
func orderOf(e format.SchemaElement) valueOrder {
	logical, converted := e.LogicalType.Value, e.ConvertedType
	switch e.Type.V {
	case format.Int32, format.Int64:
		if l, ok := logical.(*format.IntType); ok && !l.IsSigned {
			return unsignedOrder
		}
		if converted.Valid && converted.V >= deprecated.Uint8 && converted.V <= deprecated.Uint64 {
			return unsignedOrder
		}
		return signedOrder
	case format.Float, format.Double:
		return floatOrder
	case format.ByteArray:
		_, text := logical.(*format.StringType)
		if text || converted.Valid && converted.V == deprecated.UTF8 {
			return byteOrder
		}
	}
	return unordered
}

func (h *heldValues) begin(says format.ColumnMetaData) {
	*h = heldValues{kind: h.kind, says: says, least: h.least[:0], most: h.most[:0]}
}

func (h *heldValues) add(v *parquet.Value) {
	h.values++
	if v.IsNull() {
		h.nulls++
		return
	}
	switch h.kind {
	case signedOrder, unsignedOrder:
		n := h.whole(v)
		if !h.seen || n < h.first {
			h.first = n
		}
		if !h.seen || n > h.last {
			h.last = n
		}
	case floatOrder:
		var f float64
		if v.Kind() == parquet.Double {
			f = v.Double()
		} else {
			f = float64(v.Float())
		}
		if !h.seen || !(f >= h.low) && !math.IsNaN(h.low) { // also NaN, which stays
			h.low = f
		}
		if !h.seen || f > h.high {
			h.high = f
		}
	case byteOrder:
		b := v.ByteArray()
		if !h.seen || bytes.Compare(b, h.least) < 0 {
			h.least = append(h.least[:0], b...)
		}
		if !h.seen || bytes.Compare(b, h.most) > 0 {
			h.most = append(h.most[:0], b...)
		}
	default:
		return
	}
	h.seen = true
}

// whole maps a whole number to one whose unsigned order is the column's.
func (h *heldValues) whole(v *parquet.Value) uint64 {
	if h.kind == unsignedOrder {
		if v.Kind() == parquet.Int32 {
			return uint64(v.Uint32())
		}
		return v.Uint64()
	}
	n := v.Int64()
	if v.Kind() == parquet.Int32 {
		n = int64(v.Int32())
	}
	return uint64(n) ^ 1<<63
}

// contradicts names the statistics that the values contradict, "" if none.
func (h *heldValues) contradicts() string {
	s := h.says.Statistics
	switch {
	case h.values != h.says.NumValues:
		return "numbers of values"
	case s.NullCount > 0 && s.NullCount != h.nulls:
		return "numbers of nulls"
	case h.seen && s.MinValue != nil && s.MaxValue != nil && !h.between(s.MinValue, s.MaxValue):
		return "smallest and largest values"
	}
	return ""
}

func (h *heldValues) between(least, most []byte) bool {
	switch h.kind {
	case floatOrder:
		low, high := floatOf(least), floatOf(most)
		return math.IsNaN(low) || math.IsNaN(high) || math.IsNaN(h.low) || low == h.low &&
			high == h.high
	case byteOrder:
		return bytes.Compare(least, h.least) <= 0 && bytes.Compare(h.most, most) <= 0
	}
	low, ok := h.wholeOf(least)
	high, too := h.wholeOf(most)
	return !ok || !too || low == h.first && high == h.last
}

// floatOf returns a float of statistics, NaN if it is none.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return math.NaN()
}

func (h *heldValues) wholeOf(b []byte) (uint64, bool) {
	switch {
	case len(b) == 4:
		v := parquet.Int32Value(int32(binary.LittleEndian.Uint32(b)))
		return h.whole(&v), true
	case len(b) == 8:
		v := parquet.Int64Value(int64(binary.LittleEndian.Uint64(b)))
		return h.whole(&v), true
	}
	return 0, false
}
