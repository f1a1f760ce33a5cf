package protocol

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// ServerName is the only DNS name in the coordinator's certificate. Clients expect it at any
// address.
const ServerName = "coordinator.caucus.internal"

// ClientTLS returns a caller's configuration of TLS 1.3. It trusts the authority in ca, PEM, alone,
// and shows the certificate in pair.
func ClientTLS(ca string, pair tls.Certificate, now func() time.Time) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, fmt.Errorf("the authority's certificate is not PEM")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: ServerName,
		Certificates: []tls.Certificate{pair}, Time: now,
		ClientSessionCache: tls.NewLRUClientSessionCache(1), // makes reconnecting cheaper
	}, nil
}

// firstWord is a client's TLS that waits for the coordinator's first byte before it sends data. A
// TLS 1.3 client finishes the handshake before the server has checked the client's certificate.
// Because it waits, the client sees a refusal as a refusal and not as a broken connection.
type firstWord struct {
	credentials.TransportCredentials
	sockets *sockets
}

func (f firstWord) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	under, err := f.sockets.opened(raw)
	if err != nil {
		return nil, nil, err
	}
	conn, info, err := f.TransportCredentials.ClientHandshake(ctx, authority, under)
	if err != nil {
		return nil, nil, err
	}
	deadline, _ := ctx.Deadline()
	first := make([]byte, 1)
	err = conn.SetReadDeadline(deadline)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
		_, err = io.ReadFull(conn, first)
		stop()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return &heard{Conn: conn, first: first}, info, nil
}

func (f firstWord) Clone() credentials.TransportCredentials {
	return firstWord{f.TransportCredentials.Clone(), f.sockets}
}

// heard returns the first byte again, which the handshake has read.
type heard struct {
	net.Conn
	first []byte
}

func (h *heard) Read(b []byte) (int, error) {
	if len(h.first) > 0 && len(b) > 0 {
		n := copy(b, h.first)
		h.first = h.first[n:]
		return n, nil
	}
	return h.Conn.Read(b)
}
