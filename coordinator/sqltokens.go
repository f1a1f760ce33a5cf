package coordinator

import (
	"encoding/json"
	"fmt"

	"caucus/protocol"
)

func (t *sqlTx) AddToken(k token) error {
	labels, err := labelText(k.Labels)
	if err != nil {
		return err
	}
	allowed, err := json.Marshal(append([]string{}, k.Allow...))
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO tokens (id, serial, prefix, labels, quota, created, expires, made_by, authority, allowed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		k.ID, k.Serial, k.Prefix, labels, k.Quota, k.Created.UnixMilli(), k.Expires.UnixMilli(), k.By, k.Authority, string(allowed))
}

const tokenColumns = `SELECT id, serial, prefix, labels, quota, created, expires, made_by, revoked, authority, allowed,
	(SELECT count(*) FROM joined j WHERE j.token = tokens.id) FROM tokens `

func scanToken(scan func(...any) error) (k token, err error) {
	var labels, allowed string
	var created, expires int64
	if err = scan(&k.ID, &k.Serial, &k.Prefix, &labels, &k.Quota, &created, &expires, &k.By, &k.Revoked, &k.Authority, &allowed, &k.Used); err != nil {
		return k, err
	}
	k.Created, k.Expires = instant(created), instant(expires)
	if k.Labels, err = labelsOf(labels); err != nil {
		return k, err
	}
	if err := json.Unmarshal([]byte(allowed), &k.Allow); err != nil {
		return k, fmt.Errorf("read store: a join token's names, the file is damaged: %w", err)
	}
	if len(k.Allow) == 0 {
		k.Allow = nil
	}
	return k, nil
}

func (t *sqlTx) Token(id string) (k token, err error) {
	found := false
	err = t.each(func(scan func(...any) error) error {
		found = true
		k, err = scanToken(scan)
		return err
	}, tokenColumns+"WHERE id = $1", id)
	if err == nil && !found {
		err = errNone
	}
	return k, err
}

func (t *sqlTx) Tokens() (all []token, err error) {
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

func (t *sqlTx) Rejoin(name string, signingKey [32]byte, certificate []byte) error {
	return t.exec("UPDATE joined SET signing_key = $1, certificate = $2 WHERE name = $3", signingKey[:], certificate, name)
}

func (t *sqlTx) Vouched(name string) (vouched, error) {
	v := vouched{Name: name}
	return v, t.one([]any{&v.Authority, &v.Certificate, &v.Issuer}, "SELECT authority, certificate, issuer FROM vouched WHERE name = $1", name)
}

func (t *sqlTx) SetVouched(v vouched) error {
	return t.exec(`INSERT INTO vouched (name, authority, certificate, issuer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET authority = excluded.authority, certificate = excluded.certificate, issuer = excluded.issuer`, v.Name, v.Authority, v.Certificate, v.Issuer)
}

func (t *sqlTx) AllVouched() (all []vouched, err error) {
	err = t.each(func(scan func(...any) error) error {
		var v vouched
		err := scan(&v.Name, &v.Authority, &v.Certificate, &v.Issuer)
		all = append(all, v)
		return err
	}, "SELECT name, authority, certificate, issuer FROM vouched ORDER BY name")
	return all, err
}

func (t *sqlTx) Came(name string) (c came, err error) {
	var key []byte
	if err = t.one([]any{&c.Token, &key, &c.Certificate}, "SELECT token, signing_key, certificate FROM joined WHERE name = $1 AND NOT replaced", name); err == nil {
		c.SigningKey, err = digest32(key)
	}
	return c, err
}

func (t *sqlTx) Replace(name string) error {
	if _, err := t.run("DELETE FROM vouched WHERE name = $1", name); err != nil {
		return err
	}
	return t.exec("UPDATE joined SET replaced = TRUE WHERE name = $1", name)
}

func (t *sqlTx) SetLabels(name string, l protocol.Labels) error {
	labels, err := labelText(l)
	if err != nil {
		return err
	}
	return t.exec("UPDATE members SET labels = $1 WHERE name = $2", labels, name)
}

func labelText(l protocol.Labels) (string, error) {
	if l == nil {
		l = protocol.Labels{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

func labelsOf(text string) (l protocol.Labels, err error) {
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, fmt.Errorf("read store: labels, the file is damaged: %w", err)
	}
	if len(l) == 0 {
		return nil, nil
	}
	return l, nil
}
