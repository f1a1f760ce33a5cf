package aggregator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"caucus/protocol"
)

// mark is the content of a server's head file: the number of its store's transactions, the last
// entry of its ledger, and the pin of a helper's sealing key.
type mark struct {
	steps, entry int64
	sealing      Digest
}

const markForm = "steps %d entry %d sealing %x\n"

// WriteNewHead writes the head file of a new server. Keep the file outside the backups of store and
// ledger: after a restore of both, it must still have the newer numbers. sealing is a helper's
// public key, else nil.
func WriteNewHead(path string, sealing []byte) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("the file is there already, and may be another server's: name another file")
		}
		return fmt.Errorf("make head file %s: %w", path, err)
	}
	return writeMark(path, mark{sealing: pinOf(sealing)})
}

func pinOf(sealing []byte) Digest {
	if sealing == nil {
		return Digest{}
	}
	return Digest(protocol.SealingPin(sealing))
}

func writeMark(path string, m mark) error {
	if err := protocol.WriteSecret(path,
		fmt.Appendf(nil, markForm, m.steps, m.entry, m.sealing[:])); err != nil {
		return fmt.Errorf("write head file: %w", err)
	}
	return nil
}

func readMark(path string) (m mark, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errNoHead, err)
	}
	if err != nil {
		return m, fmt.Errorf("read head file: %w", err)
	}
	var pin []byte
	if n, err := fmt.Sscanf(string(text), markForm, &m.steps, &m.entry, &pin); n != 3 ||
		err != nil || m.steps < 0 || m.entry < 0 || len(pin) != len(m.sealing) {
		return m, fmt.Errorf("read head file: %w: %s is damaged", errNoHead, path)
	}
	m.sealing = Digest(pin)
	return m, nil
}

var errNoHead = errors.New("the head file is lost, which says whether this server's files were put back: reconcile as after a restore (docs/operator.md)")
