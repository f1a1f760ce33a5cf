package protocol

import (
	"fmt"
	"hash/crc32"

	"caucus/protocol/pb"
)

// MaxMessage bounds a message to the coordinator: a chunk with its envelope. A call occupies at
// most that much memory. ChunkSize bounds a chunk's bytes.
const (
	MaxMessage = 320 << 10
	ChunkSize  = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chunks yields data from an offset in chunks, at least one. The first carries the whole's size.
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

// Assembly joins chunks in order without gaps. Its memory grows with received, not announced,
// bytes.
type Assembly struct {
	// Size is what the whole must be.
	Size uint64
	// Data is what has arrived, from the start.
	Data []byte
	// ended: an empty rest was announced.
	ended bool
}

// Add takes the next chunk. Only an empty rest may be empty, once, so a sender must make progress.
// Errors wrap ErrDamaged or ErrTooLarge.
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
