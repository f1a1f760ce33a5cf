package helper

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"time"

	"caucus/aggregator"
	"caucus/internal/folder"
	"caucus/protocol"
)

// learnTime bounds a caller's handshake.
const learnTime = 10 * time.Second

var codeLine = regexp.MustCompile(`(?m)^coordinator_code:.*$`)

// PinCoordinator waits for the coordinator of which only the code is known
// (Config.CoordinatorCode), and writes its key into the configuration in place of the code. It
// returns the new configuration. Whoever holds no key with that code is refused.
func PinCoordinator(ctx context.Context, c Config) (Config, error) {
	fail := func(err error) (Config, error) {
		return c, fmt.Errorf("learn the coordinator's key: %w", err)
	}
	unlock, err := folder.LockForDaemon(c.Dir, "another helper")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	code, _, err := protocol.ReadKeyCode(c.CoordinatorCode)
	if err != nil {
		return fail(err)
	}
	signer, err := protocol.LoadSigner(c.path(signerFile))
	if err != nil {
		return fail(err)
	}
	pins, err := ReadPins(c)
	if err != nil {
		return fail(err)
	}
	config, err := aggregator.KeyCodeTLS(signer, pins.Sealing, code)
	if err != nil {
		return fail(err)
	}
	listener, err := c.listen()
	if err != nil {
		return fail(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	defer listener.Close()
	c.Log.Info("waits for the coordinator", "address", listener.Addr().String(), "code", code)
	found := make(chan protocol.SignerKey)
	failed := make(chan error, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				failed <- err
				return
			}
			if err != nil { // too many files are open, say
				time.Sleep(100 * time.Millisecond)
				continue
			}
			go func() {
				defer conn.Close()
				one, stop := context.WithTimeout(ctx, learnTime)
				defer stop()
				key, err := aggregator.PeerKey(one, tls.Server(conn, config))
				if err != nil {
					c.Log.Warn("a caller is refused", "error", err)
					return
				}
				select {
				case found <- key:
				case <-ctx.Done():
				}
			}()
		}
	}()
	var key protocol.SignerKey
	select {
	case key = <-found:
	case err := <-failed:
		return fail(errors.Join(err, ctx.Err()))
	case <-ctx.Done():
		return fail(ctx.Err())
	}
	text, err := os.ReadFile(c.path(ConfigFile))
	if err != nil {
		return fail(err)
	}
	line := fmt.Appendf(nil, "coordinator: %s", key)
	text = codeLine.ReplaceAllLiteral(text, line)
	if err := protocol.WriteSecret(c.path(ConfigFile), text); err != nil {
		return fail(err)
	}
	learned, err := LoadConfig(c.Dir)
	if err == nil && !bytes.Equal(learned.Coordinator[:], key[:]) {
		err = fmt.Errorf("%s has no line coordinator_code: write this line there: %s", ConfigFile, line)
	}
	if err != nil {
		return fail(err)
	}
	learned.Log, learned.Checkpoint = c.Log, c.Checkpoint
	c.Log.Info("the coordinator's key is known", "key", key)
	return learned, nil
}
