package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// Evidence is what a state folder can prove about a release or a ledger: signed receipts, uploads,
// and the ledger's head at each upload. Reading changes nothing, and is possible while the agent
// runs.
type Evidence struct {
	// Party is the agent's party. Keys are the coordinator's signing keys, starting with the
	// invitation's.
	Party  study.PartyID
	Keys   protocol.Keys
	config Config
	state  Site // its folders only; the ledger is not open
}

// ReadEvidence reads an enrolled agent's state folder.
func ReadEvidence(c Config) (*Evidence, error) {
	id, party, err := Identity(c)
	if err != nil {
		return nil, err
	}
	keys, err := id.Keys()
	if err != nil {
		return nil, err
	}
	e := &Evidence{Party: party, Keys: keys, config: c}
	e.state = Site{Config: c, Party: party, Studies: c.Studies(),
		PoolsDir: filepath.Join(c.State, "pools")}
	return e, nil
}

// Evidence returns the evidence of an open state folder; keys are the coordinator's signing keys.
func (s *Site) Evidence(keys protocol.Keys) *Evidence {
	return &Evidence{Party: s.Party, Keys: keys, config: s.Config, state: *s}
}

// PoolFile is where this site stores the pool of this digest; it need not be there.
func (e *Evidence) PoolFile(d auxdata.Digest) string { return e.state.PoolFile(d) }

// OfStudy collects a study's facts from the state folder for verify.Release, which calls Ledger to
// read the ledger.
func (e *Evidence) OfStudy(ctx context.Context, r study.Release) evidence.Party {
	d := e.state.Studies.Folder(r.PlanHash)
	s := evidence.Party{Party: e.Party, Keys: e.Keys}
	switch signed, err := d.receipt(); {
	case err == nil:
		s.Receipt = &signed
	case !errors.Is(err, fs.ErrNotExist):
		s.BadReceipt = err
	}
	if body, err := d.Read(FileUpload); err == nil {
		s.Upload = body
		if r.Aggregated != nil {
			if known, err := uploading.UploadDigest(e.Party, body); err == nil {
				s.ShareDigest = &known
			}
		}
	}
	if b, err := d.Read(FileReceipt); err == nil {
		var kept Receipt
		if json.Unmarshal(b, &kept) == nil {
			s.ReceiptAfter = kept.Amendments
		}
	}
	s.Amendments, _ = d.Amendments() // unreadable amendments prove nothing against a release
	s.Ledger = func(id string) (privacy.Line, bool, error) {
		j, err := openJournal(e.config)
		if err != nil {
			return privacy.Line{}, false, err
		}
		defer j.Close()
		return privacy.FindLine(ctx, j, id)
	}
	return s
}

func openJournal(c Config) (*journal.Journal, error) {
	if _, err := os.Stat(LedgerFile(c)); err != nil {
		return nil, fmt.Errorf("there is no ledger at %s: nothing was spent there, or it is the wrong folder: %w", LedgerFile(c), err)
	}
	return journal.OpenSQLite(LedgerFile(c))
}

// LedgerHeads returns the heads of this site's ledger that its study folders hold, one for each
// upload, in order. Heads stored by older versions have no hash.
func (e *Evidence) LedgerHeads() ([]privacy.Head, error) {
	heads, _, err := e.state.Studies.heads()
	slices.SortFunc(heads, func(a, b privacy.Head) int {
		return cmp.Compare(a.Sequence, b.Sequence)
	})
	return heads, err
}

// CoordinatorHeads returns the heads of the coordinator's ledger in receipts and releases signed
// for this site. It returns an error if two of them prove that the ledger was restored or
// rewritten.
func (e *Evidence) CoordinatorHeads() ([]privacy.Head, error) {
	folders, err := e.state.Studies.Folders()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var receipts []protocol.Receipt
	var heads []privacy.Head
	for _, d := range folders {
		if signed, err := d.receipt(); err == nil {
			if r, err := protocol.ParseReceipt(signed.Document, signed.Signature,
				e.Keys); err == nil {
				receipts = append(receipts, r)
			}
		}
		heads = append(heads, d.releaseHeads(e.Keys, e.state.named)...)
	}
	return evidence.QuotedHeads(receipts, heads)
}
