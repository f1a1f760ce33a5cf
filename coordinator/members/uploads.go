package members

import (
	"context"
	"errors"
	"fmt"
	"io"

	"caucus/coordinator/folder"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/protocol/pb"
)

// AcquireUpload takes one of a member's places for bodies in memory, until done is called.
func (cg *CallGate) AcquireUpload(ctx context.Context) (done func(), err error) {
	cg.mu.Lock()
	defer cg.mu.Unlock()
	m := cg.meter[callOf(ctx).member]
	if m.uploads >= cg.limits.Streams {
		return nil, fmt.Errorf("%w: %d uploads are under way, at most %d may be", protocol.ErrBusy,
			m.uploads, cg.limits.Streams)
	}
	m.uploads++
	return func() {
		cg.mu.Lock()
		defer cg.mu.Unlock()
		m.uploads--
	}, nil
}

// Receive receives the chunks of an upload until the sender is done. It ends the call if the upload
// stops, or is slower than the limits allow.
func Receive[M interface{ GetChunk() *pb.Chunk }](ctx context.Context, recv func() (M, error),
	size uint64, l folder.Limits, clock clock.Clock) ([]byte, error) {
	end, all := callOf(ctx).end, l.UploadTimeLimit(size)
	late := clock.AfterFunc(all, func() {
		end(fmt.Errorf("%w: %d bytes did not arrive within %v", protocol.ErrBusy, size, all))
	})
	defer late.Stop()
	quiet := clock.AfterFunc(l.MaxPause, func() {
		end(fmt.Errorf("%w: nothing arrived for %v", protocol.ErrBusy, l.MaxPause))
	})
	defer quiet.Stop()
	body := protocol.Assembly{Size: size}
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return body.Complete()
		}
		if err != nil {
			return nil, err
		}
		quiet.Reset(l.MaxPause)
		if err := body.Add(m.GetChunk()); err != nil {
			return nil, err
		}
	}
}

// HeaderError converts an error of the first Recv: a stream that ends before the header is
// ErrDamaged.
func HeaderError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ended before its header", protocol.ErrDamaged)
	}
	return err
}
