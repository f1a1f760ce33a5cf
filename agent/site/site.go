package site

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"caucus/agent/source"
	"caucus/auxdata"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// Site holds this machine's state: configuration, ledger, shard key and study folders. It uses no
// network.
type Site struct {
	Config   Config
	Journal  *journal.Journal
	Ledger   *privacy.Ledger
	Audit    *AuditLog
	ShardKey []byte
	Studies  StudyFolders
	PoolsDir string
	Sources  source.Sources
	scratch  string // holds files of the site's own classifier while the classifier runs
	Speed    *Speed
	// Party comes from the certificate. Coordinator has the coordinator's signing keys.
	Party       study.PartyID
	Coordinator protocol.Keys
	named       *sync.Map // cache of releaseHeads, by file
}

// Open opens the state folder. Several processes may: writes are atomic, and the ledger serves one
// at a time.
func Open(c Config, party study.PartyID) (_ *Site, err error) {
	s := &Site{
		Config: c, Party: party, named: new(sync.Map),
		Studies: c.Studies(), PoolsDir: filepath.Join(c.State, "pools"), Sources: c.Sources(),
		scratch: filepath.Join(c.State, "scratch"), Speed: openSpeed(c),
	}
	for _, dir := range []string{c.State, s.Studies.dir, s.PoolsDir, s.Sources.Dir, s.scratch} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open state folder: %w", err)
		}
		if err := folder.RefuseShared(dir); err != nil {
			return nil, err
		}
	}
	if s.ShardKey, err = shardKey(filepath.Join(c.State, "shard.key")); err != nil {
		return nil, err
	}
	s.Sources.Key = s.ShardKey
	last, charged, err := s.Studies.LastLedgerEntry()
	if err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	// an empty ledger would have forgotten all spending
	if _, err := os.Stat(LedgerFile(c)); charged && err != nil {
		return nil, fmt.Errorf("the ledger is missing, but %s holds contributions that were charged to it: restore the whole state folder from a backup: %w", s.Studies.dir, err)
	}
	if s.Journal, err = journal.OpenSQLite(LedgerFile(c)); err != nil {
		return nil, err
	}
	s.Ledger, err = privacy.Open(s.Journal,
		privacy.Config{Limits: c.Policy.TotalLimit, PeriodLimits: c.Policy.YearLimit,
			LastSequence: last})
	if err == nil {
		s.Audit, err = openAudit(c, party)
	}
	if err != nil {
		s.Journal.Close()
		return nil, err
	}
	return s, nil
}

// LedgerFile is the path of the privacy ledger in the state folder. Without it an agent that was
// charged refuses to start.
func LedgerFile(c Config) string { return filepath.Join(c.State, "ledger.db") }

// RemoveScratch removes files that a killed classifier left.
func (s *Site) RemoveScratch() error {
	if err := os.RemoveAll(s.scratch); err != nil {
		return err
	}
	return os.MkdirAll(s.scratch, 0o700)
}

// Close closes audit log and ledger. What they said was stored is stored already, so errors lose
// nothing.
func (s *Site) Close() {
	s.Audit.Close()
	s.Journal.Close()
}

// StoreLedgerHead stores the ledger's head with an upload. An older ledger then charges nothing
// (ErrBehind).
func (s *Site) StoreLedgerHead(ctx context.Context, d StudyFolder) error {
	head, err := privacy.JournalHead(ctx, s.Journal)
	if err != nil {
		return err
	}
	return d.Write(fileLedger, fmt.Appendln(nil, head))
}

// shardKey reads or makes the secret key by which records are selected and assigned to shards
// (study.Inputs).
func shardKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("read shard key %s: it has %d bytes, want %d: restore it from a backup", path, len(key), sha256.Size)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read shard key: %w", err)
	}
	key = make([]byte, sha256.Size)
	rand.Read(key)
	return key, protocol.WriteSecret(path, key)
}

// Pool reads a fetched pool. It checks the plan's map first, because the map comes from outside.
func (s *Site) Pool(p study.Plan) (*auxdata.Pool, error) {
	if err := CheckMap(p); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.PoolFile(p.Pool))
	if err != nil {
		return nil, err
	}
	t, err := auxdata.ReadCSV(b, p.Pool)
	if err != nil {
		return nil, err
	}
	pool, _, err := auxdata.New(p.Schema, p.Map, t)
	return pool, err
}

// Task computes all that plan and pool imply, which takes time and memory for a large pool. The
// pool must be here (HasPool).
func (s *Site) Task(p study.Plan) (study.Task, error) {
	pool, err := s.Pool(p)
	if err != nil {
		return nil, err
	}
	return kinds.NewTask(p, pool)
}

// CheckMap refuses a feature map that is invalid or does not take the schema's columns. Errors wrap
// study.ErrPlan.
func CheckMap(p study.Plan) error {
	if err := p.Map.Validate(); err != nil {
		return fmt.Errorf("%w: %w", study.ErrPlan, err)
	}
	if p.Map.Columns() != p.Schema.Dim() {
		return fmt.Errorf("%w: map: it takes %d columns, the schema encodes to %d", study.ErrPlan, p.Map.Columns(), p.Schema.Dim())
	}
	return nil
}

// HasPool reports whether the whole pool is here.
func (s *Site) HasPool(d auxdata.Digest) bool {
	b, err := os.ReadFile(s.PoolFile(d))
	return err == nil && sha256.Sum256(b) == d
}

// PoolFile is where this site stores the pool of this digest; it need not be there. Studies with
// the same pool share the file.
func (s *Site) PoolFile(d auxdata.Digest) string {
	return filepath.Join(s.PoolsDir, "pool-"+d.String()+".csv")
}

// Records returns this site's records for a study, in blocks if the task reads blocks
// (study.TakesBlocks). Only the study's folder learns what was unexpected, or why the records are
// empty; the agent logs it later (Agent.flaws).
func (s *Site) Records(h study.Hash, p study.Plan, n int, blocks bool) study.Inputs {
	in, odd, unread := s.Sources.Records(p, n, blocks)
	d := s.Studies.Folder(h)
	if len(odd) > 0 {
		// a failed write is not reported, because the report would reveal that the file is odd
		_ = d.Write(FileSourceRemarks, []byte(strings.Join(odd, "; ")+"\n"))
	}
	if unread != nil {
		_ = d.Write(FileReadFailure, []byte(unread.Error()+"\n")) // a failed write changes nothing
	}
	return in
}

// EmptyRecords returns the empty records that replace records that were not ready.
func (s *Site) EmptyRecords(p study.Plan, n int, blocks bool) study.Inputs {
	return source.Empty(p, n, s.ShardKey, blocks)
}

// StoreVoteFailure stores, only in the study's folder, why this site's program gave no votes or
// scores. The reason may depend on a record, and logs may leave the machine. (Package source proves
// that such notes are safe.)
func (s *Site) StoreVoteFailure(h study.Hash, why error) {
	// a failed write is not reported
	_ = s.Studies.Folder(h).Write(FileVoteFailure, []byte(why.Error()+"\n"))
}
