package protocol

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"caucus/protocol/pb"
)

// MaxPoolBytes bounds a pool's canonical bytes.
const MaxPoolBytes = 512 << 20

// Pool fetches a study's pool in canonical bytes (auxdata.ReadCSV reads them) and checks them
// against the plan's digest. If folder is not empty, it stores the pool there as pool-DIGEST.csv,
// uses the file again, and resumes an interrupted download.
func (c *Client) Pool(ctx context.Context, s Study, folder string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("fetch pool of study %s: %w", s.Name, err)
	}
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	var a Assembly
	if folder == "" {
		data, err := c.downloadPool(ctx, s, &a, io.Discard)
		if err != nil {
			return fail(err)
		}
		return data, nil
	}
	whole := filepath.Join(folder, "pool-"+s.Plan.Pool.String()+".csv")
	if data, err := os.ReadFile(whole); err == nil && sha256.Sum256(data) == s.Plan.Pool {
		return data, nil
	}
	path := whole + ".part"
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer part.Close()
	if a.Data, err = io.ReadAll(part); err != nil {
		return fail(err)
	}
	data, err := c.downloadPool(ctx, s, &a, part)
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrTooLarge) {
		os.Remove(path) // the next call starts from the beginning
	}
	if err == nil {
		err = part.Sync()
	}
	if err == nil {
		err = os.Rename(path, whole)
	}
	if err != nil {
		return fail(err)
	}
	return data, nil
}

func (c *Client) downloadPool(ctx context.Context, s Study, a *Assembly, file io.Writer) ([]byte,
	error) {
	stream, err := c.studies.DownloadPool(ctx,
		&pb.DownloadRequest{Study: s.Hash.String(), Offset: uint64(len(a.Data))})
	if err != nil {
		return nil, FromStatus(err)
	}
	have := len(a.Data)
	// keep writes each chunk before the next one is read, so that a later process can resume there.
	// At the end the whole pool is checked against its digest.
	keep := func(*pb.Chunk) error {
		_, err := file.Write(a.Data[have:])
		have = len(a.Data)
		return err
	}
	if err := receive(stream, a, keep); err != nil {
		return nil, err
	}
	data, err := a.Complete()
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != s.Plan.Pool {
		return nil, fmt.Errorf("%w: the pool's digest is not the plan's", ErrDamaged)
	}
	return data, nil
}
