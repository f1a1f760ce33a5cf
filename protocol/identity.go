package protocol

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"caucus/internal/folder"
	"caucus/internal/yamlfile"
)

// Role is the role in a certificate. It decides which calls the holder may make.
type Role string

const (
	// RoleParty may see the studies that ask it, contribute, and read releases.
	RoleParty Role = "party"
	// RoleOperator may invite, open, amend and cancel, and see all studies.
	RoleOperator   Role = "operator"
	RoleInvitation Role = "invitation" // may only enrol, once
	RoleToken      Role = "token"      // may only enrol parties, up to its quota
	RoleReplica    Role = "replica"    // may only ask the leading replica for the keys of ballots
	// RoleCoordinator is a server's certificate. No caller has it.
	RoleCoordinator Role = "coordinator"
)

// Caller is the holder of a verified certificate.
type Caller struct {
	Name   string
	Role   Role
	Serial string // serial number of the certificate, hexadecimal
}

// identityURI begins the only URI in a certificate. The common name repeats the name for people.
const identityURI = "urn:caucus:"

// CheckName refuses names that a certificate, a file name, a log or a roster could not contain
// unchanged.
func CheckName(name string) error {
	ok := len(name) >= 1 && len(name) <= 63
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && strings.IndexByte("._-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("name %q: give 1 to 63 letters, digits, dots, dashes or underscores, a letter or digit first", name)
	}
	return nil
}

// CheckPersonName refuses a text that cannot be a person's name. Names may have letters of any
// script, as in Anna O'Brien-Müller. Words by which an audit line calls the policy or the ledger
// are refused.
func CheckPersonName(name string) error {
	ok := utf8.RuneCountInString(name) <= 63 && !strings.HasSuffix(name, " ")
	before := ' '
	for _, c := range name {
		letter := unicode.IsLetter(c) || unicode.IsNumber(c)
		inside := unicode.IsMark(c) || strings.ContainsRune("._-'’", c) || c == ' '
		ok = ok && (letter || inside && before != ' ')
		before = c
	}
	if name == "" || !ok {
		return fmt.Errorf("name %q: give 1 to %s", name, PersonNameRule)
	}
	if slices.Contains([]string{"policy", "ledger", "person"}, strings.ToLower(name)) {
		return fmt.Errorf("name %q: the audit log has this word for who is no person: give a "+
			"person's name", name)
	}
	return nil
}

// PersonNameRule is the rule for a person's name, for a form.
const PersonNameRule = "63 letters, digits, single spaces, points, dashes, underscores or apostrophes, a " +
	"letter or digit first"

// CheckAddresses checks each of a list of addresses with commas between them.
func CheckAddresses(addresses string) (err error) {
	for a := range strings.SplitSeq(addresses, ",") {
		err = errors.Join(err, CheckAddress(a))
	}
	return err
}

// CheckAddress refuses an address that cannot be dialled.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	number, bad := strconv.ParseUint(port, 10, 16)
	ok := err == nil && bad == nil && number > 0 && host != "" && len(host) <= 253
	ip, isIP := netip.ParseAddr(host)
	if isIP == nil {
		ok = ok && !ip.IsUnspecified() && !ip.IsMulticast()
	} else {
		for i, c := range []byte(host) {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
			ok = ok && (letter || i > 0 && strings.IndexByte(".-_", c) >= 0)
		}
	}
	if !ok {
		return fmt.Errorf("address %q: give HOST:PORT as others dial it, such as caucus.example.org:7443", address)
	}
	return nil
}

// CallerOfCertificate reads the caller's name and role from a verified certificate.
func CallerOfCertificate(c *x509.Certificate) (Caller, error) {
	if len(c.URIs) == 1 {
		role, name, ok := strings.Cut(strings.TrimPrefix(c.URIs[0].String(), identityURI), ":")
		caller := Caller{Name: name, Role: Role(role), Serial: c.SerialNumber.Text(16)}
		switch caller.Role {
		case RoleParty, RoleOperator, RoleInvitation, RoleToken, RoleReplica, RoleCoordinator:
			if ok && CheckName(name) == nil && c.Subject.CommonName == name {
				return caller, nil
			}
		}
	}
	return Caller{}, fmt.Errorf("%w: the certificate names nobody", ErrDenied)
}

// CallerOfChains is CallerOf of the chains that TLS verified.
func CallerOfChains(chains [][]*x509.Certificate) (Caller, error) {
	if len(chains) == 0 {
		return Caller{}, fmt.Errorf("%w: the connection has no verified certificate", ErrDenied)
	}
	return CallerOfCertificate(chains[0][0])
}

// Addresses is a signed list of host:port at which a coordinator's replicas answer agents.
type Addresses struct {
	// Number grows with each list that the coordinator signs, so an older list, from a former
	// leader, replaces no newer one. 0 means that the list has no number.
	Number int64 `json:"number"`
	// List has commas between the addresses; "" means that they are not known.
	List string `json:"addresses"`
}

