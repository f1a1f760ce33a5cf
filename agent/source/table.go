package source

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"caucus/dataset"
)

// A table file holds a source's encoded records, column by column, in blocks:
//
//	{"caucus":"records 1","rows":1090,"widths":[8,1,1,16]}\n
//	for each block of blockRows records (the last one has the rest):
//	    for each column: its cells, rows × width bytes
//	    CRC-32C of these bytes, 4 bytes, big-endian
//
// Records are in the order of HMAC-SHA256, under the site's key, of their content without the
// label; records with the same digest are in the order of their bytes. So the table does not show
// the order of the file or query, and equal records under one key make equal tables.
const (
	tableVersion = "records 1"
	blockRows    = 4096
	orderSize    = 16 // bytes that give a record's place in the order
)

type tableHead struct {
	Version string `json:"caucus"`
	Rows    int    `json:"rows"`
	Widths  []int  `json:"widths"`
}

func (t tableHead) blocks() int { return (t.Rows + blockRows - 1) / blockRows }

func (t tableHead) width() (sum int) {
	for _, w := range t.Widths {
		sum += w
	}
	return sum
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sorter collects encoded records and writes them as a table file. Beyond inMemory bytes it stores
// them in files of its folder, by the first byte of their order.
type sorter struct {
	coding *dataset.RecordCoding
	folder string // folder for the files; the caller removes it
	mac    hash.Hash
	shared []byte
	rows   int
	// empty is the record without any cell, and empties counts how often it occurs, because a file
	// may have many.
	empty      []byte
	empties    int
	emptyOrder [orderSize]byte
	memory     []byte // entries not yet written to files; each is its order, then its record
	spilt      []*os.File
	out        []*bufio.Writer
}

// inMemory is in bytes. It is a variable so that a test can sort a few records on disk.
var inMemory = 64 << 20

func newSorter(c *dataset.RecordCoding, key []byte, folder string) *sorter {
	return &sorter{coding: c, folder: folder,
		mac: hmac.New(sha256.New, append([]byte("order\x00"), key...)), empty: c.EmptyRecord()}
}

func (s *sorter) entry() int { return orderSize + s.coding.Width() }

func (s *sorter) add(record []byte) error {
	s.shared = s.coding.Shared(record, s.shared)
	s.mac.Reset()
	s.mac.Write(s.shared)
	var order [sha256.Size]byte
	s.mac.Sum(order[:0])
	s.rows++
	if bytes.Equal(record, s.empty) {
		s.empties++
		s.emptyOrder = [orderSize]byte(order[:orderSize])
		return nil
	}
	if s.out == nil {
		s.memory = append(append(s.memory, order[:orderSize]...), record...)
		if len(s.memory) < inMemory {
			return nil
		}
		return s.spill()
	}
	return s.put(order[:orderSize], record)
}

func (s *sorter) put(parts ...[]byte) error {
	out := s.out[parts[0][0]]
	for _, p := range parts {
		if _, err := out.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) spill() error {
	for i := range 1 << 8 {
		file, err := os.OpenFile(filepath.Join(s.folder, fmt.Sprintf("%02x", i)),
			os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		s.spilt, s.out = append(s.spilt, file), append(s.out, bufio.NewWriterSize(file, 1<<15))
	}
	for entry := range slices.Chunk(s.memory, s.entry()) {
		if err := s.put(entry); err != nil {
			return err
		}
	}
	s.memory = nil
	return nil
}

func (s *sorter) close() (err error) {
	for _, file := range s.spilt {
		err = errors.Join(err, file.Close())
	}
	return err
}

func (s *sorter) sorted(each func(record []byte) error) error {
	withEmpty := func(entries []byte) []byte {
		if s.empties == 0 {
			return entries
		}
		return append(append(entries, s.emptyOrder[:]...), s.empty...)
	}
	if s.out == nil {
		return s.each(withEmpty(s.memory), each)
	}
	var entries bytes.Buffer
	for i, file := range s.spilt {
		entries.Reset()
		if err := s.out[i].Flush(); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := entries.ReadFrom(file); err != nil {
			return err
		}
		all := entries.Bytes()
		if byte(i) == s.emptyOrder[0] {
			all = withEmpty(all)
		}
		if err := s.each(all, each); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) each(entries []byte, each func(record []byte) error) error {
	size := s.entry()
	at := make([]int, len(entries)/size)
	for i := range at {
		at[i] = i * size
	}
	slices.SortFunc(at, func(i, j int) int {
		return bytes.Compare(entries[i:i+size], entries[j:j+size])
	})
	for _, i := range at {
		record, times := entries[i+orderSize:i+size], 1
		if bytes.Equal(record, s.empty) {
			times = s.empties
		}
		for range times {
			if err := each(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes a table of the records that takes reports, which are this number of rows.
func (s *sorter) write(to *os.File, rows int, takes func([]byte) bool) (digest string, err error) {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<18)
	head := tableHead{tableVersion, rows, s.coding.Columns()}
	text, err := json.Marshal(head)
	if err != nil {
		return "", err
	}
	if _, err := out.Write(append(text, '\n')); err != nil {
		return "", err
	}
	var block dataset.CodedBlock
	flush := func() error {
		check := crc32.New(castagnoli)
		for i, c := range block.Columns {
			check.Write(c)
			if _, err := out.Write(c); err != nil {
				return err
			}
			block.Columns[i] = c[:0]
		}
		block.Rows = 0
		_, err := out.Write(check.Sum(nil))
		return err
	}
	err = s.sorted(func(record []byte) error {
		if !takes(record) {
			return nil
		}
		s.coding.Append(&block, record)
		if block.Rows == blockRows {
			return flush()
		}
		return nil
	})
	if err == nil && block.Rows > 0 {
		err = flush()
	}
	if err = cmp.Or(err, out.Flush()); err == nil {
		err = to.Sync()
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

type table struct {
	coding *dataset.RecordCoding
	head   tableHead
	block  func(i int) (dataset.CodedBlock, error)
	close  func() error
}

var errTable = errors.New("the import is damaged: declare the source again")

// openTable opens a table file. It stays readable until closed, even if the source is imported
// again.
func openTable(path string, c *dataset.RecordCoding) (table, error) {
	file, err := os.Open(path)
	if err != nil {
		return table{}, err
	}
	t := table{coding: c, close: file.Close}
	line, err := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<24), 1<<16).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &t.head)
	}
	info, errStat := file.Stat()
	if cmp.Or(err, errStat) != nil || t.head.Version != tableVersion || t.head.Rows < 0 ||
		!slices.Equal(t.head.Widths, c.Columns()) ||
		info.Size() != int64(len(line))+t.head.offset(t.head.blocks()) {
		return table{}, errors.Join(errTable, file.Close())
	}
	t.block = func(i int) (dataset.CodedBlock, error) {
		return t.head.read(file, int64(len(line)), i)
	}
	return t, nil
}

func (t tableHead) offset(i int) int64 {
	return int64(min(i*blockRows, t.Rows))*int64(t.width()) + 4*int64(i)
}

func (t tableHead) read(file io.ReaderAt, start int64, i int) (dataset.CodedBlock, error) {
	all := make([]byte, t.offset(i+1)-t.offset(i))
	if _, err := file.ReadAt(all, start+t.offset(i)); err != nil {
		return dataset.CodedBlock{}, errTable
	}
	cells, check := all[:len(all)-4], all[len(all)-4:]
	if !bytes.Equal(binary.BigEndian.AppendUint32(nil, crc32.Checksum(cells, castagnoli)), check) {
		return dataset.CodedBlock{}, errTable
	}
	b := dataset.CodedBlock{Rows: min(blockRows, t.Rows-i*blockRows)}
	for _, w := range t.Widths {
		b.Columns, cells = append(b.Columns, cells[:b.Rows*w]), cells[b.Rows*w:]
	}
	return b, nil
}

func (t table) check() error {
	for i := range t.head.blocks() {
		if _, err := t.block(i); err != nil {
			return err
		}
	}
	return nil
}

type memory struct {
	coding *dataset.RecordCoding
	all    dataset.CodedBlock
}

func (m *memory) add(record []byte) error {
	m.coding.Append(&m.all, record)
	return nil
}

func (m *memory) table() table {
	t := table{coding: m.coding, head: tableHead{tableVersion, m.all.Rows, m.coding.Columns()},
		close: func() error {
			return nil
		}}
	t.block = func(i int) (dataset.CodedBlock, error) {
		return m.coding.Slice(m.all, i*blockRows, min((i+1)*blockRows, m.all.Rows)), nil
	}
	return t
}
