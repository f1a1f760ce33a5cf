package helper

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/aggregator"
	"caucus/internal/testlevel"
	"caucus/protocol"
)

// TestConnections: strangers who connect and say nothing take no more than 64 connections. One that
// ends makes room for the next.
func TestConnections(t *testing.T) {
	l, err := Config{Listen: "127.0.0.1:0"}.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls []net.Conn
	for range mostConnections + 1 {
		call, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer call.Close()
	}
	for range mostConnections {
		call, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer call.Close()
		calls = append(calls, call)
	}
	more := make(chan net.Conn)
	go func() {
		defer close(more)
		if call, err := l.Accept(); err == nil {
			more <- call
		}
	}()
	select {
	case <-more:
		t.Error("one connection too many is taken")
	case <-time.After(50 * time.Millisecond):
	}
	calls[0].Close()
	if call := <-more; call != nil {
		call.Close()
	}
}

// TestLearn: a helper that knows the code of its coordinator's key admits the holder of that key
// alone, and writes the key into its configuration. The coordinator takes the helper's key by its
// code, and no other's.
func TestLearn(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	own, stranger := newSigner(t), newSigner(t)
	codeOf := func(s *protocol.Signer) string { k := s.Key(); return protocol.KeyCode(k[:]) }
	dir := filepath.Join(t.TempDir(), "helper")
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	code := strings.ToLower(codeOf(own))
	pins, err := Init(InitOptions{Dir: dir, Listen: "127.0.0.1:" + port, Coordinator: code})
	if err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(dir)
	if err != nil || c.HasCoordinatorKey() || c.CoordinatorCode != codeOf(own) {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Log = slog.New(slog.DiscardHandler)
	type learned struct {
		c   Config
		err error
	}
	done := make(chan learned, 1)
	go func() { c, err := PinCoordinator(ctx, c); done <- learned{c, err} }()
	ask := func(as *protocol.Signer, code string) (key protocol.SignerKey, err error) {
		for ctx.Err() == nil { // until the helper listens
			key, err = aggregator.HelperByCode(ctx, c.Listen, as, code)
			if err == nil || !strings.Contains(err.Error(), "refused") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return key, err
	}
	_, err = ask(stranger, pins.Code())
	if !errors.Is(err, protocol.ErrDenied) || !strings.Contains(err.Error(), codeOf(stranger)) {
		t.Errorf("a stranger is admitted: %v", err)
	}
	_, err = ask(own, codeOf(stranger))
	if err == nil || !strings.Contains(err.Error(), "have the code "+pins.Code()) {
		t.Errorf("another helper is taken: %v", err)
	}
	select {
	case l := <-done:
		t.Fatalf("it learned from nobody: %+v", l)
	default:
	}
	if key, err := ask(own, pins.Code()); err != nil || key != pins.Signing {
		t.Errorf("the key is %s, want %s: %v", key, pins.Signing, err)
	}
	l := <-done
	if l.err != nil || l.c.Coordinator != own.Key() || l.c.CoordinatorCode != "" {
		t.Fatalf("it learned %+v: %v", l.c, l.err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	line := "\ncoordinator: " + own.Key().String() + "\n"
	if err != nil || !strings.Contains(string(text), line) ||
		strings.Contains(string(text), "_code") {
		t.Errorf("%v\n%s", err, text)
	}
	// The helper that runs knows the coordinator by its key, and is asked by its code as before.
	s, err := New(l.c)
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	if key, err := ask(own, pins.Code()); err != nil || key != pins.Signing {
		t.Errorf("once it runs: %s, %v", key, err)
	}
	if _, err := ask(stranger, pins.Code()); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("once it runs, a stranger: %v", err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wrong := []byte(codeOf(own))
	if wrong[0]++; wrong[0] != '8' {
		wrong[0] = '7' // a letter that the code does not have
	}
	_, err = Init(InitOptions{Dir: dir + "2", Coordinator: string(wrong)})
	if err == nil || !strings.Contains(err.Error(), "read again") {
		t.Errorf("a code with a wrong letter: %v", err)
	}
}

func newSigner(t *testing.T) *protocol.Signer {
	s, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
