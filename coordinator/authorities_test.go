package coordinator

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
)

// pki is an authority that is not the coordinator's: a root, and one that issues.
type pki struct {
	t            *testing.T
	dir          string
	root, issuer *x509.Certificate
	rootKey, key *ecdsa.PrivateKey
	serial       int64
	listed       []x509.RevocationListEntry
}

func newPKI(t *testing.T, dir string) *pki {
	p := &pki{t: t, dir: dir, rootKey: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), key: must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))}
	authority := func(name string, parent *x509.Certificate, public, signer any) *x509.Certificate {
		p.serial++
		c := &x509.Certificate{
			SerialNumber: big.NewInt(p.serial), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte{byte(p.serial)},
		}
		if parent == nil {
			parent = c
		}
		return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, c, parent, public, signer))))
	}
	p.root = authority("Hospital root", nil, p.rootKey.Public(), p.rootKey)
	p.issuer = authority("Hospital machines", p.root, p.key.Public(), p.rootKey)
	must(0, os.WriteFile(filepath.Join(dir, "hospital.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.root.Raw}), 0o600))
	p.list(time.Now().Add(24 * time.Hour))
	return p
}

// list writes what was revoked, until when that is to be believed.
func (p *pki) list(until time.Time) {
	p.serial++
	l := &x509.RevocationList{Number: big.NewInt(p.serial), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: until, RevokedCertificateEntries: p.listed}
	must(0, os.WriteFile(filepath.Join(p.dir, "machines.crl"), must(x509.CreateRevocationList(rand.Reader, l, p.issuer, p.key)), 0o600))
}

// certify makes files of a certificate with its chain, and of its key.
func (p *pki) certify(key crypto.Signer, change func(*x509.Certificate)) (voucher *protocol.Voucher, leaf *x509.Certificate) {
	p.serial++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(p.serial), DNSNames: []string{"dev-1.ward.example"}, NotBefore: time.Now().Add(time.Duration(p.serial-1000) * time.Minute), NotAfter: time.Now().AddDate(0, 6, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(c)
	}
	der := must(x509.CreateCertificate(rand.Reader, c, p.issuer, key.Public(), p.key))
	text := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	certificates, keys := filepath.Join(p.t.TempDir(), "c.pem"), filepath.Join(p.t.TempDir(), "k.pem")
	must(0, os.WriteFile(certificates, append(text("CERTIFICATE", der), text("CERTIFICATE", p.issuer.Raw)...), 0o600))
	must(0, os.WriteFile(keys, text("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))), 0o600))
	return must(protocol.LoadVoucher(certificates, keys)), must(x509.ParseCertificate(der))
}

func aKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// authorized is a world whose coordinator knows a hospital's authority.
func authorized(t *testing.T) (*world, *pki) {
	files := t.TempDir()
	p := newPKI(t, files)
	return newWorld(t, func(c *Config) {
		c.Authorities = map[string]ForeignAuthority{"hospital": {Certificates: filepath.Join(files, "hospital.pem"), Revoked: []string{filepath.Join(files, "machines.crl")}}}
	}), p
}

// TestAuthority: of all that another authority certifies those become parties whom a
// token names, with a certificate for clients, that is of today and not revoked, whose key
// they hold, under the name in it; and nobody becomes who is there already.
func TestAuthority(t *testing.T) {
	ctx := context.Background()
	w, p := authorized(t)
	stranger := newPKI(t, t.TempDir())
	w.enrol("invited.ward.example")
	ed := must2(ed25519.GenerateKey(rand.Reader))
	names := []string{"dev-1.ward.example", "dev-2.ward.example", "dev-3.ward.example", "invited.ward.example", "late.ward.example"}
	v, _ := makeToken(t, w.operator, protocol.TokenOptions{Quota: 4, Authority: "hospital", Allow: names, Labels: protocol.Labels{"site": "ward"}})
	join := func(by *protocol.Voucher) (protocol.Identity, error) {
		return protocol.JoinVouched(ctx, v, must(protocol.NewEnrolment()), by, protocol.DialOptions{Now: w.clock.Now})
	}
	for i, key := range []crypto.Signer{aKey(), must(rsa.GenerateKey(rand.Reader, 2048)), ed} {
		by, leaf := p.certify(key, func(c *x509.Certificate) { c.DNSNames = names[i : i+1] })
		id, err := join(by)
		if err != nil {
			t.Fatalf("%s with a key %T: %v", names[i], key, err)
		}
		_, until, _ := id.Validity()
		if caller := must(id.Caller()); caller.Name != names[i] || caller.Role != protocol.RoleParty || until.After(leaf.NotAfter) {
			t.Errorf("%s joined as %+v until %s, its certificate ends on %s", names[i], caller, until, leaf.NotAfter)
		}
	}
	revoked, leaf := p.certify(aKey(), func(c *x509.Certificate) { c.DNSNames = names[4:] })
	p.listed = append(p.listed, x509.RevocationListEntry{SerialNumber: leaf.SerialNumber, RevocationTime: time.Now()})
	p.list(time.Now().Add(time.Hour))
	foreign, _ := stranger.certify(aKey(), nil)
	for what, c := range map[string]struct {
		by     *protocol.Voucher
		change func(*x509.Certificate)
		want   error
		text   string
	}{
		"not on the list of names":    {nil, func(c *x509.Certificate) { c.DNSNames = []string{"dev-4.ward.example"} }, protocol.ErrDenied, "not among those"},
		"of no name":                  {nil, func(c *x509.Certificate) { c.DNSNames = nil; c.Subject.CommonName = "dev-1.ward.example" }, protocol.ErrDenied, "0 DNS names"},
		"of two names":                {nil, func(c *x509.Certificate) { c.DNSNames = names[:2] }, protocol.ErrDenied, "2 DNS names"},
		"of every name":               {nil, func(c *x509.Certificate) { c.DNSNames = []string{"*.ward.example"} }, protocol.ErrDenied, "no name of a party"},
		"a web server's":              {nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, protocol.ErrDenied, "not for clients"},
		"an authority's":              {nil, func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, protocol.ErrDenied, "authority's own"},
		"over":                        {nil, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, protocol.ErrDenied, "for today"},
		"of another authority":        {foreign, nil, protocol.ErrDenied, "did not certify it"},
		"revoked":                     {revoked, nil, protocol.ErrDenied, "has revoked"},
		"of a party that was invited": {nil, func(c *x509.Certificate) { c.DNSNames = names[3:4] }, protocol.ErrExists, "is a member already"},
		"older than the party's own":  {nil, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(-24 * 365 * time.Hour) }, protocol.ErrExists, "as new or newer"},
	} {
		if c.by == nil {
			c.by, _ = p.certify(aKey(), c.change)
		}
		if _, err := join(c.by); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("a certificate %s: %v, want %v saying %q", what, err, c.want, c.text)
		}
	}
	if used := must(w.operator.Tokens(ctx))[0].Used; used != 3 {
		t.Errorf("%d places are taken, want 3", used)
	}
	// Neither the token without a certificate nor a certificate without its token.
	if _, err := protocol.Join(ctx, v, must(protocol.NewEnrolment()), "", protocol.DialOptions{Now: w.clock.Now}); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("the token alone: %v", err)
	}
	bare := v
	bare.Authority = "" // as one would who holds the token and has no certificate
	if _, err := protocol.Join(ctx, bare, must(protocol.NewEnrolment()), "late.ward.example", protocol.DialOptions{Now: w.clock.Now}); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("the token alone: %v", err)
	}
	other, _ := makeToken(t, w.operator, protocol.TokenOptions{Quota: 1})
	other.Authority = "hospital"
	by, _ := p.certify(aKey(), func(c *x509.Certificate) { c.DNSNames = names[4:] })
	id, err := protocol.JoinVouched(ctx, other, must(protocol.NewEnrolment()), by, protocol.DialOptions{Now: w.clock.Now})
	if err != nil || !strings.HasPrefix(must(id.Caller()).Name, other.Prefix) {
		t.Errorf("a token that wants no certificate gave the name of one: %v", err)
	}
	p.list(time.Now().Add(-time.Minute))
	if _, err := join(by); !errors.Is(err, protocol.ErrUnavailable) || !strings.Contains(err.Error(), "not over") {
		t.Errorf("by a list of revoked ones that is over: %v", err)
	}
	for what, o := range map[string]protocol.TokenOptions{
		"all that it certifies":   {Quota: 1, Authority: "hospital"},
		"an authority not known":  {Quota: 1, Authority: "elsewhere", Allow: names},
		"names without authority": {Quota: 1, Allow: names},
		"no names":                {Quota: 1, Authority: "hospital", Allow: []string{"*"}},
	} {
		if _, _, err := w.operator.MakeToken(ctx, o); !errors.Is(err, protocol.ErrInvalid) {
			t.Errorf("token for %s: %v", what, err)
		}
	}
}

func must2[A, B any](_ A, b B, err error) B {
	if err != nil {
		panic(err)
	}
	return b
}

// TestAuthorityOpensNoConnection: a certificate of another authority that says that it is
// an operator's, or the coordinator's own, down to the serial of one that is, lets nobody
// in.
func TestAuthorityOpensNoConnection(t *testing.T) {
	w, p := authorized(t)
	operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, OperatorFile)))
	own := must(x509.ParseCertificate(func() []byte { b, _ := pem.Decode([]byte(operator.Certificate)); return b.Bytes }()))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, leaf := p.certify(key, func(c *x509.Certificate) {
		c.SerialNumber, c.Subject, c.DNSNames = own.SerialNumber, own.Subject, nil
		c.URIs = []*url.URL{must(url.Parse("urn:caucus:operator:operator"))}
	})
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	forged := operator
	forged.Certificate, forged.Key = text("CERTIFICATE", leaf.Raw), text("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
	c := w.dial(forged)
	defer c.Close()
	if _, err := c.Members(context.Background()); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("let in: %v", err)
	}
}

