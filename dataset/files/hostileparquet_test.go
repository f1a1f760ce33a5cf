package files

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// rawPage is a page as stored in a file. Sizes of 0 in Header stand for the sizes of the bytes.
type rawPage struct {
	header format.PageHeader
	bytes  []byte
}

// page1 is a data page (version 1) of required values.
func page1(encoding format.Encoding, values int32, plain int, b []byte) rawPage {
	return rawPage{format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(plain),
		DataPageHeader: thrift.Null[format.DataPageHeader]{Valid: true, V: format.DataPageHeader{
			NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE,
		}},
	}, b}
}

// dictionaryOf is a dictionary of one text.
func dictionaryOf(text string) rawPage {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	return rawPage{format.PageHeader{
		Type: format.DictionaryPage,
		DictionaryPageHeader: thrift.Null[format.DictionaryPageHeader]{Valid: true,
			V: format.DictionaryPageHeader{NumValues: 1}},
	}, b}
}

func marshalled(t testing.TB, v any) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func withFooter(body, footer []byte) []byte {
	out := append(append([]byte("PAR1"), body...), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...)
}

// rawParquet writes a file of one column. repetition is that of its element.
func rawParquet(t testing.TB, kind format.Type, repetition format.FieldRepetitionType,
	codec format.CompressionCodec, rows int64, all ...rawPage) []byte {
	t.Helper()
	var body []byte
	var dictionary int64
	data := int64(4)
	for _, p := range all {
		p.header.CompressedPageSize = int32(len(p.bytes))
		if p.header.UncompressedPageSize == 0 {
			p.header.UncompressedPageSize = int32(len(p.bytes))
		}
		if p.header.Type == format.DictionaryPage {
			dictionary = 4 + int64(len(body))
		} else if len(body) > 0 && dictionary > 0 && data == 4 {
			data = 4 + int64(len(body))
		}
		body = append(append(body, marshalled(t, &p.header)...), p.bytes...)
	}
	one := format.SchemaElement{Name: "a", Type: thrift.Null[format.Type]{V: kind, Valid: true},
		RepetitionType: thrift.Null[format.FieldRepetitionType]{V: repetition, Valid: true}}
	schema := []format.SchemaElement{{Name: "m",
		NumChildren: thrift.Null[int32]{V: 1, Valid: true}}, one}
	footer := marshalled(t, &format.FileMetaData{Version: 1, NumRows: rows, Schema: schema,
		RowGroups: []format.RowGroup{{NumRows: rows, TotalByteSize: int64(len(body)),
			Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{Type: kind, Codec: codec,
				PathInSchema: []string{"a"}, NumValues: rows, TotalCompressedSize: int64(len(body)),
				TotalUncompressedSize: int64(len(body)), DataPageOffset: data,
				DictionaryPageOffset: dictionary, Encoding: []format.Encoding{format.Plain}}}}}}})
	return withFooter(body, footer)
}

// varints writes numbers as unsigned varints.
func varints(all ...uint64) (b []byte) {
	for _, u := range all {
		b = binary.AppendUvarint(b, u)
	}
	return b
}

