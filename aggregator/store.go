package aggregator

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"caucus/internal/database"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

//go:embed migrations/*.sql
var migrations embed.FS

// batch bounds the contributions of one call and of one transaction.
const batch = 32

// file describes the database. Its application number is "Caus" in ASCII. Deleted data is
// overwritten.
var file = database.SQLite{
	Schema:  database.Schema{Name: "shares", Application: 0x43617573, Migrations: migrations, SetupSQL: before},
	Pragmas: []string{"foreign_keys(1)", "secure_delete(1)"},
}

// before is SQL that defines SQLite's function json_extract in PostgreSQL, where a record cast to
// text is hexadecimal.
const before = `CREATE FUNCTION json_extract(record TEXT, path TEXT) RETURNS TEXT IMMUTABLE LANGUAGE SQL AS
	$$ SELECT convert_from(decode(substr(record, 3), 'hex'), 'UTF8')::jsonb #>> string_to_array(substr(path, 3), '.') $$`

// record is a study's agreements and progress at one server. Own and Theirs are the acceptances of
// this server and of the other one. An agreement, once stored, never changes.
type record struct {
	Half      half   `json:"half"`
	Own       Signed `json:"own"`
	Theirs    Signed `json:"theirs"`
	OtherHalf *half  `json:"other_half,omitempty"`
	Closed    bool   `json:"closed,omitempty"` // at a coordinator: no more contributions are taken
	// Amendments are the plan's amendments when the coordinator closed the study.
	Amendments [][]byte `json:"amendments,omitempty"`
	Set        Signed   `json:"set"` // the set, with this server's signature
	SetTheirs  []byte   `json:"set_theirs,omitempty"`
	Share      Signed   `json:"share"`
	ShareOther Signed   `json:"share_other"` // at a coordinator: the helper's share
	Failed     string   `json:"failed,omitempty"`
	// at a coordinator: the helper has heard of the failure
	Told bool `json:"told,omitempty"`
	// at a helper: a share that it signed and no longer has
	Lost Signed `json:"lost,omitzero"`
	// promise is, at a helper, what the acceptance promised. Acceptances of earlier versions lack
	// it.
	promise
}

// promise is a study's place at a helper: until when the helper keeps it, and what the release will
// cost.
type promise struct {
	Deadline time.Time      `json:"deadline,omitzero"`
	Costs    []privacy.Cost `json:"costs,omitempty"`
}

// over reports whether a study's place has ended by its plan's deadline.
func (p promise) over(now time.Time) bool { return !p.Deadline.IsZero() && now.After(p.Deadline) }

func (r record) keyed() bool  { return r.OtherHalf != nil }
func (r record) sealed() bool { return r.SetTheirs != nil }

func (r record) open() bool {
	return r.Own.Document != nil && r.Share.Document == nil && r.Failed == ""
}

// state names how far a study is.
func (r record) state() string {
	switch {
	case r.Failed != "":
		return "failed"
	case r.Share.Document != nil:
		return "released"
	case r.Set.Document != nil:
		return "sealed"
	case r.keyed():
		return "open"
	}
	return "accepted"
}

type verdict int

const (
	waiting verdict = iota
	accepted
	refused
)

type contribution struct {
	party   study.PartyID
	digest  Digest
	weight  int64
	verdict verdict
	upload  []byte
	message []byte
}

type sumRow struct {
	sum                   []byte
	weight, contributions int64
}

func (s sumRow) digest() Digest {
	return hashed("caucus share of a sum 1", s.sum,
		binary.BigEndian.AppendUint64(nil, uint64(s.weight)), binary.BigEndian.AppendUint64(nil,
			uint64(s.contributions)))
}

type transaction struct {
	ctx  context.Context
	tx   *sql.Tx
	hash study.Hash
}

var errNone = errors.New("no such study here")

func (t *transaction) record() (r record, err error) {
	var text []byte
	err = t.tx.QueryRowContext(t.ctx, "SELECT record FROM studies WHERE hash = $1",
		t.hash[:]).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return r, errNone
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

func (t *transaction) setRecord(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return t.run("INSERT INTO studies (hash, record) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET record = excluded.record", t.hash[:], text)
}

func (t *transaction) run(query string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, query, args...)
	return err
}

func (t *transaction) contribution(p study.PartyID) (c contribution, found bool, err error) {
	all, err := t.contributions("party = $2", string(p))
	if len(all) == 1 {
		c, found = all[0], true
	}
	return c, found, err
}

func (t *transaction) contributed() (any bool, err error) {
	err = t.tx.QueryRowContext(t.ctx, "SELECT EXISTS (SELECT 1 FROM contributions WHERE study = $1)", t.hash[:]).Scan(&any)
	return any, err
}

