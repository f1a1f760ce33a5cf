package webpage

import (
	"bytes"
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

// runFile holds a number that each start of the daemon draws anew. A link opens the page of that
// run alone. While the daemon is down, another account may listen at its address, and gets the
// links that a person opens then: they open nothing, neither then nor after the next start. While
// it runs, nobody else can listen there.
const runFile = "page.run"

// LinkValid is the time within which a link must be opened.
const LinkValid = 10 * time.Minute

const openPath = "/open"

func secret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewLink makes the link that opens, once, the page of a folder's daemon at an address: host:port,
// or ForwardedAddress for a Unix socket. An older unopened link stops working. The link is for the
// present run of the daemon, which must have begun.
func NewLink(dir, address string, now time.Time) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("make link: %w", err) }
	if err := CheckAddress(address); err != nil {
		return fail(err)
	}
	if strings.HasSuffix(address, ":0") {
		return fail(fmt.Errorf("%s names no port: write one, such as 9443, so that the link can", address))
	}
	if _, is := SocketPath(address); is {
		address = ForwardedAddress
	}
	run, err := folder.ReadSecret(filepath.Join(dir, runFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(errors.New("the page was never served: start the daemon first"))
	case errors.Is(err, fs.ErrPermission):
		return fail(fmt.Errorf("%w: make it as the daemon's account", err))
	case err != nil:
		return fail(err)
	}
	token := secret()
	if err := writeOwn(dir, linkFile, fmt.Sprintln(digestOf(run, token),
		now.Add(LinkValid).UTC().Format(time.RFC3339))); err != nil {
		return fail(err)
	}
	return "http://" + bound(address) + openPath + "?link=" + token, nil
}

// bound names one address in place of localhost, which is two: the other may be another program's.
func bound(address string) string {
	if port, is := strings.CutPrefix(address, "localhost:"); is {
		return "127.0.0.1:" + port
	}
	return address
}

func digestOf(run []byte, token string) string {
	digest := sha256.Sum256(append(bytes.Clone(run), token...))
	return hex.EncodeToString(digest[:])
}

// writeOwn writes a file of mode 0600 as a whole.
func writeOwn(dir, name, text string) error {
	file, err := os.CreateTemp(dir, "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(dir, name))
}

// errLink is the same for every link that does not open, so that it reveals no reason.
var errLink = errors.New("this link was opened already, is older than ten minutes or than the daemon's start, or was replaced by a newer one: make another")

// useLink uses up a folder's link if run and token match. The caller holds a lock.
func useLink(dir string, run []byte, token string, now time.Time) error {
	path := filepath.Join(dir, linkFile)
	text, err := folder.ReadSecret(path)
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
	if err != nil || subtle.ConstantTimeCompare([]byte(of),
		[]byte(digestOf(run, token))) != 1 || !now.Before(ends) ||
		ends.Sub(now) > LinkValid+time.Minute {
		return errLink
	}
	if err := os.Remove(path); err != nil { // remove the link before anything opens
		return fmt.Errorf("use link: %w", err)
	}
	return nil
}
