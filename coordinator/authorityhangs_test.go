//go:build unix

package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/protocol"
)

// hang puts a file of an authority on a disk that does not answer: a pipe. It gives the end
// to answer from, which is there once somebody reads.
func hang(t *testing.T, path string) (reader func() *os.File) {
	must(0, os.Remove(path))
	must(0, syscall.Mkfifo(path, 0o600))
	return func() *os.File {
		end := make(chan *os.File, 1)
		go func() { end <- must(os.OpenFile(path, os.O_WRONLY, 0)) }()
		select {
		case f := <-end:
			t.Cleanup(func() { f.Close() })
			return f
		case <-time.After(20 * time.Second):
			t.Fatalf("nobody reads %s", path)
			return nil
		}
	}
}

// TestAuthorityHangs: while somebody joins, renews, or is swept, and the disk of an authority's
// lists hangs, others' changes are stored; what the disk then gives decides.
func TestAuthorityHangs(t *testing.T) {
	ctx := context.Background()
	w, p := authorized(t)
	v, _ := makeToken(t, w.operator, protocol.TokenOptions{Quota: 3, Authority: "hospital", Prefix: "dev-"})
	join := func(ctx context.Context, name string) (protocol.Identity, error) {
		by, _ := p.certify(aKey(), func(c *x509.Certificate) { c.DNSNames = []string{name} })
		return protocol.JoinVouched(ctx, v, must(protocol.NewEnrolment()), by, protocol.DialOptions{Now: w.clock.Now})
	}
	member := w.dial(must(join(ctx, "dev-1")))
	defer member.Close()
	path := filepath.Join(p.dir, "machines.crl")
	list := must(os.ReadFile(path))
	for what, c := range map[string]struct {
		do   func() error
		want string // of the error that the list gives; none is none
	}{
		"joins":    {func() error { _, err := join(ctx, "dev-2"); return err }, ""},
		"renews":   {func() error { _, err := member.Renew(ctx); return err }, "join again with a newer one"},
		"is swept": {func() error { return w.server.sweepOnce(ctx) }, ""},
	} {
		reader := hang(t, path)
		done := make(chan error, 1)
		go func() { done <- c.do() }()
		disk := reader()
		soon, stop := context.WithTimeout(ctx, consultTime/2)
		if _, _, err := w.operator.Invite(soon, protocol.InviteOptions{Name: "beside-who-" + strings.Fields(what)[0]}); err != nil {
			t.Errorf("while somebody %s nobody else can write: %v", what, err)
		}
		stop()
		must(disk.Write(list))
		must(0, disk.Close())
		if err := <-done; (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		must(0, os.Remove(path))
		must(0, os.WriteFile(path, list, 0o600))
	}
	// What the disk gives decides, however long ago the call came.
	reader := hang(t, path)
	done := make(chan error, 1)
	go func() { _, err := join(ctx, "dev-3"); done <- err }()
	disk := reader()
	must(0, disk.Close()) // an empty list is none
	if err := <-done; !errors.Is(err, protocol.ErrUnavailable) {
		t.Errorf("joined without a list: %v", err)
	}
}

// TestConsultGivesUp: who waits for a disk that hangs gives up, and gets what is as good as no
// list; others wait no longer; and once the disk is back, lists are read again.
func TestConsultGivesUp(t *testing.T) {
	p := newPKI(t, t.TempDir())
	path := filepath.Join(p.dir, "machines.crl")
	f := newForeign(p.dir, map[string]ForeignAuthority{"hospital": {Certificates: "hospital.pem", Revoked: []string{"machines.crl"}}})
	_, leaf := p.certify(aKey(), nil)
	standing := func() error {
		soon, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		return f.consult(soon, "hospital").standing(leaf, p.issuer, time.Now())
	}
	list := must(os.ReadFile(path))
	reader := hang(t, path)
	for range 3 {
		if err := standing(); !errors.Is(err, protocol.ErrUnavailable) {
			t.Errorf("without an answer: %v", err)
		}
	}
	disk := reader()
	must(disk.Write(list))
	must(0, disk.Close())
	must(0, os.Remove(path))
	must(0, os.WriteFile(path, list, 0o600))
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		err := standing()
		if err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("once the disk is back: %v", err)
		}
	}
}