func (t *transaction) digestOf(p study.PartyID) (d Digest, found bool, err error) {
	err = t.tx.QueryRowContext(t.ctx, "SELECT digest FROM contributions WHERE study = $1 AND party = $2", t.hash[:], string(p)).Scan(database.ScanHash(&d))
	if errors.Is(err, sql.ErrNoRows) {
		return d, false, nil
	}
	return d, err == nil, err
}

func (t *transaction) each(yield func(study.PartyID, Digest, verdict)) error {
	all, err := database.QueryAll(t.ctx, t.tx, func(c *contribution) []any {
		return []any{&c.party, database.ScanHash(&c.digest), &c.verdict}
	},
		"SELECT party, digest, verdict FROM contributions WHERE study = $1 ORDER BY party", t.hash[:])
	for _, c := range all {
		yield(c.party, c.digest, c.verdict)
	}
	return err
}

func (t *transaction) contributions(where string, args ...any) ([]contribution, error) {
	return database.QueryAll(t.ctx, t.tx, func(c *contribution) []any {
		return []any{&c.party, database.ScanHash(&c.digest), &c.weight, &c.verdict, &c.upload,
			&c.message}
	}, "SELECT party, digest, weight, verdict, upload, message FROM contributions WHERE study = $1 AND "+where+" ORDER BY party LIMIT "+fmt.Sprint(batch), append([]any{t.hash[:]}, args...)...)
}

func (t *transaction) addContribution(c contribution) error {
	return t.run("INSERT INTO contributions (study, party, digest, weight, verdict, upload, message) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		t.hash[:], string(c.party), c.digest[:], c.weight, c.verdict, c.upload, c.message)
}

func (t *transaction) prepared(p study.PartyID, message []byte) error {
	return t.run("UPDATE contributions SET message = $3 WHERE study = $1 AND party = $2", t.hash[:], string(p), message)
}

func (t *transaction) decide(p study.PartyID, v verdict) error {
	return t.run("UPDATE contributions SET verdict = $3, upload = NULL, message = NULL WHERE study = $1 AND party = $2", t.hash[:], string(p), v)
}

func (t *transaction) sum() (s sumRow, err error) {
	var digest []byte
	err = t.tx.QueryRowContext(t.ctx, "SELECT sum, digest, weight, contributions FROM sums WHERE study = $1", t.hash[:]).Scan(&s.sum, &digest, &s.weight, &s.contributions)
	if errors.Is(err, sql.ErrNoRows) {
		return sumRow{}, nil
	}
	if want := s.digest(); err == nil && !bytes.Equal(digest, want[:]) {
		err = fmt.Errorf("%w: the sum in the store of shares is not what was written", protocol.ErrDamaged)
	}
	return s, err
}

func (t *transaction) setSum(s sumRow) error {
	digest := s.digest()
	return t.run("INSERT INTO sums (study, sum, digest, weight, contributions) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (study) DO UPDATE SET sum = excluded.sum, digest = excluded.digest, weight = excluded.weight, contributions = excluded.contributions", t.hash[:], s.sum, digest[:], s.weight, s.contributions)
}

func (t *transaction) wipe() error {
	if err := t.run("DELETE FROM sums WHERE study = $1", t.hash[:]); err != nil {
		return err
	}
	return t.run("UPDATE contributions SET upload = NULL, message = NULL WHERE study = $1", t.hash[:])
}

func (t *transaction) steps() (n int64, err error) {
	err = t.tx.QueryRowContext(t.ctx, "SELECT n FROM steps").Scan(&n)
	return n, err
}

func (t *transaction) bytes() (n int64, err error) {
	err = t.tx.QueryRowContext(t.ctx, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()").Scan(&n)
	return n, err
}

// next returns the transaction's number. update adds 1 to steps before it commits.
func (t *transaction) next() (int64, error) {
	n, err := t.steps()
	return n + 1, err
}

func (t *transaction) records(yield func(study.Hash, record) error) error {
	hashes, err := hashesBy(t.ctx, t.tx, "SELECT hash FROM studies")
	for _, h := range hashes {
		r, err := (&transaction{t.ctx, t.tx, h}).record()
		if err == nil {
			err = yield(h, r)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// untoldQuery lists the failed studies of which the other server has not been told. Migration 2 has
// an index for it.
const untoldQuery = "SELECT hash FROM studies WHERE json_extract(CAST(record AS TEXT), '$.failed') IS NOT NULL AND json_extract(CAST(record AS TEXT), '$.told') IS NULL"

func hashesBy(ctx context.Context, tx *sql.Tx, query string) ([]study.Hash, error) {
	return database.QueryAll(ctx, tx, func(h *study.Hash) []any {
		return []any{database.ScanHash(h)}
	}, query)
}
