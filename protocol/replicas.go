package protocol

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// replicasALPN is the application protocol among replicas. So a connection for calls is never taken
// for one of theirs.
const replicasALPN = "caucus-replicas/1"

// ReplicaTLS returns the server's and the client's side of mutual TLS 1.3 among a coordinator's
// replicas, which all hold the key of its present authority. Only that key makes a replica:
// members, operators and a former authority's key get no connection. name is this replica's.
func ReplicaTLS(
	a *Authority, name string, now func() time.Time,
) (*tls.Config, *tls.Config, error) {
	server, err := ServerTLS(a, now, func(c Caller) error {
		if c.Role != RoleReplica {
			return fmt.Errorf("%w: only replicas", ErrDenied)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	own := daily(now, func(t time.Time) (tls.Certificate, error) {
		id, _, err := a.IssueOwn("", Caller{Name: name, Role: RoleReplica}, SignerKey{}, t)
		if err != nil {
			return tls.Certificate{}, err
		}
		return tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	})
	client, err := clientTLS(a.PEM(), tls.Certificate{}, now)
	if err != nil {
		return nil, nil, err
	}
	client.Certificates = nil
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return own()
	}
	members := server.VerifyConnection
	spoken := func(s tls.ConnectionState) error {
		if s.NegotiatedProtocol != replicasALPN {
			return fmt.Errorf("%w: no replica speaks there", ErrDenied)
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

// StudyKeys asks the leading replica for the keys that encrypt ballots in PostgreSQL, as a caller
// with RoleReplica. It calls take with all keys: at once, at each change, and each second. It
// returns when ctx ends or the connection breaks.
func (c *Client) StudyKeys(ctx context.Context, take func(map[study.Hash][]byte)) error {
	fail := func(err error) error { return fmt.Errorf("keys of ballots: %w", err) }
	stream, err := pb.NewReplicasClient(c.line).StudyKeys(ctx, &pb.StudyKeysRequest{})
	if err != nil {
		return fail(FromStatus(err))
	}
	for {
		part, err := stream.Recv()
		if err != nil {
			return fail(FromStatus(err))
		}
		all := map[study.Hash][]byte{}
		for _, k := range part.Keys {
			if len(k.PlanHash) != len(study.Hash{}) || len(k.Key) != 32 {
				return fail(fmt.Errorf("%w: a key has %d bytes, its study's hash %d", ErrDamaged, len(k.Key), len(k.PlanHash)))
			}
			all[study.Hash(k.PlanHash)] = k.Key
		}
		take(all)
	}
}
