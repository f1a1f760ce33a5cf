package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"

	"go.yaml.in/yaml/v3"
)

// Signed is a document with a signature. Package protocol checks the signer and the kind of
// document.
type Signed struct {
	Document  []byte `json:"document"`
	Signature []byte `json:"signature"`
}

// Digest is the SHA-256 of the document alone, so two signatures of one document have the same.
func (s Signed) Digest() Hash { return sha256.Sum256(s.Document) }

// Equal compares the bytes of document and signature. Two signatures of one document may differ.
func (s Signed) Equal(o Signed) bool {
	return bytes.Equal(s.Document, o.Document) && bytes.Equal(s.Signature, o.Signature)
}

type signedYAML struct {
	Document  string `yaml:"document"` // JSON text
	Signature string `yaml:"signature"`
}

// MarshalYAML writes the document as text and the signature in base64.
func (s Signed) MarshalYAML() (any, error) {
	return signedYAML{string(s.Document), base64.StdEncoding.EncodeToString(s.Signature)}, nil
}

// UnmarshalYAML reads what MarshalYAML writes, and checks nothing but base64.
func (s *Signed) UnmarshalYAML(node *yaml.Node) error {
	var y signedYAML
	if err := node.Decode(&y); err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(y.Signature)
	s.Document, s.Signature = []byte(y.Document), signature
	return err
}
