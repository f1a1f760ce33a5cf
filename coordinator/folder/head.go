package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
)

// LedgerHead holds the ledger's head for receipts, and keeps a copy in the file Config.LedgerHead.
type LedgerHead struct {
	path string // "": no file
	// Announce, if not nil, is told of each head that was stored.
	Announce func(privacy.Head)

	mu   sync.Mutex   // guards head and kept, and the file
	head privacy.Head // the ledger's head
	kept privacy.Head // the head in the file
}

// OpenLedgerHead reads the file and compares the ledger with it. It returns the sequence number
// that the ledger must have reached. It writes the file at once, so that a failure to write is
// noticed before anything is charged.
//
// A ledger that is behind may be opened, but releases nothing (ErrBehind). A ledger with a
// different entry under the remembered number was restored and went on, and is refused.
func OpenLedgerHead(ctx context.Context, path string, j privacy.Journal) (*LedgerHead, int64,
	error) {
	now, err := privacy.JournalHead(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	h := &LedgerHead{path: path, head: now}
	if path == "" {
		return h, 0, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("head: %w: it remembers how far the ledger was. If you know that nothing was put back to an older state, write its head there: caucus ledger verify prints it", err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("head: %w", err)
	}
	kept, err := privacy.ParseHead(string(text))
	if err != nil {
		return nil, 0, fmt.Errorf("head: %s: %w", path, err)
	}
	there, err := HeadAt(ctx, j, kept.Sequence)
	if err != nil {
		return nil, 0, err
	}
	if there.Sequence == kept.Sequence && there.Hash != kept.Hash {
		return nil, 0, fmt.Errorf("head: %s remembers another entry %d than the ledger has: the ledger was put back to an older state and went on from there, or was written anew; restore the newest backup, or make a new coordinator", path, kept.Sequence)
	}
	// the process was killed after a charge, before it wrote the file
	if now.Sequence > kept.Sequence {
		kept = now
	}
	if err := h.keep(kept); err != nil {
		return nil, 0, err
	}
	return h, kept.Sequence, nil
}

func (l *LedgerHead) keep(head privacy.Head) error {
	if err := protocol.WriteSecret(l.path, fmt.Appendln(nil, head)); err != nil {
		return fmt.Errorf("head: %w", records.Transient("the head file cannot be written: make its folder, and room in it, or name another file under head in "+ConfigFile, err))
	}
	l.kept = head
	return nil
}

// Advance reads the ledger's head and stores it in the file. Call it before a release publishes its
// entry. If the ledger's head is not beyond the stored one, the ledger was restored from an older
// state, and the file stays unchanged.
func (l *LedgerHead) Advance(ctx context.Context, j privacy.Journal) (privacy.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := privacy.JournalHead(ctx, j)
	if err != nil {
		return now, err
	}
	if l.path != "" && now.Sequence > l.kept.Sequence {
		if err := l.keep(now); err != nil {
			return now, err
		}
	}
	l.head = now
	if l.Announce != nil {
		l.Announce(now)
	}
	return now, nil
}

// StoreReplicaHead stores a head that the leader told this replica, if the file has none as new. So
// the file of a replica that stands by is as new as the leader's, although it reads no ledger.
func StoreReplicaHead(c Config, told string) error {
	head, err := privacy.ParseHead(told)
	if err != nil || c.HeadFile() == "" {
		return err
	}
	text, err := os.ReadFile(c.HeadFile())
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	kept, err := privacy.ParseHead(string(text))
	if err != nil || head.Sequence <= kept.Sequence {
		return err
	}
	return (&LedgerHead{path: c.HeadFile()}).keep(head)
}

// Current returns the head that was stored last.
func (l *LedgerHead) Current() privacy.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// HeadAt returns the head with a sequence number, the zero LedgerHead if there is no such entry.
func HeadAt(ctx context.Context, j privacy.Journal, sequence int64) (privacy.Head, error) {
	var there []privacy.Entry
	err := j.Update(ctx, func(tx privacy.Tx) (err error) {
		there, err = tx.EntriesAfter(sequence-1, 1)
		return err
	})
	if err != nil {
		return privacy.Head{}, fmt.Errorf("read ledger: %w", err)
	}
	if len(there) == 0 || there[0].Sequence != sequence {
		return privacy.Head{}, nil
	}
	return privacy.Head{Sequence: sequence, Hash: there[0].Hash}, nil
}
