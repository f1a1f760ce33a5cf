package server

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"caucus/protocol"
)

// TestDialledAgain: a resumed session saves most of the handshake, but admit is asked again: a
// caller revoked in between is refused.
func TestDialledAgain(t *testing.T) {
	authority := must(NewAuthority(time.Now()))
	id, _, err := authority.IssueFirstOperator("127.0.0.1:1",
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, must(protocol.NewSigner()).Key(),
		time.Now())
	must(0, err)
	asked, put := 0, false // put: callers revoked
	server := must(TLS(authority, time.Now, func(c protocol.Caller) error {
		if asked++; put || c.Name != "site" {
			return errors.New("out")
		}
		return nil
	}))
	listener := must(tls.Listen("tcp", "127.0.0.1:0", server))
	defer listener.Close()
	pair := must(tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)))
	client := must(protocol.ClientTLS(id.CA, pair, time.Now))
	dial := func() (resumed bool, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn := must(listener.Accept())
			// the byte that clients wait for; a refused client gets none
			_, _ = conn.Write([]byte{1})
			conn.Close()
		}()
		conn := must(tls.Dial("tcp", listener.Addr().String(), client))
		_, err = conn.Read(make([]byte, 1))
		resumed = conn.ConnectionState().DidResume
		conn.Close()
		<-done
		return resumed, err
	}
	for i, want := range []bool{false, true, true} {
		if resumed, err := dial(); resumed != want || err != nil || asked != i+1 {
			t.Errorf("connection %d: resumed %t, %v, looked at %d times", i, resumed, err, asked)
		}
	}
	put = true
	if resumed, err := dial(); err == nil || !resumed {
		t.Errorf("who was put out comes in: resumed %t", resumed)
	}
}
