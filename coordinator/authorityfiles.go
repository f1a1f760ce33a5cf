package coordinator

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"caucus/protocol"
)

// foreign reads authorities, whose files it looks up in a folder.
type foreign struct {
	dir         string
	authorities map[string]ForeignAuthority
	reading     map[string]chan struct{} // holds one while that authority's files are read
}

func newForeign(dir string, authorities map[string]ForeignAuthority) foreign {
	f := foreign{dir, authorities, map[string]chan struct{}{}}
	for name := range authorities {
		f.reading[name] = make(chan struct{}, 1)
	}
	return f
}

// check refuses authorities that nobody could join by.
func (f foreign) check() error {
	for name, a := range f.authorities {
		if err := protocol.CheckName(name); err != nil {
			return fmt.Errorf("authorities: %w", err)
		}
		if a.Certificates == "" {
			return fmt.Errorf("authorities: %s: certificates: name a PEM file of the authority's own certificates", name)
		}
		if a.Name != "" && a.Name != nameDNS && a.Name != nameCommon {
			return fmt.Errorf("authorities: %s: name: %q: want %s or %s", name, a.Name, nameDNS, nameCommon)
		}
	}
	return nil
}

// open checks that all files can be read.
func (f foreign) open() error {
	for name, a := range f.authorities {
		if _, err := f.readRoots(a); err != nil {
			return fmt.Errorf("authorities: %s: %w", name, err)
		}
		if _, err := f.readLists(a); err != nil {
			return fmt.Errorf("authorities: %s: %w", name, err)
		}
	}
	return nil
}

func (f foreign) read(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	return os.ReadFile(path)
}

func (f foreign) readRoots(a ForeignAuthority) (all []*x509.Certificate, err error) {
	text, err := f.read(a.Certificates)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("certificates: %s holds a %s: give certificates alone", a.Certificates, strings.ToLower(block.Type))
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificates: %s: %w", a.Certificates, err)
		}
		if !c.IsCA {
			return nil, fmt.Errorf("certificates: %s holds the certificate of %q, which is no authority", a.Certificates, c.Subject.CommonName)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("certificates: %s holds no certificate in PEM", a.Certificates)
	}
	return all, nil
}

func (f foreign) readLists(a ForeignAuthority) (all []*x509.RevocationList, err error) {
	for _, path := range a.Revoked {
		b, err := f.read(path)
		if err != nil {
			return nil, fmt.Errorf("revoked: %w", err)
		}
		if block, _ := pem.Decode(b); block != nil {
			b = block.Bytes
		}
		l, err := x509.ParseRevocationList(b)
		if err != nil {
			return nil, fmt.Errorf("revoked: %s is no list of revoked certificates: %w", path, err)
		}
		if slices.ContainsFunc(l.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(deltaList) }) {
			return nil, fmt.Errorf("revoked: %s says only what changed since another list: give the whole one", path)
		}
		all = append(all, l)
	}
	return all, nil
}

// deltaList marks a list that says what changed since another (RFC 5280, 5.2.4).
var deltaList = asn1.ObjectIdentifier{2, 5, 29, 27}

// authorityFiles are what an authority's files said when they were read.
type authorityFiles struct {
	ForeignAuthority
	name             string
	known            bool // it stands in the config
	roots            []*x509.Certificate
	lists            []*x509.RevocationList
	noRoots, noLists error // why there are none
}

// consultTime bounds how long somebody waits for an authority's files: a disk that answers
// takes milliseconds.
const consultTime = 10 * time.Second

// consult reads an authority's files anew. They may lie on a disk that hangs, and reading cannot
// be called off: so no transaction is open meanwhile; who asks waits for consultTime or until
// ctx ends, and then goes on as if they could not be read; and one reads while others wait.
//
// What is revoked between the reading and what follows from it is as if it were revoked a
// moment after that: the next sweep finds it.
func (f foreign) consult(ctx context.Context, name string) authorityFiles {
	unread := f.unread(name)
	if !unread.known {
		return unread
	}
	ctx, stop := context.WithTimeout(ctx, consultTime)
	defer stop()
	err := fmt.Errorf("the disk did not give its files within %v", consultTime)
	unread.noRoots, unread.noLists = err, err
	turn := f.reading[name]
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return unread
	}
	done := make(chan authorityFiles, 1)
	go func() {
		defer func() { <-turn }()
		read := f.unread(name)
		read.roots, read.noRoots = f.readRoots(read.ForeignAuthority)
		read.lists, read.noLists = f.readLists(read.ForeignAuthority)
		done <- read
	}()
	select {
	case read := <-done:
		return read
	case <-ctx.Done():
		return unread
	}
}

// consultLists is the same for a certificate by which somebody joined already: where the
// authority has no lists, no file is read.
func (f foreign) consultLists(ctx context.Context, name string) authorityFiles {
	if len(f.authorities[name].Revoked) == 0 {
		return f.unread(name)
	}
	return f.consult(ctx, name)
}

func (f foreign) unread(name string) authorityFiles {
	a, known := f.authorities[name]
	return authorityFiles{ForeignAuthority: a, name: name, known: known}
}

// of refuses another authority than the one whose files were read, before the transaction.
func (f authorityFiles) of(name string) error {
	if f.name != name {
		return fmt.Errorf("%w: by what it joins or joined changed just now: try again", protocol.ErrUnavailable)
	}
	return nil
}

// configured refuses an authority that was taken out of the config.
func (f authorityFiles) configured() error {
	if !f.known {
		return fmt.Errorf("%w: the coordinator's config knows no authority %s any more: ask the operator", protocol.ErrDenied, f.name)
	}
	return nil
}

// certified refuses where the authority's own certificates could not be read.
func (f authorityFiles) certified() error {
	if f.noRoots != nil {
		return fmt.Errorf("%w: the certificates of %s cannot be read now: %w", protocol.ErrUnavailable, f.name, f.noRoots)
	}
	return nil
}

// consultJoin reads the files that a join by a token will be decided by; none where the token
// wants no certificate, or where this key has joined already.
func (s *Server) consultJoin(ctx context.Context, caller protocol.Caller, key [32]byte) (files authorityFiles, err error) {
	var k token
	joined := false
	err = s.store.View(ctx, func(tx Tx) error {
		if k, err = heldToken(tx, caller); err != nil {
			return err
		}
		_, _, err := tx.Joined(k.ID, key)
		if joined = err == nil; errors.Is(err, errNone) {
			return nil
		}
		return err
	})
	if err != nil || joined || k.Authority == "" {
		return files, err
	}
	return s.foreign.consult(ctx, k.Authority), nil
}

// consultRenewal reads the files that a member's renewal will be decided by; none where it
// joined by no certificate of another authority.
func (s *Server) consultRenewal(ctx context.Context, name string) (files authorityFiles, err error) {
	var v vouched
	err = s.store.View(ctx, func(tx Tx) error { v, err = tx.Vouched(name); return err })
	if errors.Is(err, errNone) {
		return files, nil
	}
	if err != nil {
		return files, err
	}
	return s.foreign.consultLists(ctx, v.Authority), nil
}
