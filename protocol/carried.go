package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"caucus/study"
)

// FileKind is a kind of file that people carry between a party and its coordinator if no network
// connects them.
//
// A carried file is a line with its kind, then parts. Each part is a line with its name and its
// length in bytes, then those bytes and a line feed:
//
//	caucus study answer 2
//	statement 231
//	{"plan":…}
//	signature 64
//	…
//
// The kind determines the parts and their order, so the same content has the same bytes, and every
// byte has a meaning. A carrier can read, change, keep, repeat or replace a file. So only signed
// content counts, and confidential content is encrypted.
type FileKind string

const (
	RequestFile FileKind = "enrolment request" // to the coordinator: a party's new key
	// to the party: its certificate, and the coordinator to trust
	EnrolmentFile FileKind = "enrolment"
	PackFile      FileKind = "study pack"     // to parties: a study and its state
	AnswerFile    FileKind = "study answer"   // to the coordinator: a contribution or a refusal
	sealedAnswer  FileKind = "sealed answer"  // in an answer, encrypted
	sealedReceipt FileKind = "sealed receipt" // in a pack, encrypted
)

// Bounds of carried files, in bytes or parts. A pack holds a pool, a plan, a release and small
// parts.
const (
	maxPack    = MaxPoolBytes + MaxPlanBytes + maxCarriedRelease + 64<<20
	maxAnswer  = 1 << 30
	maxCarried = 1 << 20 // bound for the other kinds
	// MaxCarriedNotices bounds the parties of a pack; each takes a few hundred bytes.
	maxCarriedRelease = 256 << 20
	MaxCarriedNotices = 20_000
	// maxCarriedDocument bounds other documents; amendments and heads are the largest.
	maxCarriedDocument = 64 << 10
	maxPartName        = 40
	// maxParts bounds the cost of reading a file before its signatures are checked. A pack for the
	// most parties with the most amendments has fewer parts.
	maxParts = 3*MaxCarriedNotices + 2*study.MaxAmendments + 16
)

func (f FileKind) most() int64 {
	switch f {
	case PackFile:
		return maxPack
	case AnswerFile, sealedAnswer:
		return maxAnswer
	}
	return maxCarried
}

func (f FileKind) begins() string {
	form := 1
	if f == AnswerFile {
		form = 2 // the signature has a fixed length since form 2
	}
	return fmt.Sprintf("caucus %s %d\n", f, form)
}

type part struct {
	name string
	data []byte
}

func (f FileKind) encode(all []part) []byte {
	size := len(f.begins())
	for _, p := range all {
		size += len(p.name) + len(p.data) + 24
	}
	b := append(make([]byte, 0, size), f.begins()...)
	for _, p := range all {
		b = append(b, p.name...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(len(p.data)), 10)
		b = append(b, '\n')
		b = append(b, p.data...)
		b = append(b, '\n')
	}
	return b
}

// partReader reads a file's parts in order. After an error it returns no more parts; end returns
// the error.
type partReader struct {
	kind FileKind
	rest []part
	err  error
}

func (f FileKind) decode(file []byte) *partReader {
	r := &partReader{kind: f}
	if int64(len(file)) > f.most() {
		return r.fail("%w: it has %d bytes, at most %d are read", ErrTooLarge, len(file), f.most())
	}
	rest, ok := bytes.CutPrefix(file, []byte(f.begins()))
	if !ok {
		return r.fail("%w: %s", ErrInvalid, f.other(file))
	}
	for len(rest) > 0 {
		line, _, found := bytes.Cut(rest[:min(len(rest), maxPartName+24)], []byte("\n"))
		name, digits, spaced := strings.Cut(string(line), " ")
		size, err := strconv.ParseUint(digits, 10, 40)
		if !found || !spaced || err != nil || name == "" || len(name) > maxPartName ||
			strconv.FormatUint(size, 10) != digits {
			return r.fail("%w: after %d bytes comes no part", ErrDamaged, len(file)-len(rest))
		}
		data := rest[len(line)+1:]
		if uint64(len(data)) < size+1 {
			return r.fail("%w: it is cut off in its part %q, of which %d bytes are missing", ErrDamaged, name, size+1-uint64(len(data)))
		}
		if data[size] != '\n' {
			return r.fail("%w: its part %q is not as long as it says", ErrDamaged, name)
		}
		if len(r.rest) == maxParts {
			return r.fail("%w: it has more than %d parts", ErrTooLarge, maxParts)
		}
		r.rest = append(r.rest, part{name, data[:size:size]})
		rest = data[size+1:]
	}
	return r
}