// TestAuthorityRevokes: who joined by a certificate is out soon after its authority
// revoked it; renews no longer than it is good; and joins again by a newer one, once what
// it had before is ended, unless an operator revoked it.
func TestAuthorityRevokes(t *testing.T) {
	ctx := context.Background()
	w, p := authorized(t)
	v, k := makeToken(t, w.operator, protocol.TokenOptions{Quota: 1, Authority: "hospital", Prefix: "dev-"})
	join := func(by *protocol.Voucher, e protocol.Enrolment) (protocol.Identity, error) {
		return protocol.JoinVouched(ctx, v, e, by, protocol.DialOptions{Now: w.clock.Now})
	}
	calls := func(id protocol.Identity) error {
		c := w.dial(id)
		defer c.Close()
		_, err := c.Studies(ctx)
		return err
	}
	by, leaf := p.certify(aKey(), nil)
	e := must(protocol.NewEnrolment())
	first := must(join(by, e))
	if again, err := join(by, e); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("the same key again: another certificate, or %v", err)
	}
	c := w.dial(first)
	defer c.Close()
	if _, err := c.Renew(ctx); !errors.Is(err, protocol.ErrDenied) || !strings.Contains(err.Error(), "join again with a newer one") {
		t.Errorf("renewed beyond %s: %v", leaf.NotAfter, err)
	}
	if _, err := join(by, must(protocol.NewEnrolment())); !errors.Is(err, protocol.ErrExists) {
		t.Errorf("one certificate for two keys: %v", err)
	}
	newer, second := p.certify(aKey(), nil)
	id := must(join(newer, must(protocol.NewEnrolment())))
	if err := calls(first); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("the holder before calls: %v", err)
	}
	if err := calls(id); err != nil {
		t.Errorf("who joined again calls: %v", err)
	}
	if used := must(w.operator.Tokens(ctx))[0].Used; used != 1 {
		t.Errorf("%d places are taken, want 1", used)
	}
	p.listed = append(p.listed, x509.RevocationListEntry{SerialNumber: second.SerialNumber, RevocationTime: time.Now()})
	p.list(time.Now().Add(-time.Minute)) // it is over, and what it says is true all the same
	must(0, w.server.sweepOnce(ctx))
	if err := calls(id); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("whose certificate was revoked calls: %v", err)
	}
	p.list(time.Now().Add(time.Hour))
	third, _ := p.certify(aKey(), nil)
	if _, err := join(third, must(protocol.NewEnrolment())); !errors.Is(err, protocol.ErrDenied) || !strings.Contains(err.Error(), "ask the operator for an invitation") {
		t.Errorf("who was revoked joins again: %v", err)
	}
	if gone := must(w.operator.RevokeToken(ctx, k.ID, true)); len(gone) != 0 {
		t.Errorf("revoked twice: %v", gone)
	}
	// By an invitation it comes back, and is its authority's no more.
	v, _ = makeToken(t, w.operator, protocol.TokenOptions{Quota: 2, Authority: "hospital", Prefix: "dev-"})
	w.enrol("dev-1.ward.example")
	must(0, w.server.sweepOnce(ctx))
	if _, err := join(third, must(protocol.NewEnrolment())); !errors.Is(err, protocol.ErrExists) {
		t.Errorf("by a certificate in place of who was invited: %v", err)
	}
	if _, err := w.parties["dev-1.ward.example"].Renew(ctx); err != nil {
		t.Errorf("who was invited is out again, or renews no further than its authority's certificate: %v", err)
	}
}

