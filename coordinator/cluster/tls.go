package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"caucus/protocol"
	"caucus/protocol/server"
)

// replicasALPN is the application protocol among replicas. So a connection for calls is never taken
// for one of theirs.
const replicasALPN = "caucus-replicas/1"

// TLS returns the server's and the client's side of mutual TLS 1.3 among a coordinator's
// replicas, which all hold the key of its present authority. Only that key makes a replica:
// members, operators and a former authority's key get no connection. name is this replica's.
func TLS(
	a *server.Authority, name string, now func() time.Time,
) (*tls.Config, *tls.Config, error) {
	server, err := server.TLS(a, now, func(c protocol.Caller) error {
		if c.Role != protocol.RoleReplica {
			return fmt.Errorf("%w: only replicas", protocol.ErrDenied)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	client, err := protocol.ClientTLS(a.PEM(), tls.Certificate{}, now)
	if err != nil {
		return nil, nil, err
	}
	client.Certificates = nil
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		caller := protocol.Caller{Name: name, Role: protocol.RoleReplica}
		// so it never expires
		id, _, err := a.IssueFirstOperator("", caller, protocol.SignerKey{}, now())
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
		return &pair, err
	}
	members := server.VerifyConnection
	spoken := func(s tls.ConnectionState) error {
		if s.NegotiatedProtocol != replicasALPN {
			return fmt.Errorf("%w: no replica speaks there", protocol.ErrDenied)
		}
		return nil
	}
	server.VerifyConnection = func(s tls.ConnectionState) error {
		return errors.Join(spoken(s), members(s))
	}
	client.VerifyConnection = spoken
	server.NextProtos, client.NextProtos = []string{replicasALPN}, []string{replicasALPN}
	return server, client, nil
}
