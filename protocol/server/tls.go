package server

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"caucus/protocol"
)

// TLS returns the coordinator's configuration of TLS 1.3. It admits callers whose certificate
// the authority issued and whom admit allows at the handshake. A refused caller gets no reason,
// because TLS alerts have no text. The server's certificate is made again each day, so it never
// expires.
func TLS(a *Authority, now func() time.Time, admit func(protocol.Caller) error) (*tls.Config,
	error) {
	certificate := daily(now, a.ServerCertificate)
	if _, err := certificate(); err != nil {
		return nil, fmt.Errorf("make server certificate: %w", err)
	}
	clients, err := a.members(now())
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Time: now,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return certificate()
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			caller, err := protocol.CallerOfChains(s.VerifiedChains)
			if err != nil {
				return err
			}
			// no list has its certificate, so a former authority's key must not suffice
			if caller.Role == protocol.RoleReplica {
				if err := s.PeerCertificates[0].CheckSignatureFrom(a.certificate); err != nil {
					return err
				}
			}
			return admit(caller)
		},
	}, nil
}

// daily returns a function that makes a certificate again each day, so that it never expires.
func daily(now func() time.Time,
	issue func(time.Time) (tls.Certificate, error)) func() (*tls.Certificate, error) {
	var (
		mu      sync.Mutex // guards current and made
		current tls.Certificate
		made    time.Time
	)
	return func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if t := now(); current.Certificate == nil || t.Sub(made).Abs() > 24*time.Hour {
			c, err := issue(t)
			if err != nil {
				return nil, err
			}
			current, made = c, t
		}
		c := current
		return &c, nil
	}
}

// CallerOf returns who is at the other end of a connection, from the verified certificate alone.
func CallerOf(info credentials.AuthInfo) (protocol.Caller, error) {
	tls, ok := info.(credentials.TLSInfo)
	if !ok {
		return protocol.Caller{}, fmt.Errorf("%w: the connection has no verified certificate", protocol.ErrDenied)
	}
	return protocol.CallerOfChains(tls.State.VerifiedChains)
}
