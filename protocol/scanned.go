package protocol

import (
	"bytes"
	"fmt"
	"strings"
)

// A small carried file can be a QR code, which a telephone or a scanner carries: as text of
// the letters that such a code packs best, 5.5 bits each (base 45, RFC 9285), after a word
// by which it is known. Wherever a carried file is read, so is its text.

const (
	scannedPrefix = "CAUCUS:"
	// MaxScanned is the most bytes of a file that becomes a QR code. The largest codes, of
	// 177 by 177, hold half as much again; phones read such from no screen.
	MaxScanned = 2048
	letters45  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
)

// Scannable is the text of a carried file. It refuses what is no carried file: an
// invitation is a secret, which whatever scans it would keep.
func Scannable(file []byte) (string, error) {
	carried := false
	for _, k := range []FileKind{RequestFile, EnrolmentFile, PackFile, AnswerFile} {
		carried = carried || bytes.HasPrefix(file, []byte(k.begins()))
	}
	switch {
	case bytes.HasPrefix(file, []byte(invitationPrefix)):
		return "", fmt.Errorf("%w: this is an invitation or a join token: a secret, which whatever scans it would keep", ErrInvalid)
	case !carried:
		return "", fmt.Errorf("%w: this is no file that is carried: a request, an enrolment, a pack, an answer or a receipt", ErrInvalid)
	case len(file) > MaxScanned:
		return "", fmt.Errorf("%w: it has %d bytes, a QR code takes at most %d: carry the file", ErrTooLarge, len(file), MaxScanned)
	}
	return scannedPrefix + encode45(file), nil
}

// unscanned is a file of what was read, which may be its text.
func unscanned(read []byte) ([]byte, error) {
	text, scanned := strings.CutPrefix(string(read), scannedPrefix)
	if !scanned {
		return read, nil
	}
	file, err := decode45(strings.TrimRight(text, "\r\n"))
	if err != nil {
		return nil, fmt.Errorf("%w: the text of a QR code: %v", ErrDamaged, err)
	}
	return file, nil
}

func encode45(b []byte) string {
	var s strings.Builder
	for ; len(b) >= 2; b = b[2:] {
		n := int(b[0])<<8 | int(b[1])
		s.Write([]byte{letters45[n%45], letters45[n/45%45], letters45[n/45/45]})
	}
	if len(b) == 1 {
		s.Write([]byte{letters45[b[0]%45], letters45[b[0]/45]})
	}
	return s.String()
}

func decode45(s string) ([]byte, error) {
	var out []byte
	for at := 0; at < len(s); at += 3 {
		part, n := s[at:min(at+3, len(s))], 0
		for i := len(part) - 1; i >= 0; i-- {
			d := strings.IndexByte(letters45, part[i])
			if d < 0 {
				return nil, fmt.Errorf("letter %d is none that it has", at+i+1)
			}
			n = 45*n + d
		}
		switch {
		case len(part) == 3 && n < 1<<16:
			out = append(out, byte(n>>8), byte(n))
		case len(part) == 2 && n < 1<<8:
			out = append(out, byte(n))
		default:
			return nil, fmt.Errorf("it is cut off or changed at letter %d", at+1)
		}
	}
	return out, nil
}