func (f FileKind) other(file []byte) string {
	line, _, _ := bytes.Cut(file[:min(len(file), 80)], []byte("\n"))
	for _, is := range []FileKind{RequestFile, EnrolmentFile, PackFile, AnswerFile} {
		if string(line)+"\n" == is.begins() {
			return fmt.Sprintf("this is a caucus %s, and no caucus %s", is, f)
		}
		if bytes.HasPrefix(line, []byte("caucus "+string(is)+" ")) && is == f {
			return fmt.Sprintf("this caucus %s was written by another version (%q): use the same version at both ends", f, line)
		}
	}
	if bytes.HasPrefix(line, []byte(invitationPrefix)) {
		return fmt.Sprintf("this is an invitation, and no caucus %s", f)
	}
	return fmt.Sprintf("this is no caucus %s, which begins with %q", f,
		strings.TrimSpace(f.begins()))
}

func (p *partReader) fail(format string, args ...any) *partReader {
	if p.err == nil {
		p.err = fmt.Errorf("read %s: %w", p.kind, fmt.Errorf(format, args...))
	}
	p.rest = nil
	return p
}

func (p *partReader) maybe(name string, most int) (data []byte, found bool) {
	if len(p.rest) == 0 || p.rest[0].name != name {
		return nil, false
	}
	data = p.rest[0].data
	if len(data) > most {
		p.fail("%w: its part %q has %d bytes, at most %d are taken", ErrTooLarge, name, len(data), most)
		return nil, false
	}
	p.rest = p.rest[1:]
	return data, true
}

func (p *partReader) take(name string, most int) []byte {
	data, found := p.maybe(name, most)
	if !found {
		p.fail("%w: its part %q is missing", ErrDamaged, name)
	}
	return data
}

func (p *partReader) documents(name string, most int) (all []Signed) {
	for len(all) < most {
		document, found := p.maybe(name, maxCarriedDocument)
		if !found {
			break
		}
		all = append(all, Signed{Document: document,
			Signature: p.take(name+".signature", maxCarriedDocument)})
	}
	return all
}

func (p *partReader) end() error {
	if len(p.rest) > 0 {
		p.fail("%w: its part %q should not be there", ErrDamaged, p.rest[0].name)
	}
	return p.err
}

func signedParts(name string, all []Signed) (out []part) {
	for _, s := range all {
		out = append(out, part{name, s.Document}, part{name + ".signature", s.Signature})
	}
	return out
}

// openPlain opens regular files only, because opening a named pipe would block.
func openPlain(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// ReadCarriedFile reads a carried file of at most its kind's size. The path "-" is standard input.
func ReadCarriedFile(path string, stdin io.Reader, k FileKind) ([]byte, error) {
	if path != "-" {
		file, err := openPlain(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		stdin = file
	}
	b, err := io.ReadAll(io.LimitReader(stdin, k.most()+1))
	if err == nil && int64(len(b)) > k.most() {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, k.most())
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

// WriteCarriedFile writes a carried file, whole or not at all. It replaces only a file of the same
// kind, so an interrupted command can be repeated.
func WriteCarriedFile(path string, k FileKind, file []byte) error {
	there, err := openPlain(path)
	if err == nil {
		begins := make([]byte, len(k.begins()))
		_, err = io.ReadFull(there, begins)
		there.Close()
		if err != nil || string(begins) != k.begins() {
			return fmt.Errorf("write %s: there is another file already, and no caucus %s: give another name", path, k)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return WriteSecret(path, file)
}

// Fingerprint is 120 bits of a SHA-256 digest, for people to read aloud. No carrier can make a
// second file with this fingerprint.
type Fingerprint string

func fingerprint(of string, data ...[]byte) Fingerprint {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00", of)
	for _, d := range data {
		fmt.Fprintf(h, "%d\x00", len(d))
		h.Write(d)
	}
	text := strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15]))
	var groups []string
	for ; text != ""; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return Fingerprint(strings.Join(groups, "-"))
}

// Matches reports whether a person typed this fingerprint, in any case and grouping.
func (f Fingerprint) Matches(typed string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '-' || r == ' ' {
				return -1
			}
			return r
		}, strings.ToLower(s))
	}
	return plain(typed) == plain(string(f))
}
