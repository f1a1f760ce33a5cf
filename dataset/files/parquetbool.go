package files

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

var errDamaged = errors.New("the Parquet file is damaged: write it anew")

// boolRuns are the values of a column of booleans in one row group, of which a page is written in
// run lengths (parquet-format, Encodings.md, RLE). The library takes such a run's value, 0 or 1,
// for eight values, so that of eight trues one is left. As levels it reads the same coding rightly.
type boolRuns struct {
	levels int // the column's largest definition level, which a value has
	values []byte
}

// begin reads a row group's values, none if none of its pages has run lengths: then the library is
// right.
func (b *boolRuns) begin(r io.ReaderAt, c format.ColumnMetaData, hasRuns bool) error {
	if b.values = nil; !hasRuns {
		return nil
	}
	return eachPage(r, c, func(page format.PageHeader, data []byte) error {
		return b.add(page, data, c.Codec)
	})
}

// add adds a page's values, without the nulls.
func (b *boolRuns) add(page format.PageHeader, data []byte, c format.CompressionCodec) (err error) {
	codec := parquet.LookupCompressionCodec(c)
	coding := page.DataPageHeader.V.Encoding
	count := int(page.DataPageHeader.V.NumValues)
	if two := page.DataPageHeaderV2; two.Valid { // levels stand before, and are not packed
		coding, count = two.V.Encoding, int(two.V.NumValues-two.V.NumNulls)
		data = data[two.V.RepetitionLevelsByteLength+two.V.DefinitionLevelsByteLength:]
		if (two.V.IsCompressed.V || !two.V.IsCompressed.Valid) && len(data) > 0 {
			data, err = codec.Decode(nil, data)
		}
	} else if data, err = codec.Decode(nil, data); err == nil && b.levels > 0 {
		var levels []byte
		levels, data, err = runsOf(data, bits.Len(uint(b.levels)))
		all := levels[:count]
		count = 0
		for _, level := range all {
			if int(level) == b.levels {
				count++
			}
		}
	}
	if err != nil {
		return err
	}
	if coding == format.RLE {
		values, _, err := runsOf(data, 1)
		b.values = append(b.values, values[:count]...)
		return err
	}
	for i := range count {
		b.values = append(b.values, data[i/8]>>(i%8)&1)
	}
	return nil
}

// runsOf reads numbers of some bits from runs, before which their length in bytes stands.
func runsOf(data []byte, width int) (numbers, rest []byte, err error) {
	end := 4 + int(binary.LittleEndian.Uint32(data))
	numbers, err = (&rle.Encoding{BitWidth: width}).DecodeLevels(nil, data[4:end])
	return numbers, data[end:], err
}

// text returns the next value, in place of the one that the library has read.
func (b *boolRuns) text(v parquet.Value) string {
	if b.values == nil {
		return plainText(v)
	}
	value := b.values[0]
	b.values = b.values[1:]
	return strconv.FormatBool(value == 1)
}

// eachPage passes each data page of a column without a dictionary to do, as the file has it. A
// damaged page is an error or panics.
func eachPage(r io.ReaderAt, c format.ColumnMetaData,
	do func(format.PageHeader, []byte) error) error {
	in := bufio.NewReader(io.NewSectionReader(r, c.DataPageOffset, c.TotalCompressedSize))
	var compact thrift.CompactProtocol
	headers := thrift.NewDecoder(compact.NewReader(in))
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		var page format.PageHeader
		if headers.Decode(&page) != nil || int64(page.CompressedPageSize) > c.TotalCompressedSize {
			return errDamaged
		}
		data := make([]byte, page.CompressedPageSize)
		if _, err := io.ReadFull(in, data); err != nil {
			return errDamaged
		}
		if err := do(page, data); err != nil {
			return errDamaged
		}
	}
}