// TestAuthorityRevokesIssuer: by the root's list of what it revoked nobody joins, or
// stays, whom an issuer certified that is on it.
func TestAuthorityRevokesIssuer(t *testing.T) {
	ctx := context.Background()
	files := t.TempDir()
	p := newPKI(t, files)
	path := filepath.Join(files, "root.crl")
	revoked := func(all ...x509.RevocationListEntry) {
		l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour), RevokedCertificateEntries: all}
		must(0, os.WriteFile(path, must(x509.CreateRevocationList(rand.Reader, l, p.root, p.rootKey)), 0o600))
	}
	revoked()
	w := newWorld(t, func(c *Config) {
		c.Authorities = map[string]ForeignAuthority{"hospital": {Certificates: filepath.Join(files, "hospital.pem"), Revoked: []string{filepath.Join(files, "machines.crl"), path}}}
	})
	v, _ := makeToken(t, w.operator, protocol.TokenOptions{Quota: 2, Authority: "hospital", Prefix: "dev-"})
	join := func(name string) (protocol.Identity, error) {
		by, _ := p.certify(aKey(), func(c *x509.Certificate) { c.DNSNames = []string{name} })
		return protocol.JoinVouched(ctx, v, must(protocol.NewEnrolment()), by, protocol.DialOptions{Now: w.clock.Now})
	}
	c := w.dial(must(join("dev-1")))
	defer c.Close()
	must(0, w.server.sweepOnce(ctx))
	if _, err := c.Studies(ctx); err != nil {
		t.Fatal(err)
	}
	delta := &x509.RevocationList{Number: big.NewInt(3), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour), ExtraExtensions: []pkix.Extension{{Id: deltaList, Critical: true, Value: []byte{2, 1, 1}}}}
	must(0, os.WriteFile(filepath.Join(files, "machines.crl"), must(x509.CreateRevocationList(rand.Reader, delta, p.issuer, p.key)), 0o600))
	if _, err := join("dev-2"); !errors.Is(err, protocol.ErrUnavailable) {
		t.Errorf("joins by a list of what changed: %v", err)
	}
	p.list(time.Now().Add(time.Hour))
	revoked(x509.RevocationListEntry{SerialNumber: p.issuer.SerialNumber, RevocationTime: time.Now()})
	if _, err := join("dev-2"); !errors.Is(err, protocol.ErrDenied) || !strings.Contains(err.Error(), "has revoked") {
		t.Errorf("joins by an issuer that was revoked: %v", err)
	}
	must(0, w.server.sweepOnce(ctx))
	if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("whose issuer was revoked calls: %v", err)
	}
}

