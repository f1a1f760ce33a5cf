package testlevel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort returns a free TCP port on 127.0.0.1. It is below the ports that systems give to
// outgoing connections, so that no other test takes it before a daemon listens there.
func FreePort() (string, error) {
	for range 100 {
		port := fmt.Sprint(10_000 + rand.IntN(22_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, l.Close()
		}
	}
	return "", errors.New("no free port on 127.0.0.1")
}
