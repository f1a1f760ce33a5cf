package protocol

import (
	"fmt"
	"hash/crc32"

	"caucus/protocol/pb"
)

// MaxMessage is the most bytes of a message that the coordinator takes: a chunk
// and what surrounds it. A caller holds so much of its memory with a call, and
// no more. ChunkSize is the most bytes in a chunk.
const (
	MaxMessage = 320 << 10
	ChunkSize  = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chunks yields data from an offset in chunks. The first carries the size of
// the whole; there is always one, so that an empty rest says so.
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

// Assembly puts chunks together, in order and without gaps. Its memory grows
// with what arrived, not with what was announced.
type Assembly struct {
	// Size is what the whole must be.
	Size uint64
	// Data is what has arrived, from the start.
	Data []byte
	// ended: an empty rest was announced.
	ended bool
}

// Add takes the next chunk. Only a rest of no bytes may be empty, and is said
// once: whoever sends must get on. Errors wrap ErrDamaged or ErrTooLarge.
func (a *Assembly) Add(c *pb.Chunk) error {
	have := uint64(len(a.Data))
	switch {
	case c == nil:
		return fmt.Errorf("%w: a chunk is missing", ErrDamaged)
	case len(c.Data) > ChunkSize:
		return fmt.Errorf("%w: a chunk has %d bytes, at most %d are taken", ErrTooLarge, len(c.Data), ChunkSize)
	case c.Offset != have:
		return fmt.Errorf("%w: a chunk starts at byte %d, %d have arrived", ErrDamaged, c.Offset, have)
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

// Whole is the data once all has arrived.
func (a *Assembly) Whole() ([]byte, error) {
	if uint64(len(a.Data)) != a.Size {
		return nil, fmt.Errorf("%w: %d of %d bytes arrived", ErrDamaged, len(a.Data), a.Size)
	}
	return a.Data, nil
}
