package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"caucus/protocol/pb"
)

// Invitation lets its holder enrol once before it expires. With RoleToken it is a join token, which
// enrols parties up to its quota (Join). An invitation is a secret: it contains a certificate that
// is valid for a short time, the certificate's key, and the authority to trust.
type Invitation struct {
	Coordinator string `json:"coordinator"`
	Name        string `json:"name"`
	Role        Role   `json:"role"`
	// Prefix begins the names of the parties that a join token enrols.
	Prefix      string    `json:"prefix,omitempty"`
	Expires     time.Time `json:"expires"`
	CA          []byte    `json:"ca"`          // DER
	Certificate []byte    `json:"certificate"` // DER
	Key         []byte    `json:"key"`         // PKCS #8
	// Signer is the coordinator's first key. Successions lead to the present key. Each of these
	// keys may sign.
	Signer      SignerKey `json:"signer"`
	Successions []Signed  `json:"successions,omitempty"`
}

const invitationPrefix = "caucus-invitation-1."

// String is the invitation as a line of text, to be sent over a trusted channel.
func (i Invitation) String() string {
	b, err := json.Marshal(i)
	if err != nil {
		return ""
	}
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// ParseInvitation reads the output of String. White space does not matter.
func ParseInvitation(text string) (Invitation, error) {
	var v Invitation
	body, ok := strings.CutPrefix(strings.Join(strings.Fields(text), ""), invitationPrefix)
	if !ok {
		return v, fmt.Errorf("%w: this is no invitation, which starts with %q: give the file that caucus party invite wrote", ErrInvalid, invitationPrefix)
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return v, fmt.Errorf("%w: the invitation is damaged or cut off: %v", ErrInvalid, err)
	}
	return v, CheckName(v.Name)
}

// Enrolment is a new key that asks for a certificate. Save it before use, to ask again if the reply
// is lost.
type Enrolment struct{ key any }

// NewEnrolment makes the key, which never leaves this machine.
func NewEnrolment() (Enrolment, error) {
	key, err := NewKey()
	if err != nil {
		return Enrolment{}, fmt.Errorf("make key: %w", err)
	}
	return Enrolment{key}, nil
}

// Save writes the key with mode 0600.
func (e Enrolment) Save(path string) error { return SaveKey(path, e.key) }

// LoadEnrolment reads a file that Save wrote. Without the file the error wraps fs.ErrNotExist.
func LoadEnrolment(path string) (Enrolment, error) {
	key, err := LoadKey(path)
	if err != nil {
		return Enrolment{}, fmt.Errorf("read enrolment key: %w", err)
	}
	return Enrolment{key}, nil
}

// LoadOrMakeEnrolment loads the key of a file, or makes and saves one if there is no file.
func LoadOrMakeEnrolment(path string) (Enrolment, error) {
	e, err := LoadEnrolment(path)
	if errors.Is(err, fs.ErrNotExist) {
		if e, err = NewEnrolment(); err == nil {
			err = e.Save(path)
		}
	}
	return e, err
}

// Request is the PKCS #10 signing request for the key.
func (e Enrolment) Request() ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, e.key)
}

// Identity returns the identity that a certificate for this key makes. ca is the authority in PEM;
// a newer one in keys replaces it. Errors wrap ErrDamaged.
func (e Enrolment) Identity(coordinator, ca string, keys Keys,
	certificate []byte) (Identity, error) {
	der, err := x509.MarshalPKCS8PrivateKey(e.key)
	if err != nil {
		return Identity{}, err
	}
	if newest := keys.Authority(); newest != nil {
		ca = PEMOf("CERTIFICATE", newest)
	}
	id := Identity{
		Coordinator: coordinator, CA: ca, Signer: keys.first, Successions: keys.signed,
		Certificate: PEMOf("CERTIFICATE", certificate), Key: PEMOf("PRIVATE KEY", der),
	}
	if _, err := id.leaf(); err != nil {
		return Identity{}, fmt.Errorf("%w: the issued certificate: %v", ErrDamaged, err)
	}
	return id, nil
}

// Enrol redeems an invitation. The same enrolment gets the same certificate again. A different one
// finds the invitation used (ErrDenied) or expired (ErrExpired).
func Enrol(ctx context.Context, v Invitation, e Enrolment, o DialOptions) (Identity, error) {
	id, err := redeem(ctx, v, e, "", o)
	if err != nil {
		return Identity{}, fmt.Errorf("party %s: %w", v.Name, err)
	}
	return id, nil
}

// redeem calls with the invitation's certificate. It asks for a name if name is not empty.
func redeem(ctx context.Context, v Invitation, e Enrolment, name string,
	o DialOptions) (Identity, error) {
	key, err := x509.ParsePKCS8PrivateKey(v.Key)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: the invitation's key: %v", ErrInvalid, err)
	}
	keys, err := FollowKeys(v.Signer, v.Successions)
	if err != nil {
		return Identity{}, err
	}
	ca := PEMOf("CERTIFICATE", v.CA)
	o.Coordinator = cmp.Or(o.Coordinator, v.Coordinator)
	c, err := dial(ca, tls.Certificate{Certificate: [][]byte{v.Certificate}, PrivateKey: key}, keys,
		o)
	if err != nil {
		return Identity{}, err
	}
	defer c.Close()
	certificate, err := c.enrol(ctx, e, name, c.enrolment.Enrol)
	// a refusal at the handshake gives no reason
	if errors.Is(err, ErrDenied) && !c.now().Before(v.Expires) {
		err = fmt.Errorf("%w: the invitation was good until %s: ask for a new one", ErrExpired, v.Expires.Format("2006-01-02 15:04 MST"))
	}
	if err != nil {
		return Identity{}, err
	}
	return e.Identity(o.Coordinator, ca, keys, certificate)
}

// Renew gets a new certificate for a new key.
func (c *Client) Renew(ctx context.Context) (Identity, error) {
	e, err := NewEnrolment()
	if err != nil {
		return Identity{}, err
	}
	certificate, err := c.enrol(ctx, e, "", c.enrolment.Renew)
	if err != nil {
		return Identity{}, fmt.Errorf("renew certificate: %w", err)
	}
	return e.Identity(c.coordinator, c.ca, c.Keys(), certificate)
}

// enrol requests a certificate for e's key, under name if name is not empty.
func (c *Client) enrol(ctx context.Context, e Enrolment, name string, call Unary[pb.EnrolRequest,
	pb.EnrolReply]) ([]byte, error) {
	request, err := e.Request()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reply, err := call(ctx, &pb.EnrolRequest{SigningRequest: request, Name: name})
	if err != nil {
		return nil, FromStatus(err)
	}
	return reply.Certificate, nil
}
