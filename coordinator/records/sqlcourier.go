package records

import (
	"fmt"

	"caucus/protocol"
	"caucus/study"
)

func (st *sqlTx) SealKey(h study.Hash) (private []byte, signer protocol.SignerKey, err error) {
	var key []byte
	if err := st.one([]any{&private, &key}, "SELECT private, signer FROM seal_keys WHERE study = $1", h[:]); err != nil {
		return nil, signer, err
	}
	if len(key) != len(signer) {
		return nil, signer, fmt.Errorf("read store: a signer's key has %d bytes, the file is damaged", len(key))
	}
	private, err = st.opened(h, private)
	return private, protocol.SignerKey(key), err
}

func (st *sqlTx) SetSealKey(h study.Hash, private []byte, signer protocol.SignerKey) error {
	private, err := st.sealed(h, private)
	if err != nil {
		return err
	}
	return st.exec("INSERT INTO seal_keys (study, private, signer) VALUES ($1, $2, $3) ON CONFLICT (study) DO UPDATE SET private = excluded.private, signer = excluded.signer",
		h[:], private, signer[:])
}

func (st *sqlTx) ReceiptKey(h study.Hash, p study.PartyID) (key []byte, err error) {
	return key, st.one([]any{&key}, "SELECT key FROM receipt_keys WHERE study = $1 AND party = $2", h[:], p)
}

func (st *sqlTx) SetReceiptKey(h study.Hash, p study.PartyID, key []byte) error {
	return st.exec("INSERT INTO receipt_keys (study, party, key) VALUES ($1, $2, $3) ON CONFLICT (study, party) DO UPDATE SET key = excluded.key", h[:], p, key)
}
