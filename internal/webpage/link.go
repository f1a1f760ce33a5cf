package webpage

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"caucus/internal/folder"
)

// linkFile holds the digest and expiry of the newest unopened link. Only the person has the link
// itself.
const linkFile = "page.link"

// LinkValid is the time within which a link must be opened.
const LinkValid = 10 * time.Minute

const openPath = "/open"

func secret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewLink makes the link that opens, once, the page of a folder's daemon at an address: host:port,
// or CarriedTo for a Unix socket. An older unopened link stops working. The daemon need not run
// yet.
func NewLink(dir, address string, now time.Time) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("make link: %w", err) }
	if err := CheckAddress(address); err != nil {
		return fail(err)
	}
	if strings.HasSuffix(address, ":0") {
		return fail(fmt.Errorf("%s names no port: write one, such as 9443, so that the link can", address))
	}
	if _, is := Socket(address); is {
		address = CarriedTo
	}
	token := secret()
	digest := sha256.Sum256([]byte(token))
	file, err := os.CreateTemp(dir, "."+linkFile+"-*") // mode 0600
	if err != nil {
		return fail(err)
	}
	defer os.Remove(file.Name())
	_, err = fmt.Fprintln(file, hex.EncodeToString(digest[:]),
		now.Add(LinkValid).UTC().Format(time.RFC3339))
	if err := errors.Join(err, file.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(file.Name(), filepath.Join(dir, linkFile)); err != nil {
		return fail(err)
	}
	return "http://" + address + openPath + "?link=" + token, nil
}

// errLink is the same for every link that does not open, so that it reveals no reason.
var errLink = errors.New("this link was opened already, is older than ten minutes, or was replaced by a newer one: make another")

// useLink uses up a folder's link if token matches. The caller holds a lock.
func useLink(dir, token string, now time.Time) error {
	path := filepath.Join(dir, linkFile)
	text, err := folder.ReadOwn(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the link was made by another account than the daemon's, or is open to " +
			"others: make one as the daemon's account, such as with runuser -u caucus")
	case errors.Is(err, fs.ErrNotExist):
		return errLink
	case err != nil:
		return fmt.Errorf("read link: %w", err)
	}
	var of, until string
	if _, err := fmt.Sscan(string(text), &of, &until); err != nil {
		return errLink
	}
	ends, err := time.Parse(time.RFC3339, until)
	digest := sha256.Sum256([]byte(token))
	if err != nil || subtle.ConstantTimeCompare([]byte(of),
		[]byte(hex.EncodeToString(digest[:]))) != 1 || !now.Before(ends) ||
		ends.Sub(now) > LinkValid+time.Minute {
		return errLink
	}
	if err := os.Remove(path); err != nil { // remove the link before anything opens
		return fmt.Errorf("use link: %w", err)
	}
	return nil
}
