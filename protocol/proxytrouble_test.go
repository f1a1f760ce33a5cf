package protocol

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestProxyTrouble: what a proxy answers is told in a sentence that says what to do. The texts are
// those of gRPC behind a proxy of each kind; a process reads HTTPS_PROXY once, so that no test of
// this package can try several.
func TestProxyTrouble(t *testing.T) {
	const answers = `connection error: desc = "transport: Error while dialing: ` +
		`failed to do connect handshake, response: \"`
	for text, want := range map[string]string{
		answers + `HTTP/1.1 407 Proxy Authentication Required\\r\\nContent-Length: 0\\r\\n\\r\\n\""`:    "wants a name and a password (407)",
		answers + `HTTP/1.1 403 Forbidden\\r\\nContent-Length: 22\\r\\n\\r\\n<h1>Blocked by IT</h1>\""`: "forbids the way to the coordinator (403)",
		answers + `HTTP/1.1 502 Bad Gateway\\r\\nContent-Length: 0\\r\\n\\r\\n\""`:                      "does not reach the coordinator",
		answers + `HTTP/1.1 302 Found\\r\\nLocation: http://portal/\\r\\n\\r\\n\""`:                     "HTTP/1.1 302 Found and opens no connection: it may be a page to sign in on",
		`connection error: desc = "transport: Error while dialing: reading server HTTP response: ` +
			`unexpected EOF"`: "does not answer",
		`delegating_resolver: unable to build the proxy resolver: dns resolver: missing port after ` +
			`port-separator colon`: `is not the address of a proxy: write http://HOST:PORT, with %5C for a \`,
	} {
		err := FromStatus(status.Error(codes.Unavailable, text))
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), `\\`) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
