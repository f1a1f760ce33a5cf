package records

import (
	"encoding/json"
	"fmt"

	"caucus/protocol"
)

func (t *sqlTx) AddToken(k Token) error {
	tags, err := tagText(k.Tags)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO tokens (id, serial, prefix, labels, quota, created, expires, made_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		k.ID, k.Serial, k.Prefix, tags, k.Quota, k.Created.UnixMilli(), k.Expires.UnixMilli(), k.By)
}

const tokenColumns = `SELECT id, serial, prefix, labels, quota, created, expires, made_by, revoked,
	(SELECT count(*) FROM joined j WHERE j.token = tokens.id) FROM tokens `

func scanToken(scan func(...any) error) (k Token, err error) {
	var tags string
	var created, expires int64
	if err = scan(&k.ID, &k.Serial, &k.Prefix, &tags, &k.Quota, &created, &expires, &k.By, &k.Revoked, &k.Used); err != nil {
		return k, err
	}
	k.Created, k.Expires = instant(created), instant(expires)
	k.Tags, err = tagsOf(tags)
	return k, err
}

func (t *sqlTx) Token(id string) (k Token, err error) {
	found := false
	err = t.each(func(scan func(...any) error) error {
		found = true
		k, err = scanToken(scan)
		return err
	}, tokenColumns+"WHERE id = $1", id)
	if err == nil && !found {
		err = ErrNone
	}
	return k, err
}

func (t *sqlTx) Tokens() (all []Token, err error) {
	err = t.each(func(scan func(...any) error) error {
		k, err := scanToken(scan)
		all = append(all, k)
		return err
	}, tokenColumns+"ORDER BY created DESC, id")
	return all, err
}

func (t *sqlTx) RevokeToken(id string) error {
	if err := t.exec("UPDATE tokens SET revoked = TRUE WHERE id = $1", id); err != nil {
		return err
	}
	return t.exec("UPDATE revision SET revocations = revocations + 1")
}

func (t *sqlTx) Joined(id string, signingKey [32]byte) (name string, certificate []byte, err error) {
	err = t.one([]any{&name, &certificate}, "SELECT name, certificate FROM joined WHERE token = $1 AND signing_key = $2", id, signingKey[:])
	return name, certificate, err
}

func (t *sqlTx) Join(id string, signingKey [32]byte, name string, certificate []byte) error {
	return t.exec("INSERT INTO joined (token, signing_key, name, certificate) VALUES ($1, $2, $3, $4)", id, signingKey[:], name, certificate)
}

func (t *sqlTx) Came(name string) (id string, err error) {
	return id, t.one([]any{&id}, "SELECT token FROM joined WHERE name = $1 AND NOT replaced", name)
}

func (t *sqlTx) Replace(name string) error {
	return t.exec("UPDATE joined SET replaced = TRUE WHERE name = $1", name)
}

func (t *sqlTx) SetTags(name string, l protocol.Tags) error {
	tags, err := tagText(l)
	if err != nil {
		return err
	}
	return t.exec("UPDATE members SET labels = $1 WHERE name = $2", tags, name)
}

func tagText(l protocol.Tags) (string, error) {
	if l == nil {
		l = protocol.Tags{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

func tagsOf(text string) (l protocol.Tags, err error) {
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, fmt.Errorf("read store: tags, the file is damaged: %w", err)
	}
	if len(l) == 0 {
		return nil, nil
	}
	return l, nil
}
