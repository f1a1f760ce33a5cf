package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"caucus/internal/folder"
	"caucus/study"
)

// These are the events of audit lines. A line is on the disk before its event takes effect
// (allowed, sending, approved, refused, declared), or before the agent relies on the event
// (charged, receipt). A crash may leave a line twice, but none is missing.
const (
	AuditApproved = "approved" // a person approved
	AuditRefused  = "refused"  // a person, the policy or the ledger refused
	AuditAllowed  = "allowed"  // people or the policy allowed the study; the ledger decides next
	AuditCharged  = "charged"  // the ledger holds the charge
	AuditSending  = "sending"  // the first byte is about to leave
	// AuditReceipt: the coordinator signed that it has the upload. With the key late, some of it
	// was not ready in time, and constants replaced that. With the key unread, its source could
	// not be read as declared, and empty records replaced its records.
	AuditReceipt   = "receipt"
	AuditClosed    = "closed"    // the study ended here without a release
	AuditAmended   = "amended"   // the coordinator signed another ending
	AuditReopened  = "reopened"  // the study had ended here, and an amendment reopened it
	AuditReleased  = "released"  // the release is here
	AuditForgotten = "forgotten" // a person removed a source's declaration and import
	AuditLeft      = "left"      // a person ended this site's membership
	AuditDeclared  = "declared"  // a person declared how a source is read and its number of records
)

// These say who refused. For a person the audit log has the name instead; only counts use
// DeciderPerson.
const (
	DeciderPolicy = "policy"
	DeciderLedger = "ledger"
	DeciderPerson = "person"
)

// AuditFile is the path of the log in the state folder, which backups must contain.
func AuditFile(c Config) string { return filepath.Join(c.State, "audit.log") }

// AuditLog is the append-only log of decisions: a line of JSON each, with keys time, level, msg
// (the event), party, study (the plan's hash), name (of the study) and by. It never holds a
// feature, a label, an unreleased number or the words of a refusal. It does not hold the digest of
// an upload either, because whoever can list the possible uploads would find the right one by its
// digest. Several processes may append, because a line is one write.
type AuditLog struct {
	mu     sync.Mutex // guards the fields below except warn and now, and keeps lines apart
	file   *os.File
	syslog string
	remote io.WriteCloser // connection to syslog, nil until syslog has answered
	torn   bool           // the last line may be incomplete
	lines  slog.Handler
	warn   func(error) // called if syslog does not answer
	now    func() time.Time
}

func openAudit(c Config, party study.PartyID) (*AuditLog, error) {
	fail := func(err error) (*AuditLog, error) { return nil, fmt.Errorf("open audit log: %w", err) }
	file, err := os.OpenFile(AuditFile(c), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	a := &AuditLog{file: file, syslog: c.Audit.Syslog, now: c.Now, warn: func(error) {}}
	if c.Log != nil {
		a.warn = func(err error) {
			c.Log.Warn("syslog does not take the audit log's lines; the file has them", "error", err)
		}
	}
	if a.torn, err = endsMidLine(file); err == nil {
		err = folder.Sync(c.State)
	}
	if err != nil {
		file.Close()
		return fail(err)
	}
	a.lines = slog.NewJSONHandler(a,
		nil).WithAttrs([]slog.Attr{slog.String("party", string(party))})
	return a, nil
}

func endsMidLine(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// Write appends one line durably, for the JSON handler.
func (a *AuditLog) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	whole := line
	if a.torn {
		whole = append([]byte{'\n'}, line...)
	}
	_, err := a.file.Write(whole)
	if err == nil {
		err = a.file.Sync()
	}
	if a.torn = err != nil; err != nil {
		return 0, err
	}
	if err := a.forward(line); err != nil {
		a.warn(err)
	}
	return len(line), nil
}

func (a *AuditLog) forward(line []byte) (err error) {
	if a.syslog == "" {
		return nil
	}
	if a.remote == nil {
		if a.remote, err = dialSyslog(a.syslog); err != nil {
			a.remote = nil
			return err
		}
	}
	_, err = a.remote.Write(line)
	return err
}

// Record writes an event of a study durably. If it fails, the event must not happen.
func (a *AuditLog) Record(what string, h study.Hash, name string, args ...any) error {
	return a.write(what, append([]any{"study", h.String(), "name", name}, args...))
}

// RecordSource is Record for an event of a source.
func (a *AuditLog) RecordSource(what, source string, args ...any) error {
	return a.write(what, append([]any{"source", source}, args...))
}

// RecordLeft writes that this site has left.
func (a *AuditLog) RecordLeft() error { return a.write(AuditLeft, nil) }

func (a *AuditLog) write(what string, args []any) error {
	r := slog.NewRecord(a.now().UTC(), slog.LevelInfo, what, 0)
	r.Add(args...)
	if err := a.lines.Handle(context.Background(), r); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

// Close closes the file and syslog. Lines are in the file already: each is one write.
func (a *AuditLog) Close() error {
	err := a.file.Close()
	if a.remote != nil {
		err = errors.Join(err, a.remote.Close())
	}
	return err
}
