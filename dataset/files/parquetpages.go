package files

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library allocates what a file says: a list of two billion elements in a footer of some bytes,
// a page of two gigabytes, a run of two billion values in six bytes. So each of these is read here
// first, and a file that says more than it holds, or than its budget, never reaches the library.
//
//   - A list or text in the footer, or in a page's header, has at most as many elements as bytes
//     follow (thriftSize), and the elements together take at most the budget.
//   - A page unpacks to at most the size in its header, and its runs hold about as many values as
//     the header says (pages.check).
//   - The pages that are open at once, one for each column with its dictionary, take at most the
//     budget (pages.needs).

// Bytes that the library holds, at most, for an element of a list, such as a column of a row group,
// and for a value of a page: its level, its index, its place in a text and in a dictionary.
const (
	elementSize = 1 << 10
	valueSize   = 16
	listSize    = 32 // a value of a list, while its row is read
)

// guarded turns a panic of the library on damaged bytes into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if recover() != nil { // the panic's text could quote a record
			err = errDamaged
		}
	}()
	return do()
}

// thriftSize reads a value of Thrift's compact protocol, and counts the elements of its lists.
type thriftSize struct {
	bytes    []byte
	at       int
	elements int64
}

func (t *thriftSize) uvarint() uint64 {
	u, n := binary.Uvarint(t.bytes[min(t.at, len(t.bytes)):])
	if n <= 0 {
		panic(errDamaged) // as the library does; guarded catches it
	}
	t.at += n
	return u
}

func (t *thriftSize) byte() byte {
	b := t.bytes[t.at]
	t.at++
	return b
}

// counted returns a number of things that take at least a byte each.
func (t *thriftSize) counted(n uint64) int {
	if n > uint64(len(t.bytes)-t.at) {
		panic(errDamaged)
	}
	return int(n)
}

// skip passes a value of a type (Thrift compact protocol, "Struct encoding").
func (t *thriftSize) skip(kind byte, depth int) {
	if depth > maxDepth {
		panic(errDamaged)
	}
	switch kind {
	case 1, 2: // a boolean field
	case 3:
		t.at++
	case 4, 5, 6:
		t.uvarint()
	case 7:
		t.at += 8
	case 8:
		t.at += t.counted(t.uvarint())
	case 9, 10:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.uvarint()
		}
		t.elements += int64(n)
		for range t.counted(n) {
			t.element(head&15, depth)
		}
	case 11:
		n := t.uvarint()
		if n == 0 {
			return
		}
		kinds := t.byte()
		t.elements += int64(n)
		for range t.counted(n) {
			t.element(kinds>>4, depth)
			t.element(kinds&15, depth)
		}
	case 12:
		for head := t.byte(); head != 0; head = t.byte() {
			if head>>4 == 0 {
				t.uvarint()
			}
			t.skip(head&15, depth+1)
		}
	default:
		panic(errDamaged)
	}
}

// element passes an element of a list, in which a boolean takes a byte.
func (t *thriftSize) element(kind byte, depth int) {
	if kind <= 2 {
		kind = 3
	}
	t.skip(kind, depth+1)
}

// pages looks at the pages of a Parquet file before the library reads them.
type pages struct {
	r             io.ReaderAt
	most          int64
	packed, plain []byte
	zstd          *zstd.Decoder
	hasRuns       bool // needs found a page whose values are run lengths
}

// levels are the largest levels of a column's values (parquet-format, "Nested Encoding").
type levels struct{ repetition, definition int }

