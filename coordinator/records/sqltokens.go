package records

import (
	"encoding/json"
	"fmt"

	"caucus/internal/database"
	"caucus/protocol/admin"
)

func (st *sqlTx) AddToken(k Token) error {
	tags, err := tagText(k.Tags)
	if err != nil {
		return err
	}
	return st.exec("INSERT INTO tokens (id, serial, prefix, labels, quota, created, expires, made_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		k.ID, k.Serial, k.Prefix, tags, k.Quota, k.Created.UnixMilli(), k.Expires.UnixMilli(),
		k.CreatedBy)
}

const tokenColumns = `SELECT id, serial, prefix, labels, quota, created, expires, made_by, revoked,
	(SELECT count(*) FROM joined j WHERE j.token = tokens.id) FROM tokens `

func (t *Token) columns() []any {
	return []any{&t.ID, &t.Serial, &t.Prefix, tagged{&t.Tags}, &t.Quota, millis{&t.Created},
		millis{&t.Expires}, &t.CreatedBy, &t.Revoked, &t.Used}
}

func (st *sqlTx) Token(id string) (k Token, err error) {
	return k, st.one(k.columns(), tokenColumns+"WHERE id = $1", id)
}

func (st *sqlTx) Tokens() ([]Token, error) {
	return database.QueryAll(st.ctx, st.tx, (*Token).columns,
		tokenColumns+"ORDER BY created DESC, id")
}

func (st *sqlTx) RevokeToken(id string) error {
	if err := st.exec("UPDATE tokens SET revoked = TRUE WHERE id = $1", id); err != nil {
		return err
	}
	return st.exec("UPDATE revision SET revocations = revocations + 1")
}

func (st *sqlTx) JoinedByToken(id string, signingKey [32]byte) (name string, certificate []byte,
	err error) {
	err = st.one([]any{&name, &certificate}, "SELECT name, certificate FROM joined WHERE token = $1 AND signing_key = $2", id, signingKey[:])
	return name, certificate, err
}

func (st *sqlTx) Join(id string, signingKey [32]byte, name string, certificate []byte) error {
	return st.exec("INSERT INTO joined (token, signing_key, name, certificate) VALUES ($1, $2, $3, $4)", id, signingKey[:], name, certificate)
}

func (st *sqlTx) TokenOfMember(name string) (id string, err error) {
	return id, st.one([]any{&id}, "SELECT token FROM joined WHERE name = $1 AND NOT replaced", name)
}

func (st *sqlTx) Replace(name string) error {
	return st.exec("UPDATE joined SET replaced = TRUE WHERE name = $1", name)
}

func (st *sqlTx) SetTags(name string, l admin.Tags) error {
	tags, err := tagText(l)
	if err != nil {
		return err
	}
	return st.exec("UPDATE members SET labels = $1 WHERE name = $2", tags, name)
}

func tagText(l admin.Tags) (string, error) {
	if l == nil {
		l = admin.Tags{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

// tagged scans tags into a map that is nil if there are none.
type tagged struct{ to *admin.Tags }

func (t tagged) Scan(v any) error {
	text, _ := v.(string)
	if err := json.Unmarshal([]byte(text), t.to); err != nil {
		return fmt.Errorf("read store: tags, the file is damaged: %w", err)
	}
	if len(*t.to) == 0 {
		*t.to = nil
	}
	return nil
}
