package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"caucus/auxdata"
	"caucus/internal/database"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// sqlTx is a Tx in SQL that SQLite and PostgreSQL both accept.
type sqlTx struct {
	ctx  context.Context
	tx   *sql.Tx
	keys *StudyKeys   // nil: nothing is encrypted
	over []study.Hash // studies that end with this transaction
}

func (st *sqlTx) run(query string, args ...any) (sql.Result, error) {
	return st.tx.ExecContext(st.ctx, query, args...)
}

// exec runs a statement that must change at least one row.
func (st *sqlTx) exec(query string, args ...any) error {
	r, err := st.run(query, args...)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNoRow)
	}
	return nil
}

func (st *sqlTx) one(to []any, query string, args ...any) error {
	err := st.tx.QueryRowContext(st.ctx, query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoRow
	}
	return err
}

func (st *sqlTx) each(read func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := st.tx.QueryContext(st.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (st *sqlTx) Savepoint(fn func() error) (undone, err error) {
	if _, err := st.run("SAVEPOINT attempt"); err != nil {
		return nil, err
	}
	if undone = fn(); undone != nil {
		_, err = st.run("ROLLBACK TO attempt")
	}
	if err == nil {
		_, err = st.run("RELEASE attempt")
	}
	return undone, err
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

type millis struct{ to *time.Time }

func (m millis) Scan(v any) error {
	ms, is := v.(int64)
	if *m.to = instant(ms); !is {
		return fmt.Errorf("read store: a time is %v, the file is damaged", v)
	}
	return nil
}

func (st *sqlTx) Certificate(serial string) (Certificate, error) {
	c := Certificate{Serial: serial}
	return c, st.one([]any{&c.Name, &c.Role, millis{&c.Expires}, &c.Revoked},
		"SELECT c.name, m.role, c.expires, c.revoked FROM certificates c JOIN members m ON m.name = c.name WHERE c.serial = $1", serial)
}

func (st *sqlTx) Invitation(serial string) (Invitation, error) {
	v := Invitation{Serial: serial}
	var key []byte
	err := st.one([]any{&v.Name, &v.Role, millis{&v.Expires}, &v.Revoked, &key, &v.Certificate},
		"SELECT v.name, m.role, v.expires, v.revoked, v.signing_key, v.certificate FROM invitations v JOIN members m ON m.name = v.name WHERE v.serial = $1", serial)
	if err == nil && v.Certificate != nil {
		err = database.ScanHash(&v.SigningKey).Scan(key)
	}
	return v, err
}

func (st *sqlTx) Member(name string) (role protocol.Role, err error) {
	return role, st.one([]any{&role}, "SELECT role FROM members WHERE name = $1", name)
}

func (st *sqlTx) MemberIgnoringCase(name string) (had string, err error) {
	return had, st.one([]any{&had}, "SELECT name FROM members WHERE lower(name) = lower($1) ORDER BY name = $1 DESC", name)
}

func (st *sqlTx) Members(now time.Time) ([]admin.Member, error) {
	type dates struct{ certificate, invitation, any int64 }
	latest := map[string]dates{}
	err := st.each(func(scan func(...any) error) error {
		var name string
		var kind, expires int64
		var revoked bool
		if err := scan(&name, &kind, &expires, &revoked); err != nil {
			return err
		}
		d := latest[name]
		d.any = max(d.any, expires)
		if !revoked && kind == 1 {
			d.certificate = max(d.certificate, expires)
		} else if !revoked {
			d.invitation = max(d.invitation, expires)
		}
		latest[name] = d
		return nil
	}, `SELECT name, 1, expires, revoked FROM certificates
		UNION ALL SELECT name, 0, expires, revoked FROM invitations WHERE certificate IS NULL`)
	if err != nil {
		return nil, err
	}
	var all []admin.Member
	err = st.each(func(scan func(...any) error) error {
		var m admin.Member
		if err := scan(&m.Name, &m.Role, tagged{&m.Tags}, &m.Token); err != nil {
			return err
		}
		d, ms := latest[m.Name], now.UnixMilli()
		switch {
		case d.certificate > ms:
			m.Status, m.Expires = admin.StatusEnrolled, instant(d.certificate)
		case d.invitation > ms:
			m.Status, m.Expires = admin.StatusInvited, instant(d.invitation)
		case d.certificate > 0 || d.invitation > 0:
			m.Status, m.Expires = admin.StatusExpired, instant(max(d.certificate, d.invitation))
		default:
			m.Status, m.Expires = admin.StatusRevoked, instant(d.any)
			if m.Tags[admin.TagLeft] != "" {
				m.Status = admin.StatusLeft
			}
		}
		all = append(all, m)
		return nil
	}, "SELECT m.name, m.role, m.labels, coalesce(j.token, '') FROM members m LEFT JOIN joined j ON j.name = m.name AND NOT j.replaced ORDER BY m.name")
	return all, err
}

func (st *sqlTx) AddMember(name string, role protocol.Role) error {
	return st.exec("INSERT INTO members (name, role) VALUES ($1, $2)", name, role)
}

func (st *sqlTx) AddInvitation(v Invitation) error {
	return st.exec("INSERT INTO invitations (serial, name, expires) VALUES ($1, $2, $3)", v.Serial, v.Name, v.Expires.UnixMilli())
}

func (st *sqlTx) Redeem(serial string, signingKey [32]byte, certificate []byte) error {
	return st.exec("UPDATE invitations SET signing_key = $1, certificate = $2 WHERE serial = $3 AND certificate IS NULL", signingKey[:], certificate, serial)
}

func (st *sqlTx) AddCertificate(c Certificate) error {
	return st.exec("INSERT INTO certificates (serial, name, expires) VALUES ($1, $2, $3)", c.Serial, c.Name, c.Expires.UnixMilli())
}

func (st *sqlTx) CertificatesValidAfter(name string, at time.Time) (n int, err error) {
	err = st.one([]any{&n}, "SELECT count(*) FROM certificates WHERE name = $1 AND expires > $2 AND NOT revoked", name, at.UnixMilli())
	return n, err
}

func (st *sqlTx) Revoke(name string) error {
	if _, err := st.Member(name); err != nil {
		return err
	}
	for _, table := range []string{"certificates", "invitations"} {
		if _, err := st.run("UPDATE "+table+" SET revoked = TRUE WHERE name = $1",
			name); err != nil {
			return err
		}
	}
	return st.exec("UPDATE revision SET revocations = revocations + 1")
}

func (st *sqlTx) Revision() (n int64, err error) {
	return n, st.one([]any{&n}, "SELECT revocations FROM revision")
}

func (st *sqlTx) PoolSize(d auxdata.Digest) (size uint64, err error) {
	return size, st.one([]any{&size}, "SELECT size FROM pools WHERE digest = $1", d[:])
}

func (st *sqlTx) Pool(d auxdata.Digest, offset uint64, n int) ([]byte, error) {
	var out []byte
	// A pool's parts start at multiples of ChunkSize, so the first part to read is known.
	first := offset - offset%protocol.ChunkSize
	err := st.each(func(scan func(...any) error) error {
		var start uint64
		var data []byte
		if err := scan(&start, &data); err != nil {
			return err
		}
		if skip := max(offset, start) - start; skip < uint64(len(data)) {
			out = append(out, data[skip:]...)
		}
		return nil
	}, "SELECT start, data FROM pool_parts WHERE digest = $1 AND start >= $2 AND start < $3 ORDER BY start", d[:], first, offset+uint64(n))
	return out[:min(n, len(out))], err
}

func (st *sqlTx) AddPool(d auxdata.Digest, data []byte) error {
	if err := st.exec("INSERT INTO pools (digest, size) VALUES ($1, $2)", d[:], len(data)); err != nil {
		return err
	}
	for start := 0; start < len(data); start += protocol.ChunkSize {
		part := data[start:min(start+protocol.ChunkSize, len(data))]
		if err := st.exec("INSERT INTO pool_parts (digest, start, data) VALUES ($1, $2, $3)", d[:], start, part); err != nil {
			return err
		}
	}
	return nil
}

func (st *sqlTx) Studies() ([]Study, error) {
	return database.QueryAll(st.ctx, st.tx, func(s *Study) []any {
		return []any{database.ScanHash(&s.Hash), &s.Name, millis{&s.Created}, &s.State, &s.Reason}
	}, "SELECT hash, name, created, state, reason FROM studies ORDER BY created DESC, name")
}

func (st *sqlTx) Study(h study.Hash) (Study, error) {
	s := Study{Hash: h}
	return s, st.one([]any{&s.Name, &s.Plan, &s.Signature, millis{&s.Created}, &s.State, &s.Reason},
		"SELECT name, plan, signature, created, state, reason FROM studies WHERE hash = $1", h[:])
}

func (st *sqlTx) AddStudy(s Study) error {
	return st.exec("INSERT INTO studies (hash, name, plan, signature, created, state, reason) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		s.Hash[:], s.Name, s.Plan, s.Signature, s.Created.UnixMilli(), s.State, s.Reason)
}

func (st *sqlTx) RenameStudy(h study.Hash, name string) error {
	return st.exec("UPDATE studies SET name = $1 WHERE hash = $2", name, h[:])
}

func (st *sqlTx) AddForecast(h study.Hash, f study.Signed) error {
	return st.exec("INSERT INTO forecasts (study, document, signature) VALUES ($1, $2, $3)", h[:], f.Document, f.Signature)
}

func (st *sqlTx) Forecast(h study.Hash) (f study.Signed, err error) {
	return f, st.one([]any{&f.Document, &f.Signature}, "SELECT document, signature FROM forecasts WHERE study = $1", h[:])
}

func (st *sqlTx) SetState(h study.Hash, from, s study.State, reason string) error {
	if err := st.exec("UPDATE studies SET state = $1, reason = $2 WHERE hash = $3 AND state = $4", s, reason, h[:], from); err != nil {
		return fmt.Errorf("study %s is not %s any more: %w", h, from, err)
	}
	if !protocol.IsFinal(s) {
		return nil
	}
	st.over = append(st.over, h)
	if _, err := st.run("UPDATE contributions SET body = NULL WHERE study = $1 AND body IS NOT NULL", h[:]); err != nil {
		return err
	}
	if err := st.forgetDigests(h); err != nil {
		return err
	}
	for _, table := range []string{"sums", "losses", "seal_keys"} {
		if _, err := st.run("DELETE FROM "+table+" WHERE study = $1", h[:]); err != nil {
			return err
		}
	}
	return nil
}

// forgetDigests blanks digests and receipts of an ended study that confirm a guess of exact
// numbers: those of plans of earlier versions, whose bodies in clear begin with no commitment
// (package bodies). Migration 13 did the same to studies that had ended before. A party that lost
// its receipt collects the release without one.
func (st *sqlTx) forgetDigests(h study.Hash) error {
	row, err := st.Study(h)
	if err != nil {
		return err
	}
	p, _, err := protocol.ParsePlan(row.Plan)
	if err == nil && (!p.Noise.SumsInClear() || p.Form >= study.FormCommitted) {
		return nil
	}
	_, err = st.run("UPDATE contributions SET digest = $1, receipt = $2, signature = $2 WHERE study = $3", make([]byte, len(study.BodyDigest{})), []byte{}, h[:])
	return err
}

func (st *sqlTx) AddAmendment(h study.Hash, a study.Signed, number int) error {
	return st.exec("INSERT INTO amendments (study, number, document, signature) VALUES ($1, $2, $3, $4)", h[:], number, a.Document, a.Signature)
}

func (st *sqlTx) Amendments(h study.Hash) ([]study.Signed, error) {
	return database.QueryAll(st.ctx, st.tx, func(a *study.Signed) []any { return []any{&a.Document, &a.Signature} }, "SELECT document, signature FROM amendments WHERE study = $1 ORDER BY number", h[:])
}

func (st *sqlTx) AddRelease(h study.Hash, r Release) error {
	return st.exec("INSERT INTO releases (study, document, signature, ledger_entry) VALUES ($1, $2, $3, $4)", h[:], r.Document, r.Signature, r.LedgerEntry)
}

func (st *sqlTx) Release(h study.Hash) (r Release, err error) {
	return r, st.one([]any{&r.Document, &r.Signature, &r.LedgerEntry}, "SELECT document, signature, ledger_entry FROM releases WHERE study = $1", h[:])
}

func (st *sqlTx) LedgerEntry() (n int64, err error) {
	return n, st.one([]any{&n}, "SELECT coalesce(max(ledger_entry), 0) FROM releases")
}

func (st *sqlTx) Received(h study.Hash) (map[study.PartyID]study.BodyDigest, error) {
	all := map[study.PartyID]study.BodyDigest{}
	err := st.each(func(scan func(...any) error) error {
		var party study.PartyID
		var d study.BodyDigest
		err := scan(&party, database.ScanHash(&d))
		all[party] = d
		return err
	}, "SELECT party, digest FROM contributions WHERE study = $1", h[:])
	return all, err
}

func (st *sqlTx) Receipt(h study.Hash, p study.PartyID) (protocol.Receipt, error) {
	r := protocol.Receipt{Plan: h, Party: p}
	return r, st.one([]any{database.ScanHash(&r.Body), &r.Document, &r.Signature}, "SELECT digest, receipt, signature FROM contributions WHERE study = $1 AND party = $2", h[:], p)
}

func (st *sqlTx) AddContribution(r protocol.Receipt, body []byte) error {
	if body == nil {
		body = []byte{}
	}
	body, err := st.sealed(r.Plan, body)
	if err != nil {
		return err
	}
	return st.exec("INSERT INTO contributions (study, party, digest, receipt, signature, body) VALUES ($1, $2, $3, $4, $5, $6)",
		r.Plan[:], r.Party, r.Body[:], r.Document, r.Signature, body)
}

func (st *sqlTx) Decline(h study.Hash, p study.PartyID) (first bool, err error) {
	err = st.exec("INSERT INTO declines (study, party) VALUES ($1, $2) ON CONFLICT DO NOTHING", h[:], p)
	if errors.Is(err, ErrNoRow) {
		return false, nil
	}
	return err == nil, err
}

func (st *sqlTx) Contributions(h study.Hash) (received, lost int, err error) {
	err = st.one([]any{&received, &lost},
		"SELECT (SELECT count(*) FROM contributions WHERE study = $1), (SELECT count(*) FROM losses WHERE study = $1)", h[:])
	return received, lost, err
}

func (st *sqlTx) Declined(h study.Hash) ([]study.PartyID, error) {
	return database.QueryAll(st.ctx, st.tx, func(p *study.PartyID) []any { return []any{p} }, "SELECT party FROM declines WHERE study = $1 ORDER BY party", h[:])
}

func (st *sqlTx) UnsummedContributions(h study.Hash, after study.PartyID, n int) ([]Contribution,
	error) {
	var all []Contribution
	size := 0
	err := st.each(func(scan func(...any) error) error {
		var c Contribution
		err := scan(&c.Party, database.ScanHash(&c.Digest), &c.Body)
		all = append(all, c)
		if size += len(c.Body); err == nil && size >= batchBytes {
			err = errEnough
		}
		return err
	}, "SELECT party, digest, body FROM contributions WHERE study = $1 AND body IS NOT NULL AND party > $2 ORDER BY party LIMIT $3", h[:], after, n)
	if err == errEnough {
		err = nil
	}
	for i := range all {
		if err == nil {
			all[i].Body, err = st.opened(h, all[i].Body)
		}
	}
	return all, err
}

// batchBytes bounds the memory of contributions read together. The contribution that reaches it is
// the last of its batch.
const batchBytes = 16 << 20

var errEnough = errors.New("enough was read")

func (st *sqlTx) Body(h study.Hash, p study.PartyID) (body []byte, err error) {
	err = st.one([]any{&body}, "SELECT body FROM contributions WHERE study = $1 AND party = $2 AND body IS NOT NULL", h[:], p)
	if err == nil {
		body, err = st.opened(h, body)
	}
	return body, err
}

func (st *sqlTx) Sum(h study.Hash) (sum []byte, contributions int, err error) {
	var digest []byte
	err = st.one([]any{&contributions, &sum, &digest}, "SELECT contributions, sum, digest FROM sums WHERE study = $1", h[:])
	if errors.Is(err, ErrNoRow) {
		return nil, 0, nil
	}
	if err == nil && !bytes.Equal(digest, sumDigest(sum, contributions)) {
		err = ErrDamagedSum
	}
	if err == nil {
		sum, err = st.opened(h, sum)
	}
	return sum, contributions, err
}

func sumDigest(sum []byte, contributions int) []byte {
	d := sha256.Sum256(binary.BigEndian.AppendUint64(slices.Clone(sum), uint64(contributions)))
	return d[:]
}

func (st *sqlTx) SetSum(h study.Hash, sum []byte, contributions int, folded []Contribution) error {
	sum, err := st.sealed(h, sum)
	if err != nil {
		return err
	}
	err = st.exec(`INSERT INTO sums (study, contributions, sum, digest) VALUES ($1, $2, $3, $4)
		ON CONFLICT (study) DO UPDATE SET contributions = excluded.contributions, sum = excluded.sum, digest = excluded.digest`, h[:], contributions, sum, sumDigest(sum, contributions))
	if err != nil {
		return err
	}
	for _, c := range folded {
		if err := st.exec("UPDATE contributions SET body = NULL WHERE study = $1 AND party = $2", h[:], c.Party); err != nil {
			return err
		}
	}
	return nil
}

func (st *sqlTx) AddHeadProof(w HeadProof) error {
	_, err := st.run(`INSERT INTO witnessed (hash, sequence, kind, document, signature, shown_by, shown)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
		w.Head.Hash[:], w.Head.Sequence, w.Document.Kind, w.Document.Document, w.Document.Signature,
		w.ShownBy,
		w.ShownAt.UnixMilli())
	return err
}

func (st *sqlTx) HeadProofs() ([]HeadProof, error) {
	return database.QueryAll(st.ctx, st.tx, func(w *HeadProof) []any {
		return []any{database.ScanHash(&w.Head.Hash), &w.Head.Sequence, &w.Document.Kind,
			&w.Document.Document, &w.Document.Signature, &w.ShownBy, millis{&w.ShownAt}}
	}, "SELECT hash, sequence, kind, document, signature, shown_by, shown FROM witnessed ORDER BY sequence, hash")
}

func (st *sqlTx) MarkLost(h study.Hash, parties []study.PartyID, noticed time.Time) error {
	for _, p := range parties {
		if err := st.exec("UPDATE contributions SET body = NULL WHERE study = $1 AND party = $2", h[:], p); err != nil {
			return err
		}
		if err := st.exec("INSERT INTO losses (study, party, noticed) VALUES ($1, $2, $3)", h[:], p, noticed.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

func (st *sqlTx) MarkSumLost(h study.Hash, noticed time.Time) error {
	if _, err := st.run("DELETE FROM sums WHERE study = $1", h[:]); err != nil {
		return err
	}
	_, err := st.run("INSERT INTO losses (study, party, noticed) SELECT study, party, $1 FROM contributions WHERE study = $2 AND body IS NULL ON CONFLICT DO NOTHING", noticed.UnixMilli(), h[:])
	return err
}

func (st *sqlTx) Lost(h study.Hash) (map[study.PartyID]time.Time, error) {
	all := map[study.PartyID]time.Time{}
	err := st.each(func(scan func(...any) error) error {
		var p study.PartyID
		var noticed time.Time
		err := scan(&p, millis{&noticed})
		all[p] = noticed
		return err
	}, "SELECT party, noticed FROM losses WHERE study = $1", h[:])
	return all, err
}

func (st *sqlTx) Restore(h study.Hash, p study.PartyID, body []byte) error {
	if err := st.exec("DELETE FROM losses WHERE study = $1 AND party = $2", h[:], p); err != nil {
		return err
	}
	body, err := st.sealed(h, body)
	if err != nil {
		return err
	}
	return st.exec("UPDATE contributions SET body = $1 WHERE study = $2 AND party = $3 AND body IS NULL", body, h[:], p)
}

func (st *sqlTx) DropContributions(h study.Hash, parties []study.PartyID) error {
	for _, p := range parties {
		if _, err := st.run("DELETE FROM losses WHERE study = $1 AND party = $2", h[:], p); err != nil {
			return err
		}
		if err := st.exec("DELETE FROM contributions WHERE study = $1 AND party = $2", h[:], p); err != nil {
			return err
		}
	}
	return nil
}

func (st *sqlTx) LastTime() (last time.Time, err error) {
	return last, st.one([]any{millis{&last}}, "SELECT time FROM clock")
}

func (st *sqlTx) SetLastTime(now time.Time) error {
	return st.exec("INSERT INTO clock (one, time) VALUES (TRUE, $1) ON CONFLICT (one) DO UPDATE SET time = excluded.time", now.UnixMilli())
}
