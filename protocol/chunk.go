package protocol

import (
	"fmt"
	"hash/crc32"

	"caucus/protocol/pb"
)

// MaxMessage bounds the bytes of a message to the coordinator (a chunk with its envelope), and so a
// call's memory. ChunkSize bounds a chunk's bytes.
const (
	MaxMessage = 320 << 10
	ChunkSize  = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chunks yields data in chunks from an offset on, at least one chunk. The first contains the total
// size.
func Chunks(data []byte, offset uint64) func(yield func(*pb.Chunk) bool) {
	return func(yield func(*pb.Chunk) bool) {
		size := uint64(len(data))
		for first := true; first || offset < size; first = false {
			part := data[offset:min(offset+ChunkSize, size)]
			c := &pb.Chunk{Offset: offset, Data: part, Crc32C: crc32.Checksum(part, castagnoli)}
			if first {
				c.Size = size
			}
			if !yield(c) {
				return
			}
			offset += uint64(len(part))
		}
	}
}

// Assembly joins chunks in order. Its memory grows with the bytes that arrive, not with the size
// that was announced.
type Assembly struct {
	Size uint64
	Data []byte
	// ended reports that an empty chunk has arrived. Only the last chunk may be empty.
	ended bool
}

// Add appends the next chunk. An empty chunk is allowed only once, at the end, so that a sender
// must make progress. Errors wrap ErrDamaged or ErrTooLarge.
func (a *Assembly) Add(c *pb.Chunk) error {
	have := uint64(len(a.Data))
	switch {
	case c == nil:
		return fmt.Errorf("%w: a chunk is missing", ErrDamaged)
	case len(c.Data) > ChunkSize:
		return fmt.Errorf("%w: a chunk has %d bytes, at most %d are taken", ErrTooLarge,
			len(c.Data), ChunkSize)
	case c.Offset != have:
		return fmt.Errorf("%w: a chunk starts at byte %d, %d have arrived", ErrDamaged, c.Offset,
			have)
	case len(c.Data) == 0 && (have != a.Size || a.ended):
		return fmt.Errorf("%w: the chunk at byte %d is empty", ErrDamaged, have)
	case have+uint64(len(c.Data)) > a.Size:
		return fmt.Errorf("%w: more than the announced %d bytes", ErrTooLarge, a.Size)
	case crc32.Checksum(c.Data, castagnoli) != c.Crc32C:
		return fmt.Errorf("%w: the chunk at byte %d arrived changed", ErrDamaged, c.Offset)
	}
	a.Data = append(a.Data, c.Data...)
	a.ended = len(c.Data) == 0
	return nil
}

// Complete returns the data, or ErrDamaged if some is missing.
func (a *Assembly) Complete() ([]byte, error) {
	if uint64(len(a.Data)) != a.Size {
		return nil, fmt.Errorf("%w: %d of %d bytes arrived", ErrDamaged, len(a.Data), a.Size)
	}
	return a.Data, nil
}
