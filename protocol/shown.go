package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// ShownHead is a document in which a coordinator signed its ledger's head. A client shows it to the
// coordinator. If the ledger lacks the signed entry, the ledger was restored from an old backup.
type ShownHead struct {
	Kind      DocumentKind `json:"kind"`
	Document  []byte       `json:"document"`
	Signature []byte       `json:"signature"`
}

// MaxShownBytes bounds a shown document. Heads and receipts have a few hundred bytes.
const MaxShownBytes = 64 << 10

// SignedHead signs only a ledger's head, so the same head always gives the same bytes.
func SignedHead(h privacy.Head, s *Signer) ShownHead {
	document, err := json.Marshal(headDocument{h})
	if err != nil {
		panic(err) // impossible: numbers and hexadecimal always marshal
	}
	return ShownHead{HeadDocument, document, s.Sign(HeadDocument, document)}
}

type headDocument struct {
	Ledger privacy.Head `json:"ledger"`
}

// Head checks the signature and returns the ledger's head at signing. Errors wrap ErrDamaged.
func (s ShownHead) Head(key Verifier) (privacy.Head, error) {
	fail := func(err error) (privacy.Head, error) {
		return privacy.Head{}, fmt.Errorf("%w: %s: %v", ErrDamaged, s.Kind, err)
	}
	if len(s.Document) > MaxShownBytes {
		return fail(fmt.Errorf("it has more than %d bytes", MaxShownBytes))
	}
	switch s.Kind {
	case HeadDocument:
		if err := key.Verify(s.Kind, s.Document, s.Signature); err != nil {
			return privacy.Head{}, err
		}
		var d headDocument
		if err := json.Unmarshal(s.Document, &d); err != nil {
			return fail(err)
		}
		return d.Ledger, nil
	case ReceiptDocument:
		r, err := ParseReceipt(s.Document, s.Signature, key)
		return r.Ledger, err
	case AmendmentDocument:
		if err := key.Verify(s.Kind, s.Document, s.Signature); err != nil {
			return privacy.Head{}, err
		}
		a, err := study.DecodeAmendment(s.Document)
		if err != nil {
			return fail(err)
		}
		return a.Ledger, nil
	case NoticeDocument:
		if err := key.Verify(s.Kind, s.Document, s.Signature); err != nil {
			return privacy.Head{}, err
		}
		var n Notice
		if err := decodeNotice(s.Document, &n); err != nil {
			return fail(err)
		}
		return n.Ledger, nil
	case ReleaseDocument:
		r, err := ParseRelease(s.Document, s.Signature, key)
		if errors.Is(err, study.ErrForm) { // the ledger's lines can be read in every form
			err = nil
		}
		var last privacy.Head
		for _, l := range r.Ledger {
			if l.Sequence > last.Sequence {
				last = l.Head()
			}
		}
		return last, err
	}
	return fail(errors.New("no such document tells how far a ledger was"))
}

func (s ShownHead) proto() *pb.Shown {
	if s.Kind == "" {
		return nil
	}
	return &pb.Shown{Kind: string(s.Kind), Document: s.Document, Signature: s.Signature}
}

// ShownHeadFromProto reads a caller's document; the zero Shown if there is none.
func ShownHeadFromProto(s *pb.Shown) ShownHead {
	if s == nil {
		return ShownHead{}
	}
	return ShownHead{DocumentKind(s.Kind), s.Document, s.Signature}
}

// memory keeps the newest document that the coordinator signed, in a file if path is set. The
// newest is the one whose head has the highest number. Of two documents with the same number it
// keeps the first: if the second contradicts the first, the two prove a restore.
type memory struct {
	path string

	mu      sync.Mutex // guards the fields below and the file
	held    ShownHead
	head    privacy.Head
	helpers []HelperRelease // states of helpers from releases, each only once
}

type remembered struct {
	ShownHead
	Helpers []HelperRelease `json:"helpers,omitempty"`
}

func openMemory(path string, keys Verifier) (*memory, error) {
	m := &memory{path: path}
	return m, m.read(keys)
}

func (m *memory) read(keys Verifier) error {
	if m.path == "" {
		return nil
	}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var held remembered
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	var head privacy.Head
	if err == nil && held.Kind != "" {
		head, err = held.Head(keys)
	}
	if err != nil {
		return fmt.Errorf("read %s, which keeps how far the coordinator was: remove it if the coordinator is another one now: %w", m.path, err)
	}
	if m.held.Kind == "" || head.Sequence > m.head.Sequence {
		m.held, m.head = held.ShownHead, head
	}
	for _, l := range held.Helpers {
		m.add(l)
	}
	return nil
}

func (m *memory) newest() (ShownHead, privacy.Head) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held, m.head
}

// keep stores a newer document. It also keeps documents that other processes of this identity
// stored.
func (m *memory) keep(s ShownHead, head privacy.Head, keys Verifier) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held.Kind != "" && head.Sequence <= m.head.Sequence || len(s.Document) > MaxShownBytes {
		return nil
	}
	if err := m.read(keys); err != nil || m.held.Kind != "" && head.Sequence <= m.head.Sequence {
		return err
	}
	m.held, m.head = s, head
	return m.write()
}

func (m *memory) keepHelper(r study.Release, keys Verifier) error {
	l, ok := HelperReleaseOf(r)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.helpers, l) {
		return nil
	}
	if err := m.read(keys); err != nil {
		return err
	}
	m.add(l)
	return m.write()
}

func (m *memory) add(l HelperRelease) {
	if !slices.Contains(m.helpers, l) {
		m.helpers = append(m.helpers, l)
	}
}

func (m *memory) helperBack() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return CheckHelperReleases(m.helpers)
}

// write writes the file. The caller holds mu.
func (m *memory) write() error {
	if m.path == "" {
		return nil
	}
	text, err := json.Marshal(remembered{m.held, m.helpers})
	if err == nil {
		err = WriteSecret(m.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep how far coordinator and helper were: %w", err)
	}
	return nil
}