// needs returns the bytes that the library holds at once to read a column of a row group. Broken
// pages panic or are an error.
func (p *pages) needs(c format.ColumnMetaData, most levels) (int64, error) {
	at := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		at = c.DictionaryPageOffset
	}
	p.hasRuns = false
	var dictionary, largest, all int64
	for end := at + c.TotalCompressedSize; at < end; {
		h, size, err := p.header(at, end)
		if err != nil {
			return 0, err
		}
		at += size
		packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
		values := int64(h.DataPageHeader.V.NumValues) + int64(h.DataPageHeaderV2.V.NumValues) +
			int64(h.DictionaryPageHeader.V.NumValues)
		if packed < 0 || packed > end-at || plain < 0 || values < 0 {
			return 0, errDamaged
		}
		holds := packed + plain + valueSize*values
		if holds > p.most {
			return 0, &tooMuch{p.most}
		}
		if h.Type == format.DictionaryPage {
			dictionary = max(dictionary, holds)
		}
		largest = max(largest, holds)
		all += values
		p.hasRuns = p.hasRuns || h.DataPageHeader.V.Encoding == format.RLE ||
			h.DataPageHeaderV2.V.Encoding == format.RLE
		p.packed = slices.Grow(p.packed[:0], int(packed))[:packed]
		if _, err := p.r.ReadAt(p.packed, at); err != nil {
			return 0, errDamaged
		}
		if err := p.check(h, c.Codec, most); err != nil {
			return 0, err
		}
		at += packed
	}
	switch {
	case most.repetition > 0: // one row may have them all
		largest += listSize * all
	case c.Type == format.Boolean: // boolRuns holds them
		largest += all
	}
	return dictionary + largest, nil
}

// header returns the page header at a place, and its size.
func (p *pages) header(at, end int64) (h format.PageHeader, size int64, err error) {
	for most := int64(256); ; most *= 16 {
		most = min(most, end-at)
		p.packed = slices.Grow(p.packed[:0], int(most))[:most]
		if _, err := p.r.ReadAt(p.packed, at); err != nil {
			return h, 0, errDamaged
		}
		t := thriftSize{bytes: p.packed}
		err = guarded(func() error { t.skip(12, 0); return nil })
		if err == nil && elementSize*t.elements > p.most {
			return h, 0, &tooMuch{p.most}
		}
		if err == nil {
			in := bytes.NewReader(p.packed[:t.at])
			err = thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(in)).Decode(&h)
			return h, int64(t.at), err
		}
		if most == end-at || most > small {
			return h, 0, errDamaged
		}
	}
}

// check unpacks the page in p.packed, and counts the values of its runs.
func (p *pages) check(h format.PageHeader, codec format.CompressionCodec, of levels) error {
	packed, most := p.packed, int(h.UncompressedPageSize)
	switch h.Type {
	case format.DictionaryPage:
		_, err := p.unpack(codec, packed, most)
		return err
	case format.DataPage:
		plain, err := p.unpack(codec, packed, most)
		if err != nil {
			return err
		}
		v1 := h.DataPageHeader.V
		for _, level := range []struct {
			most     int
			encoding format.Encoding
		}{{of.repetition, v1.RepetitionLevelEncoding},
			{of.definition, v1.DefinitionLevelEncoding}} {
			if level.most == 0 {
				continue
			}
			n := 4 + int(binary.LittleEndian.Uint32(plain))
			if level.encoding == format.RLE {
				err = errors.Join(err,
					runs(plain[4:n], bits.Len(uint(level.most)), int(v1.NumValues)))
			}
			plain = plain[n:]
		}
		if err != nil {
			return err
		}
		return p.values(v1.Encoding, plain, int(v1.NumValues))
	case format.DataPageV2:
		v2 := h.DataPageHeaderV2.V
		repeats := int(v2.RepetitionLevelsByteLength)
		n := repeats + int(v2.DefinitionLevelsByteLength)
		err := errors.Join(
			runs(packed[:repeats], bits.Len(uint(of.repetition)), int(v2.NumValues)),
			runs(packed[repeats:n], bits.Len(uint(of.definition)), int(v2.NumValues)))
		if err != nil {
			return err
		}
		plain := packed[n:]
		if !v2.IsCompressed.Valid || v2.IsCompressed.V {
			if plain, err = p.unpack(codec, plain, most); err != nil {
				return err
			}
		}
		return p.values(v2.Encoding, plain, int(v2.NumValues))
	}
	return nil
}