// TestJoinsAgainGossip: who takes the place of what it had before by a newer certificate
// begins an epoch of the gossip, as a revocation does: the old holder hears no more, and
// those who are told the new key are heard.
func TestJoinsAgainGossip(t *testing.T) {
	ctx := context.Background()
	files := t.TempDir()
	p := newPKI(t, files)
	w := newWorld(t, func(c *Config) {
		c.Authorities = map[string]ForeignAuthority{"hospital": {Certificates: filepath.Join(files, "hospital.pem")}}
		c.Gossip = Gossip{Listen: "127.0.0.1:0", Parties: true}
	})
	v, _ := makeToken(t, w.operator, protocol.TokenOptions{Quota: 1, Authority: "hospital", Prefix: "dev-"})
	var told [][]byte
	for range 2 {
		by, _ := p.certify(aKey(), nil)
		c := w.dial(must(protocol.JoinVouched(ctx, v, must(protocol.NewEnrolment()), by, protocol.DialOptions{Now: w.clock.Now})))
		defer c.Close()
		info := must(c.Gossip(ctx))
		told = append(told, info.Key)
		g, err := protocol.JoinGossip(protocol.GossipConfig{Name: "dev-1.ward.example", Listen: "127.0.0.1:0", Key: info.Key, Join: info.Addresses})
		if err != nil {
			t.Fatalf("with the key that it is told: %v", err)
		}
		g.Close()
	}
	if reflect.DeepEqual(told[0], told[1]) {
		t.Error("the old holder has the new key")
	}
}