// Identity is a party's or operator's secret: its certificate and key, and the keys that it trusts.
type Identity struct {
	// Coordinator is the host:port to dial; for replicas, all addresses with commas between them.
	Coordinator string `yaml:"coordinator"`
	// AddressesNumber is the number of the list that Coordinator was taken from (Addresses); 0:
	// none.
	AddressesNumber int64 `yaml:"addresses_number,omitempty"`
	// CA, Certificate and Key are PEM.
	CA          string `yaml:"ca"`
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	// Signer is the coordinator's first key for documents. Successions lead from it to the present
	// key.
	Signer      SignerKey `yaml:"signer"`
	Successions []Signed  `yaml:"successions,omitempty"`
}

// Keys returns the coordinator's signing keys that this identity knows.
func (id Identity) Keys() (Keys, error) { return FollowKeys(id.Signer, id.Successions) }

// WithKeys returns the identity with the coordinator's newer keys and addresses, as a Listing has
// them, and whether it changed. The new identity trusts only the new authority.
func (id Identity) WithKeys(k Keys, addresses Addresses) (_ Identity, news bool) {
	if news = id.moves(addresses); news {
		id.Coordinator, id.AddressesNumber = addresses.List, addresses.Number
	}
	if len(k.signed) != len(id.Successions) {
		id.Successions, id.CA, news = k.signed, PEMOf("CERTIFICATE", k.Authority()), true
	}
	return id, news
}

// moves reports whether the identity should take these addresses, which the coordinator signed. One
// of them must be in the identity already, because an identity that was given another address, such
// as that of a tunnel, keeps it. A list with a lower number is an old one.
func (id Identity) moves(a Addresses) bool {
	known := strings.Split(id.Coordinator, ",")
	return a.List != id.Coordinator && a.Number >= id.AddressesNumber &&
		slices.ContainsFunc(strings.Split(a.List, ","), func(a string) bool {
			return slices.Contains(known, a)
		})
}

// Outdated reports whether a former authority issued the certificate, which should then be renewed.
func (id Identity) Outdated() bool {
	leaf, err := id.leaf()
	if err != nil {
		return false
	}
	der, err := DEROf("CERTIFICATE", id.CA)
	if err != nil {
		return false
	}
	ca, err := x509.ParseCertificate(der)
	return err == nil && leaf.CheckSignatureFrom(ca) != nil
}

// LoadIdentity reads an identity file. It refuses a file that other users may read.
func LoadIdentity(path string) (Identity, error) {
	var id Identity
	text, err := ReadSecret(path)
	if err == nil {
		err = decodeSecret(path, text, &id)
	}
	if err == nil {
		_, err = id.leaf()
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read identity: %w", err)
	}
	return id, nil
}

// Save writes the file with mode 0600 and replaces an old file. After Save returns, the file
// survives a crash. A crash before leaves the old file.
func (id Identity) Save(path string) error {
	text, err := yaml.Marshal(id)
	if err == nil {
		err = WriteSecret(path, text)
	}
	if err != nil {
		return fmt.Errorf("save identity: %w", err)
	}
	return nil
}

// Caller returns the name and role in the identity's certificate.
func (id Identity) Caller() (Caller, error) {
	leaf, err := id.leaf()
	if err != nil {
		return Caller{}, err
	}
	return CallerOfCertificate(leaf)
}

// Validity returns the first and last moment of the own certificate, which is dated back by 48
// hours. It fails if the certificate cannot be read.
func (id Identity) Validity() (notBefore, notAfter time.Time, err error) {
	leaf, err := id.leaf()
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	return leaf.NotBefore, leaf.NotAfter, nil
}

func (id Identity) leaf() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	return x509.ParseCertificate(pair.Certificate[0])
}

// decodeSecret reads a secret YAML file. Its errors name keys, never values.
func decodeSecret(path string, text []byte, v any) error {
	file, err := yamlfile.Parse(path, text)
	if err != nil {
		return err
	}
	return file.Decode(v)
}

// WriteSecret writes a file with mode 0600, durably, whole or not at all. Its errors name path and
// never the random temporary file, so the same fault gives the same error.
func WriteSecret(path string, text []byte) error {
	err := writeSecret(path, text)
	var file *fs.PathError
	var move *os.LinkError
	switch {
	case errors.As(err, &file):
		return &fs.PathError{Op: file.Op, Path: path, Err: file.Err}
	case errors.As(err, &move):
		return &fs.PathError{Op: move.Op, Path: path, Err: move.Err}
	}
	return err
}

func writeSecret(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename this removes nothing
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}

// CheckSecret refuses a file that other users may open.
func CheckSecret(path string) error {
	info, err := os.Stat(path)
	// on Windows the folder's access list decides
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so others may open it: run chmod 600 on it", path, info.Mode().Perm())
	}
	return err
}

const maxSecret = 1 << 16

// ReadSecret reads a file that WriteSecret wrote, and refuses one that other users may open, or one
// of more than 64 KiB. Without the file the error wraps fs.ErrNotExist.
func ReadSecret(path string) ([]byte, error) {
	if err := CheckSecret(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: enrol first, or name the right file", err)
	case err != nil:
		return nil, err
	case info.Size() > maxSecret:
		return nil, fmt.Errorf("%s is longer than %d bytes: it is something else", path, maxSecret)
	}
	return os.ReadFile(path)
}

// PEMOf encodes bytes as a PEM block of this kind.
func PEMOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// DEROf returns the bytes of a PEM block, and refuses another kind.
func DEROf(kind, text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("not a PEM %s", strings.ToLower(kind))
	}
	return block.Bytes, nil
}
