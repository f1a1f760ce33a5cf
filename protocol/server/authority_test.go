package server

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestIdentityFiles: a secret file is private and written whole, and refused if others may read it.
func TestIdentityFiles(t *testing.T) {
	now := time.Now()
	a := must(NewAuthority(now))
	dir := t.TempDir()
	must(0, a.Save(filepath.Join(dir, "ca"), filepath.Join(dir, "key")))
	again := must(LoadAuthority(filepath.Join(dir, "ca"), filepath.Join(dir, "key")))
	id, leaf, err := again.IssueFirstOperator("host:1",
		protocol.Caller{Name: "site.one", Role: protocol.RoleParty}, protocol.SignerKey{1}, now)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "id")
	must(0, id.Save(path))
	if got := must(protocol.LoadIdentity(path)); !reflect.DeepEqual(got, id) {
		t.Errorf("identity %+v", got)
	}
	if caller := must(id.Caller()); caller != (protocol.Caller{Name: "site.one",
		Role: protocol.RoleParty, Serial: leaf.SerialNumber.Text(16)}) {
		t.Errorf("caller %+v", caller)
	}
	if from, to, err := id.Validity(); err != nil || now.Sub(from) < 24*time.Hour ||
		to.Sub(now) < 300*24*time.Hour {
		t.Errorf("valid from %v to %v, %v", from, to, err)
	}
	must(0, os.Chmod(path, 0o640))
	if _, err := protocol.LoadIdentity(path); err == nil ||
		!strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("an identity that others may read: %v", err)
	}
	if _, err := protocol.LoadIdentity(filepath.Join(dir, "none")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("no identity: %v", err)
	}
	other := must(NewAuthority(now))
	must(0, other.Save(filepath.Join(dir, "other"), filepath.Join(dir, "other-key")))
	if _, err := LoadAuthority(filepath.Join(dir, "ca"),
		filepath.Join(dir, "other-key")); err == nil {
		t.Error("an authority with another's key")
	}
	if left := must(filepath.Glob(filepath.Join(dir, ".*"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// The coordinator's certificate has its role alone.
	server := must(a.ServerCertificate(now))
	caller := must(protocol.CallerOfCertificate(server.Leaf))
	if caller.Role != protocol.RoleCoordinator {
		t.Errorf("server is %+v", caller)
	}
	for _, change := range []func(){
		func() { leaf.Subject.CommonName = "other" },
		func() { leaf.URIs = nil },
	} {
		change()
		if _, err := protocol.CallerOfCertificate(leaf); !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("a certificate that contradicts itself: %v", err)
		}
	}
}
