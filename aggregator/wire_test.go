package aggregator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/results"
)

func (w *world) served(t *testing.T) (address string, log *bytes.Buffer) {
	t.Helper()
	on := must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	log = &bytes.Buffer{}
	helper := w.servers[1]
	go func() { done <- helper.Serve(ctx, on, slog.New(slog.NewTextHandler(log, nil))) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return on.Addr().String(), log
}

func (w *world) dial(t *testing.T, address string) *RemoteHelper {
	t.Helper()
	r := must(Dial(address, w.signers[0], w.signers[1].Key()))
	t.Cleanup(func() { must(0, r.Close()) })
	return r
}

// TestWire: over mutual TLS, with more contributions than fit in a call, a study ends as it does in
// one process.
func TestWire(t *testing.T) {
	ctx := t.Context()
	const parties = batch + 3
	task := taskOf(parties, 3)
	w, h := newWorld(t, task), task.Hash()
	address, _ := w.served(t)
	helper := w.dial(t, address)
	must(w.servers[0].OpenStudy(ctx, h, helper))
	for i, p := range task.Plan().Roster {
		data := uploadOf(task, p, votes(task, i, false), 1, w.under(task))
		if i == 1 { // one share fails the check
			data[len(data)-33] ^= 1
		}
		if i == 2 { // one coordinator's part fails the check
			data[9+100] ^= 1
		}
		must(0, w.servers[0].Receive(ctx, h, p, data))
	}
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	if !must(w.servers[0].Advance(ctx, h, helper)) {
		t.Fatal("it is not released")
	}
	o := must(w.servers[0].Released(ctx, h))
	must(results.Of(task).Finish(o.Contributions, o.Published[:]))
	if o.Contributions.Contributions != parties-2 {
		t.Errorf("%d contributions, want %d", o.Contributions.Contributions, parties-2)
	}
}

// TestWireErrors: a helper's refusal has the same meaning at the coordinator; internal errors
// appear only in the helper's log.
func TestWireErrors(t *testing.T) {
	ctx := t.Context()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	address, log := w.served(t)
	helper := w.dial(t, address)
	_, err := helper.Prepare(ctx, h, nil)
	if !errors.Is(err, ErrStepOrder) {
		t.Errorf("before its time: %v", err)
	}
	if _, err := helper.Accept(ctx, h, Signed{Document: []byte("{}")}); !errors.Is(err,
		protocol.ErrDamaged) {
		t.Errorf("an acceptance that nobody signed: %v", err)
	}
	w.servers[1].config.CheckPolicy = func(study.Task) error {
		return errors.New("no study of this kind")
	}
	own := must(protocol.SignJSON(w.signers[0], protocol.AcceptanceDocument,
		Acceptance{Plan: h, Role: "coordinator", Terms: must(study.TermsDigest(task)),
			Commitment: commitment(h, 0, half{1})}))
	if _, err := helper.Accept(ctx, h, own); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "no study of this kind") {
		t.Errorf("what its policy refuses: %v", err)
	}
	if _, err := helper.Share(ctx, study.Hash{1}); err == nil ||
		strings.Contains(err.Error(), "no such plan") ||
		!strings.Contains(log.String(), "no such plan") || !errors.Is(err, protocol.ErrHelper) ||
		!strings.Contains(err.Error(), "its own log says why") {
		t.Errorf("its own affair: %v; its log: %s", err, log)
	}
	for name, err := range map[string]error{
		"plan":   second(helper.helper.Share(ctx, nil)),
		"offers": second(helper.Prepare(ctx, h, make([]uploading.PrepareRequest, batch+1))),
	} {
		if err == nil {
			t.Errorf("%s of another size: it was answered", name)
		}
	}
	w.servers[1].config.CheckPolicy = func(study.Task) error { return nil }
	w.servers[1].config.Task = func(context.Context, study.Hash) (study.Task, error) {
		return nil, &os.PathError{Op: "read", Path: "/secret", Err: syscall.ENOSPC}
	}
	if _, err := helper.Accept(ctx, h, own); !errors.Is(err, protocol.ErrHelper) ||
		!strings.Contains(err.Error(), "the disk of the helper is full") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("a full disk: %v", err)
	}
	w.servers[1].behind = true
	if _, err := helper.Share(ctx, h); !errors.Is(err, ErrBehind) {
		t.Errorf("a helper that was put back: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestPins: neither end accepts another key, a certificate of the right key without the key, or no
// certificate.
func TestPins(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	address, log := w.served(t)
	stranger := must(protocol.NewSigner())
	for name, dial := range map[string]func() (*RemoteHelper, error){
		"a stranger calls":                 func() (*RemoteHelper, error) { return Dial(address, stranger, w.signers[1].Key()) },
		"the helper is not who was pinned": func() (*RemoteHelper, error) { return Dial(address, w.signers[0], stranger.Key()) },
	} {
		r := must(dial())
		_, err := r.Share(ctx, h)
		if !errors.Is(err, protocol.ErrHelper) ||
			!strings.Contains(err.Error(), "caucus helper keys") {
			t.Errorf("%s: %v, want no connection, and words about the keys", name, err)
		}
		must(0, r.Close())
	}
	if _, err := Dial(address, w.signers[0], w.signers[0].Key()); err == nil {
		t.Error("a coordinator dials itself as its helper")
	}
	// The coordinator's certificate, shown without its key.
	stolen := must(PinnedTLS(w.signers[0], w.signers[1].Key(), protocol.KeyPin{}))
	theirs := must(PinnedTLS(stranger, w.signers[1].Key(), protocol.KeyPin{}))
	stolen.Certificates[0].PrivateKey = theirs.Certificates[0].PrivateKey
	none := must(PinnedTLS(stranger, w.signers[1].Key(), protocol.KeyPin{}))
	none.Certificates = nil
	for name, config := range map[string]*tls.Config{"a stolen certificate": stolen,
		"no certificate": none} {
		config.NextProtos = []string{"h2"}
		c, err := tls.Dial("tcp", address, config)
		if err == nil { // in TLS 1.3 a client is done before it is refused
			must(0, c.SetReadDeadline(time.Now().Add(20*time.Second)))
			_, err = io.ReadAll(c)
			c.Close()
			if err == nil || !strings.Contains(err.Error(), "tls:") {
				t.Errorf("%s: %v, want an alert", name, err)
			}
		}
	}
	if n := strings.Count(log.String(), "a caller is refused"); n != 1 ||
		!strings.Contains(log.String(), "caucus helper keys") {
		t.Errorf("the helper's log says it %d times: %s", n, log)
	}
	if w.heldBy(shares.Helper, h).sum != nil {
		t.Error("somebody got through")
	}
}
