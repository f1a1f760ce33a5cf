package export

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field and type numbers of ONNX's messages (onnx.proto3, IR version 8).
const (
	onnxDouble, onnxString, onnxInt64, onnxBool = 11, 8, 7, 9

	attributeInt, attributeStrings, attributeInts = 2, 8, 7
)

type message []byte

func (m *message) number(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }

type attribute struct {
	name string
	int  *int64
	ints []int64
	text []string
}

func intOf(name string, v int64) attribute { return attribute{name: name, int: &v} }

func (a attribute) encode() []byte {
	var m message
	m.text(1, a.name)
	switch {
	case a.int != nil:
		m.number(3, *a.int)
		m.number(20, attributeInt)
	case a.text != nil:
		for _, s := range a.text {
			m.text(9, s)
		}
		m.number(20, attributeStrings)
	default:
		for _, v := range a.ints {
			m.number(8, v)
		}
		m.number(20, attributeInts)
	}
	return m
}

func node(op, domain string, in, out []string, attributes ...attribute) []byte {
	var m message
	for _, s := range in {
		m.text(1, s)
	}
	for _, s := range out {
		m.text(2, s)
	}
	m.text(3, out[0])
	m.text(4, op)
	for _, a := range attributes {
		m.bytes(5, a.encode())
	}
	if domain != "" {
		m.text(7, domain)
	}
	return m
}

func tensor(name string, dataType int64, dims []int) (m message) {
	for _, d := range dims {
		m.number(1, int64(d))
	}
	m.number(2, dataType)
	m.text(8, name)
	return m
}

func doubles(name string, values []float64, dims ...int) []byte {
	m := tensor(name, onnxDouble, dims)
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	m.bytes(9, raw)
	return m
}

func bools(name string, values []bool, dims ...int) []byte {
	m := tensor(name, onnxBool, dims)
	raw := make([]byte, len(values))
	for i, v := range values {
		if v {
			raw[i] = 1
		}
	}
	m.bytes(9, raw)
	return m
}

func texts(name string, values []string) []byte {
	m := tensor(name, onnxString, []int{len(values)})
	for _, s := range values {
		m.text(6, s)
	}
	return m
}

func int64s(name string, values []int64) []byte {
	m := tensor(name, onnxInt64, []int{len(values)})
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	m.bytes(9, raw)
	return m
}

// value returns a ValueInfoProto of a matrix of rows × columns. For 0 columns it is a vector, one
// element a row.
func value(name string, dataType int64, columns int) []byte {
	var rows, shape, tensorType, valueType, m message
	rows.text(2, "rows") // the name of a dimension
	shape.bytes(1, rows)
	if columns > 0 {
		var dim message
		dim.number(1, int64(columns))
		shape.bytes(1, dim)
	}
	tensorType.number(1, dataType)
	tensorType.bytes(2, shape)
	valueType.bytes(1, tensorType)
	m.text(1, name)
	m.bytes(2, valueType)
	return m
}