// unpack unpacks to at most most bytes. What it returns is valid until the next call.
func (p *pages) unpack(codec format.CompressionCodec, b []byte, most int) (_ []byte, err error) {
	var in io.Reader
	switch codec {
	case format.Uncompressed:
		return b, nil
	case format.Snappy:
		if n, err := snappy.DecodedLen(b); err != nil || n > most {
			return nil, errDamaged
		}
		p.plain, err = snappy.Decode(p.plain[:cap(p.plain)], b)
		return p.plain, err
	case format.Zstd:
		if p.zstd == nil {
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderMaxMemory(uint64(p.most)))
			if err != nil {
				return nil, err
			}
		}
		p.plain, err = p.zstd.DecodeAll(b, p.plain[:0])
	case format.Gzip:
		if in, err = gzip.NewReader(bytes.NewReader(b)); err != nil {
			return nil, err
		}
	case format.Brotli:
		in = brotli.NewReader(bytes.NewReader(b))
	}
	if in != nil {
		out := bytes.NewBuffer(p.plain[:0])
		_, err = io.Copy(out, io.LimitReader(in, int64(most)+1))
		p.plain = out.Bytes()
	}
	if err != nil || len(p.plain) > most {
		return nil, errDamaged
	}
	return p.plain, nil
}

// values looks at the values of a page, of which the header says how many there are.
func (p *pages) values(encoding format.Encoding, b []byte, values int) error {
	switch encoding {
	//lint:ignore SA1019 files of before have it
	case format.PlainDictionary, format.RLEDictionary:
		if len(b) > 0 {
			return runs(b[1:], int(b[0]), values)
		}
	case format.RLE: // booleans
		return runs(b[min(4, len(b)):], 1, values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := (&deltas{bytes: b}).begin(values)
		return err
	case format.DeltaByteArray: // a text is the beginning of the one before, and what follows
		d := deltas{bytes: b}
		begins, err := d.sum(values)
		if err != nil {
			return err
		}
		ends, err := d.sum(values)
		if err == nil && begins+ends > p.most {
			err = &tooMuch{p.most}
		}
		return err
	}
	return nil
}

// runs counts the values of runs (parquet-format, "RLE/bit-packing hybrid"), of a width in bits.
// The last run of a page may be longer than needed.
func runs(b []byte, width, values int) error {
	for most := 2*values + 1<<12; len(b) > 0; {
		u, n := binary.Uvarint(b)
		if n <= 0 || u>>1 > uint64(most) {
			return errDamaged
		}
		count, size := int(u>>1), (width+7)/8
		if u&1 == 1 {
			count, size = 8*count, width*count
		}
		if most -= count; most < 0 {
			return errDamaged
		}
		b = b[n:][min(size, len(b)-n):]
	}
	return nil
}

// deltas reads whole numbers (parquet-format, "Delta encoding").
type deltas struct {
	bytes                 []byte
	perBlock, parts, left int
}

func (d *deltas) varint() uint64 {
	u, n := binary.Uvarint(d.bytes)
	if n <= 0 {
		panic(errDamaged)
	}
	d.bytes = d.bytes[n:]
	return u
}

func (d *deltas) zigzag() int32 {
	u := d.varint()
	return int32(u>>1) ^ -int32(u&1)
}

// begin reads the header and the first number, if there is one.
func (d *deltas) begin(values int) (first int32, err error) {
	block, parts, all := d.varint(), d.varint(), d.varint()
	if parts == 0 || block > 1<<16 || block%parts != 0 || all > uint64(values) {
		return 0, errDamaged
	}
	d.perBlock, d.parts, d.left = int(block/parts), int(parts), int(all)
	return d.zigzag(), nil
}

// sum returns the sum of lengths, of which there are at most values.
func (d *deltas) sum(values int) (sum int64, err error) {
	length, err := d.begin(values)
	if err != nil || d.left == 0 {
		return 0, err
	}
	add := func() {
		if length < 0 {
			panic(errDamaged)
		}
		sum += int64(length)
		d.left--
	}
	for add(); d.left > 0; {
		least, widths := d.zigzag(), d.bytes[:d.parts]
		d.bytes = d.bytes[d.parts:]
		for _, width := range widths {
			if d.left == 0 {
				break
			}
			size := d.perBlock * int(width) / 8
			packed := d.bytes[:min(size, len(d.bytes))]
			d.bytes = d.bytes[len(packed):]
			for i := 0; i < d.perBlock && d.left > 0; i++ {
				length += least + bitsAt(packed, i*int(width), int(width))
				add()
			}
		}
		if d.perBlock == 0 {
			panic(errDamaged)
		}
	}
	return sum, nil
}

// bitsAt returns a number of a width in bits, the lowest bit first.
func bitsAt(b []byte, at, width int) (n int32) {
	for i := range width {
		n |= int32(b[(at+i)/8]>>((at+i)%8)&1) << i
	}
	return n
}
