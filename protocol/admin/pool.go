package admin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"caucus/auxdata"
	"caucus/protocol"
	"caucus/protocol/pb"
)

// UploadPool stores a pool's canonical bytes with the coordinator, unless it has them.
func (c *Client) UploadPool(ctx context.Context, digest auxdata.Digest, canonical []byte) error {
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	if err := c.uploadPool(ctx, digest, canonical); err != nil {
		return fmt.Errorf("upload pool %s: %w", digest, err)
	}
	return nil
}

func (c *Client) uploadPool(ctx context.Context, digest auxdata.Digest, canonical []byte) error {
	stream, err := c.calls.UploadPool(ctx)
	if err != nil {
		return protocol.FromStatus(err)
	}
	header := &pb.PoolHeader{Digest: digest[:], Size: uint64(len(canonical))}
	err = stream.Send(&pb.UploadPoolRequest{Part: &pb.UploadPoolRequest_Header{Header: header}})
	for chunk := range protocol.Chunks(canonical, 0) {
		if err != nil {
			break // io.EOF: the server has answered already
		}
		err = stream.Send(&pb.UploadPoolRequest{Part: &pb.UploadPoolRequest_Chunk{Chunk: chunk}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return protocol.FromStatus(err)
	}
	_, err = stream.CloseAndRecv()
	return protocol.FromStatus(err)
}