func hostileParquets(t testing.TB) []hostile {
	const much, damaged = "becomes more than 5 MiB", "damaged"
	const many = math.MaxInt32
	int64s := func(codec format.CompressionCodec, p ...rawPage) []byte {
		return rawParquet(t, format.Int64, format.Required, codec, 100, p...)
	}
	texts := func(codec format.CompressionCodec, p ...rawPage) []byte {
		return rawParquet(t, format.ByteArray, format.Required, codec, 100, p...)
	}
	// A list's head in Thrift: of type struct, with its length behind.
	list := append([]byte{0x19, 0xfc}, varints(many)...)
	var wide, deep []format.SchemaElement
	leaf := format.SchemaElement{Name: "a",
		Type: thrift.Null[format.Type]{V: format.Int64, Valid: true}}
	wide = append(wide, format.SchemaElement{Name: "m",
		NumChildren: thrift.Null[int32]{V: 50_000, Valid: true}})
	for range 50_000 {
		wide = append(wide, leaf)
	}
	for range 2000 {
		deep = append(deep, format.SchemaElement{Name: "g",
			NumChildren: thrift.Null[int32]{V: 1, Valid: true}})
	}
	deep = append(deep, leaf)
	of := func(schema []format.SchemaElement) []byte {
		return withFooter(nil, marshalled(t, &format.FileMetaData{Version: 1, Schema: schema,
			RowGroups: []format.RowGroup{}}))
	}
	zeros := make([]byte, 16<<20)
	packed := func(codec format.CompressionCodec) rawPage {
		b, err := parquet.LookupCompressionCodec(codec).Encode(nil, zeros)
		if err != nil {
			t.Fatal(err)
		}
		return page1(format.Plain, 100, 800, b)
	}
	// A length of snappy that no bytes follow.
	lying := page1(format.Plain, 100, 800, varints(math.MaxUint32))
	run := append([]byte{1}, varints(many<<1)...) // of width 1
	run = append(run, 0)
	levels := append(binary.LittleEndian.AppendUint32(nil, 6), append(varints(many<<1), 1)...)
	prefixes := append(varints(128, 1, 100, 0, 0), 0)
	text := strings.Repeat("x", 1<<20)
	// Each of 100 texts begins with 1 MiB of the one before, and ends with nothing.
	grown := append(varints(128, 1, 100, 2<<20, 0), 0)
	grown = append(append(grown, varints(128, 1, 100, 0, 0)...), 0)
	nested := []byte{0x1c}
	for range 1 << 20 {
		nested = append(nested, 0x1c)
	}
	snap := page1(format.Plain, 100, 800, snappy.Encode(nil, make([]byte, 800)))
	return []hostile{
		{"a footer's list without elements", withFooter(nil, list), damaged},
		{"a footer's text without bytes", withFooter(nil, append([]byte{0x18}, varints(many)...)), damaged},
		{"a footer of structures", withFooter(nil, nested), damaged},
		{"columns", of(wide), much},
		{"columns in columns", of(deep), damaged},
		{"a page's header of two gigabytes", int64s(format.Uncompressed,
			page1(format.Plain, 100, many, make([]byte, 800))), much},
		{"a page of many values", int64s(format.Uncompressed,
			page1(format.Plain, many, 0, make([]byte, 800))), much},
		{"a run of many indices", texts(format.Uncompressed, dictionaryOf("x"),
			page1(format.RLEDictionary, 100, 0, run)), damaged},
		{"a run of many levels",
			rawParquet(t, format.Int64, format.Optional, format.Uncompressed, 100,
				page1(format.Plain, 100, 0, append(levels, make([]byte, 800)...))), damaged},
		{"a run of many booleans",
			rawParquet(t, format.Boolean, format.Required, format.Uncompressed,
				100, page1(format.RLE, 100, 0, levels)), damaged},
		{"many deltas", int64s(format.Uncompressed,
			page1(format.DeltaBinaryPacked, 100, 0, varints(128, 1, many, 0))), damaged},
		{"many delta lengths", texts(format.Uncompressed,
			page1(format.DeltaLengthByteArray, 100, 0, varints(128, 1, many, 0))), damaged},
		{"texts that begin as the one before", texts(format.Uncompressed,
			page1(format.DeltaByteArray, 100, 0, grown)), much},
		{"lengths that are cut", texts(format.Uncompressed,
			page1(format.DeltaByteArray, 100, 0, prefixes)), damaged},
		{"snappy's length", int64s(format.Snappy, lying), damaged},
		{"snappy", int64s(format.Snappy, packed(format.Snappy)), damaged},
		{"zstd", int64s(format.Zstd, packed(format.Zstd)), damaged},
		{"gzip", int64s(format.Gzip, packed(format.Gzip)), damaged},
		{"brotli", int64s(format.Brotli, packed(format.Brotli)), damaged},
		{"one long text of many rows", rawParquet(t, format.ByteArray, format.Required,
			format.Uncompressed, 1000, dictionaryOf(text),
			page1(format.RLEDictionary, 1000, 0,
				append([]byte{1}, append(varints(2000), 0)...))), much},
		{"a list of many values",
			rawParquet(t, format.Int64, format.Repeated, format.Uncompressed, 1,
				page1(format.Plain, 400_000, 0,
					bytes.Repeat([]byte{0}, 3200_000))), "a list or map"},
		{"as it should be", int64s(format.Snappy, snap), ""},
	}
}
