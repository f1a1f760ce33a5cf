package records

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"caucus/internal/database"
	"caucus/protocol"
	"caucus/study"
)

// StudyKeys holds one key for each running study with noise at the coordinator. The key encrypts
// the study's ballots and running sum in PostgreSQL, which does not overwrite deleted rows.
// StudyKeys are never on a disk. The leader makes them and sends them to the replicas that stand by
// (coordinator/studykeys.go), so any of them can go on. While a study runs, each of these machines
// can thus read its ballots. Once the study is over, the leader forgets its key, and so does each
// replica when it hears of that: one that is cut off, when it hears a leader again, leads or ends.
// After that, nobody can read a ballot from PostgreSQL's disk, log or backup. A leader that lacks
// keys asks the parties for the same bytes again (RequestBallotsAgain).
type StudyKeys struct {
	mu      sync.Mutex            // guards the rest
	of      map[study.Hash][]byte // empty for a study that needs no key
	changed chan struct{}         // closed at the next change
}

// NewStudyKeys returns a set without keys, as of a process that has just started: none is ever read
// from a disk.
func NewStudyKeys() *StudyKeys {
	return &StudyKeys{of: map[study.Hash][]byte{}, changed: make(chan struct{})}
}

// All returns a copy of the keys, and a channel that is closed when they change.
func (s *StudyKeys) All() (all map[study.Hash][]byte, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = maps.Clone(s.of)
	maps.DeleteFunc(all, func(_ study.Hash, key []byte) bool { return len(key) == 0 })
	return all, s.changed
}

// Replace forgets all keys and takes others, which the leader sent.
func (s *StudyKeys) Replace(all map[study.Hash][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = all
	s.change()
}

// Adopt takes another replica's keys of some studies, in place of those that this one has.
func (s *StudyKeys) Adopt(of []study.Hash, all map[study.Hash][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range of {
		if key := all[h]; len(key) == 32 {
			s.of[h] = key
		}
	}
	s.change()
}

func (s *StudyKeys) forget(h study.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.of[h]; known {
		delete(s.of, h)
		s.change()
	}
}

func (s *StudyKeys) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// key returns the key that encrypts a study's ballots and sum in PostgreSQL. It returns nil if the
// store is a file, if the study's noise is not added at the coordinator, or if there is no key and
// create is false.
func (st *sqlTx) key(h study.Hash, create bool) (cipher.AEAD, error) {
	if st.keys == nil {
		return nil, nil
	}
	st.keys.mu.Lock()
	defer st.keys.mu.Unlock()
	key, known := st.keys.of[h]
	if !known {
		switch row, err := st.Study(h); {
		case err != nil:
			return nil, err
		case !noisy(row.Plan):
		case !create:
			return nil, nil
		case protocol.IsFinal(row.State):
			return nil, fmt.Errorf("study %s is over, and its key is gone", h)
		default:
			key = make([]byte, 32)
			rand.Read(key)
			st.keys.change()
		}
		st.keys.of[h] = key
	}
	if len(key) == 0 {
		return nil, nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// noisy reports whether a plan has its noise added at the coordinator, or cannot be read.
func noisy(plan []byte) bool {
	p, _, err := protocol.ParsePlan(plan)
	return err != nil || p.Noise.SumsInClear()
}

func (st *sqlTx) sealed(h study.Hash, clear []byte) ([]byte, error) {
	key, err := st.key(h, true)
	if err != nil || key == nil {
		return clear, err
	}
	return key.Seal(nil, nil, clear, h[:]), nil
}

// opened decrypts what sealed encrypted. Bytes under another key are returned unchanged; their
// digest then shows that they are no contribution.
func (st *sqlTx) opened(h study.Hash, stored []byte) ([]byte, error) {
	key, err := st.key(h, false)
	if err != nil || key == nil {
		return stored, err
	}
	if clear, err := key.Open(nil, nil, stored, h[:]); err == nil {
		return append([]byte{}, clear...), nil
	}
	return stored, nil
}

// unreadable returns the running studies with noise at the coordinator of which something is stored
// that this process cannot decrypt. All of a study is under one key, because RequestBallotsAgain
// deletes everything before the study gets another key. So it is enough to decrypt one thing, and
// damage to another is found by its digest.
func (st *sqlTx) unreadable() (rows []Study, err error) {
	all, err := st.Studies()
	for _, row := range all {
		if err != nil {
			break
		}
		if protocol.IsFinal(row.State) {
			st.over = append(st.over, row.Hash) // its end may have come after its key
			continue
		}
		if row, err = st.Study(row.Hash); err != nil || !noisy(row.Plan) {
			continue
		}
		var whole bool
		if whole, err = st.readable(row.Hash); !whole {
			rows = append(rows, row)
		}
	}
	return rows, err
}

// readable reports whether nothing is stored of a study under a key that this process lacks.
func (st *sqlTx) readable(h study.Hash) (bool, error) {
	stored, err := database.QueryAll(st.ctx, st.tx, func(b *[]byte) []any { return []any{b} }, `SELECT private FROM seal_keys WHERE study = $1 UNION ALL SELECT sum FROM sums WHERE study = $1
		UNION ALL SELECT body FROM (SELECT body FROM contributions WHERE study = $1 AND body IS NOT NULL LIMIT 3) AS few`, h[:])
	if err != nil || len(stored) == 0 {
		return true, err
	}
	key, err := st.key(h, false)
	if key == nil || err != nil {
		return false, err
	}
	return slices.ContainsFunc(stored, func(b []byte) bool {
		_, failed := key.Open(nil, nil, b, h[:])
		return failed == nil
	}), nil
}

// UndecryptableStudies returns the studies for which RequestBallotsAgain would ask.
func (s *SQL) UndecryptableStudies(ctx context.Context) (all []study.Hash, err error) {
	return all, s.View(ctx, func(tx Tx) error {
		rows, err := tx.(*sqlTx).unreadable()
		for _, row := range rows {
			all = append(all, row.Hash)
		}
		return err
	})
}

// RequestBallotsAgain deletes all ballots and sums of running studies with noise at the coordinator
// that this process cannot decrypt. It stores that the contributions are lost, so that parties send
// the bytes that they kept. Answers carried by file must be encrypted again under a new key. It
// returns the studies.
func (s *SQL) RequestBallotsAgain(ctx context.Context, now time.Time) (asked []string, err error) {
	return asked, s.Update(ctx, func(tx Tx) error {
		t := tx.(*sqlTx)
		rows, err := t.unreadable()
		for _, row := range rows {
			if err != nil {
				break
			}
			t.over = append(t.over, row.Hash)
			if _, err = t.run("DELETE FROM seal_keys WHERE study = $1", row.Hash[:]); err != nil {
				continue
			}
			var received int
			if received, _, err = t.Contributions(row.Hash); err != nil || received == 0 {
				continue
			}
			asked = append(asked, row.Name)
			if _, err = t.run("UPDATE contributions SET body = NULL WHERE study = $1", row.Hash[:]); err == nil {
				err = t.MarkSumLost(row.Hash, now)
			}
			if err == nil && row.State == study.Summed {
				err = t.SetState(row.Hash, study.Summed, study.Sealed, row.Reason)
			}
		}
		return err
	})
}
