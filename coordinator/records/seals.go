package records

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"sync"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// seals encrypt the ballots and running sums of studies with noise at the coordinator. They are used in PostgreSQL,
// which does not overwrite deleted rows. A study's key lives only in this process, until the study is over. After
// that, nobody can read a ballot from PostgreSQL's disk, log or backup. If the process dies earlier, AskAgain asks
// the parties for the same bytes again.
//
// Replicas that wait have no key, on purpose. With a key, the next leader would not have to ask again, but each
// ballot could be read on every machine instead of one. Parties send what they stored, which costs seconds (measured
// by TestChaos) and no budget.
type seals struct {
	mu   sync.Mutex // guards keys
	keys map[study.Hash]cipher.AEAD
}

// key returns the key that encrypts a study's ballots and sum in PostgreSQL. It returns nil if the store is a file,
// or if the study's noise is not added at the coordinator. Its bodies are then stored as they came.
func (t *sqlTx) key(h study.Hash) (cipher.AEAD, error) {
	if t.seals == nil {
		return nil, nil
	}
	t.seals.mu.Lock()
	defer t.seals.mu.Unlock()
	if key, known := t.seals.keys[h]; known {
		return key, nil
	}
	var key cipher.AEAD
	row, err := t.Study(h)
	if err == nil && noisy(row.Plan) {
		secret := make([]byte, 32)
		rand.Read(secret)
		block, _ := aes.NewCipher(secret)
		key, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err == nil {
		t.seals.keys[h] = key
	}
	return key, err
}

// noisy reports whether a plan has its noise added at the coordinator, or cannot be read.
func noisy(plan []byte) bool {
	p, _, err := protocol.ParsePlan(plan)
	return err != nil || p.Noise.InClear()
}

func (t *sqlTx) sealed(h study.Hash, clear []byte) ([]byte, error) {
	key, err := t.key(h)
	if err != nil || key == nil {
		return clear, err
	}
	return key.Seal(nil, nil, clear, h[:]), nil
}

// opened decrypts what sealed encrypted. Bytes that this process did not encrypt are returned unchanged; their
// digest then shows that they are no contribution.
func (t *sqlTx) opened(h study.Hash, stored []byte) ([]byte, error) {
	key, err := t.key(h)
	if err != nil || key == nil {
		return stored, err
	}
	if clear, err := key.Open(nil, nil, stored, h[:]); err == nil {
		return append([]byte{}, clear...), nil
	}
	return stored, nil
}

// AskAgain deletes all ballots and sums of running studies with noise at the coordinator, because
// their keys are gone. It stores that the contributions are lost, so that parties send the bytes that
// they kept. Answers carried by file must be encrypted again under a new key. It returns the studies.
func (s *SQL) AskAgain(ctx context.Context, now time.Time) (asked []string, err error) {
	return asked, s.Update(ctx, func(tx Tx) error {
		t := tx.(*sqlTx)
		all, err := t.Studies()
		for _, row := range all {
			if protocol.Final(row.State) || err != nil {
				continue
			}
			if row, err = t.Study(row.Hash); err != nil || !noisy(row.Plan) {
				continue
			}
			if _, err = t.run("DELETE FROM seal_keys WHERE study = $1", row.Hash[:]); err != nil {
				continue
			}
			var received int
			if received, _, err = t.Contributions(row.Hash); err != nil || received == 0 {
				continue
			}
			asked = append(asked, row.Name)
			if _, err = t.run("UPDATE contributions SET body = NULL WHERE study = $1", row.Hash[:]); err == nil {
				err = t.LoseSum(row.Hash, now)
			}
			if err == nil && row.State == study.Folded {
				err = t.SetState(row.Hash, study.Folded, study.Sealed, row.Reason)
			}
		}
		return err
	})
}
