package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"

	"caucus/dataset/files"
)

// open calls read with a file, and returns the digest of all its bytes.
func open(path string, read func(in io.ReaderAt, size int64) error) (digest string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s: it is a directory: name the file", path)
	}
	in, size := &hashed{in: file, digest: sha256.New()}, info.Size()
	if !info.Mode().IsRegular() { // a pipe is text and read once, in order
		in.in, size = &inOrder{in: file}, math.MaxInt64
	}
	err = read(in, size)
	if err == nil {
		digest, err = in.rest(size)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return digest, nil
}

// hashed is a file whose digest is made of what is read in order, so that text is
// read once.
type hashed struct {
	in     io.ReaderAt
	digest hash.Hash
	upTo   int64
}

func (h *hashed) ReadAt(p []byte, at int64) (int, error) {
	n, err := h.in.ReadAt(p, at)
	if at <= h.upTo && at+int64(n) > h.upTo {
		h.digest.Write(p[h.upTo-at : n])
		h.upTo = at + int64(n)
	}
	return n, err
}

// rest is the digest of the whole file.
func (h *hashed) rest(size int64) (string, error) {
	if _, err := io.Copy(io.Discard, io.NewSectionReader(h, h.upTo, size-h.upTo)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.digest.Sum(nil)), nil
}

// inOrder is a stream that is read from its beginning to its end.
type inOrder struct {
	in io.Reader
	at int64
}

func (o *inOrder) ReadAt(p []byte, at int64) (int, error) {
	if at != o.at {
		return 0, errors.New("it is a pipe, which can be read once only: write a file")
	}
	n, err := o.in.Read(p)
	o.at += int64(n)
	return n, err
}

// unread is why a file is not read, without a word of what it holds: where a
// header is missing the names of its columns are a record.
func unread(err error, f files.Format) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	if f.Container() {
		return fmt.Errorf("it cannot be read as %s: check that it is whole, and that its first row names its columns; if it has none, list them under header in its mapping", f)
	}
	return errors.New("it cannot be read as a table: check that it is whole, and its header and delimiter; if it has no header, list its names under columns in this site's schema, or under header in its mapping")
}
