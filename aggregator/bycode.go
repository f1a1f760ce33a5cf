package aggregator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"caucus/protocol"
)

// HelperByCode asks the helper at an address for its signing key. It returns a key only if the
// helper's keys have the code and the helper admits own, by key or by code.
func HelperByCode(
	ctx context.Context, address string, own *protocol.Signer, code string,
) (key protocol.SignerKey, err error) {
	fail := func(err error) (protocol.SignerKey, error) {
		return protocol.SignerKey{}, fmt.Errorf("ask the helper at %s for its key: %w", address,
			err)
	}
	config, err := KeyCodeTLS(own, protocol.KeyPin{}, code)
	if err != nil {
		return fail(err)
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	if key, err = PeerKey(ctx, conn.(*tls.Conn)); err != nil {
		return fail(err)
	}
	deadline, _ := ctx.Deadline()
	conn.SetReadDeadline(deadline) // an error is Read's too
	// In TLS 1.3 a client is done before it is refused. Whoever admits it sends something or ends
	// the connection.
	_, err = conn.Read(make([]byte, 1))
	if err != nil && strings.Contains(err.Error(), "remote error: tls") {
		own := own.Key()
		return fail(fmt.Errorf("%w: the helper does not know this coordinator: "+
			"its operator types the code %s", protocol.ErrDenied, protocol.KeyCode(own[:])))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(fmt.Errorf("it does not say whether it knows this coordinator: %w", err))
	}
	return key, nil
}
