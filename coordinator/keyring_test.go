package coordinator

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"caucus/coordinator/folder"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/server"
	"caucus/study"
)

// TestRotate: a coordinator changes its keys twice in the middle of a study. All who know the old
// keys go on: parties, the operator, a party that was invited before, and holders of a release. The
// old secrets are deleted.
func TestRotate(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	id := w.identity("p2")
	text, _, err := w.operator.Invite(ctx, admin.InviteOptions{Name: "late"})
	if err != nil {
		t.Fatal(err)
	}
	s := w.small(3)
	first := w.server.signer.Key()
	stolen := must(server.LoadAuthority(w.config.Path(folder.CAFile),
		w.config.Path(folder.CAKeyFile)))
	before := must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	memory := filepath.Join(t.TempDir(), "memory") // what p0 remembers from before the change
	keeps := must(admin.Dial(id,
		protocol.DialOptions{Coordinator: w.server.Addr(), Now: w.clock.Now,
			NewestSignedFile: memory}))
	must(keeps.Studies(ctx))
	keeps.Close()
	for range 2 {
		if _, err := folder.Rotate(w.config.Dir, w.clock.Now()); err == nil ||
			!strings.Contains(err.Error(), "another coordinator runs") {
			t.Errorf("rotated under a running coordinator: %v", err)
		}
		w.stop()
		key := must(folder.Rotate(w.config.Dir, w.clock.Now()))
		w.start() // the parties, which know only the old authority, call
		for name, c := range w.parties {
			if c.Keys().Newest() != key {
				t.Errorf("%s follows to %s, not to %s", name, c.Keys().Newest(), key)
			}
		}
	}
	for _, file := range []string{"ca.pem", "ca.key", "signer.key", "ca-1.pem", "ca-1.key",
		"signer-1.key"} {
		if _, err := os.Stat(w.config.Path(file)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of an earlier generation is left: %v", file, err)
		}
	}
	if again := must(w.parties["p0"].Contribute(ctx, s.Hash,
		ballotFor(0, 3))); string(again.Document) != string(before.Document) {
		t.Error("another receipt after the change")
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))

	// An identity that follows the change trusts only the new authority, and gets a certificate
	// from it.
	old := w.dial(id)
	must(old.Studies(ctx))
	followed, news := id.WithKeys(old.Keys(), protocol.Addresses{})
	if !news || !followed.Outdated() || followed.CA == id.CA {
		t.Errorf("followed: news %v, outdated %v", news, followed.Outdated())
	}
	old.Close()
	path := filepath.Join(t.TempDir(), "identity.yaml")
	must(0, followed.Save(path))
	c := w.dial(must(protocol.LoadIdentity(path)))
	defer c.Close()
	renewed := must(c.Renew(ctx))
	if renewed.Outdated() || len(renewed.Successions) != 2 || renewed.Signer != first {
		t.Errorf("renewed: outdated %v, %d successions", renewed.Outdated(),
			len(renewed.Successions))
	}
	c2 := w.dial(renewed)
	defer c2.Close()
	must(c2.Contribute(ctx, s.Hash, ballotFor(2, 3)))

	late := must(protocol.Enrol(ctx, must(protocol.ParseInvitation(text)),
		must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now}))
	c3 := w.dial(late)
	defer c3.Close()
	must(c3.Studies(ctx))
	w.enrol("new")

	w.wait("trial", study.Released)
	for _, who := range []*admin.Client{w.operator, c2} {
		if _, err := who.Studies(ctx); err != nil {
			t.Fatal(err)
		}
		r := must(who.Release(ctx, "trial"))
		if r.Signer == first || r.Check(first) == nil || len(r.Successions) != 2 {
			t.Errorf("the release is signed by %s, with %d successions", r.Signer, len(r.Successions))
		}
		trusted := must(protocol.FollowKeys(first, nil))
		if err := r.Check(trusted.FollowAll(r.Successions)); err != nil {
			t.Errorf("who holds the first key alone: %v", err)
		}
	}
	if e := must(folder.ReadEvidence(ctx, w.config.Dir)); len(e.Lines) != 1 {
		t.Errorf("the folder's own evidence: %d lines", len(e.Lines))
	}
	// A later caller still accepts a document that the first key signed, and shows it.
	profile := must(folder.NewOperator(ctx, w.config.Dir, "second", w.clock.Now()))
	if profile.Outdated() {
		t.Error("a new profile is of an old authority")
	}
	again := w.identity("p0")
	for what, who := range map[string]protocol.Identity{"a new operator": profile,
		"a party enrolled anew": again} {
		c, err := admin.Dial(who,
			protocol.DialOptions{Coordinator: w.server.Addr(), Now: w.clock.Now,
				NewestSignedFile: memory})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if _, err := c.Study(ctx, "trial"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := protocol.ParseReceipt(before.Document, before.Signature,
			c.Keys()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		c.Close()
	}

	// A thief with the first keys cannot act as the coordinator for callers that followed the
	// change, but still can for the others.
	config := must(server.TLS(stolen, w.clock.Now, func(protocol.Caller) error {
		return nil
	}))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	impostor := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	done := make(chan error, 1)
	go func() { done <- impostor.Serve(listener) }()
	defer func() { impostor.Stop(); <-done }()
	for who, want := range map[*protocol.Identity]string{&renewed: "is not the coordinator",
		&id: "another version"} {
		c := must(admin.Dial(*who,
			protocol.DialOptions{Coordinator: listener.Addr().String(), Now: w.clock.Now}))
		if _, err := c.Studies(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the impostor is heard: %v, want …%s…", err, want)
		}
		c.Close()
	}
}

// TestRotateKilled: a key change that is killed in the middle has either happened completely or not
// at all.
func TestRotateKilled(t *testing.T) {
	w := newWorld(t, nil)
	w.stop()
	dir := w.config.Dir
	before := readFiles(t, dir+"/")
	must(folder.Rotate(dir, w.clock.Now()))
	after := readFiles(t, dir+"/")
	// Killed before the keyring is written: the old keys are present and in use.
	writeFiles(t, before)
	must(0, os.Remove(w.config.Path(folder.KeyringFile)))
	w.start()
	if w.server.keys.Newest() != w.server.signer.Key() || len(w.server.keys.Successions()) != 0 {
		t.Error("keys of a rotation that did not happen are in use")
	}
	w.stop()
	// Killed after it: the new keys are in use, and the next start deletes the old ones.
	writeFiles(t, after)
	writeFiles(t, before)
	w.start()
	if len(w.server.keys.Successions()) != 1 {
		t.Error("a rotation that happened is forgotten")
	}
	if _, err := os.Stat(w.config.Path(folder.SignerFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old signer is left: %v", err)
	}
	w.stop()
	must(0, os.Remove(w.config.Path(folder.KeyringFile)))
	w.refusesToStart("without its keyring", folder.CAFile)
}

// TestPutBackBeforeRotation: callers that followed a key change accept no coordinator from an older
// folder. So that coordinator releases nothing that they contributed to, unless an operator waives
// them.
func TestPutBackBeforeRotation(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	id := w.identity("p0")
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	w.stop()
	putBack := w.backup()
	must(folder.Rotate(w.config.Dir, w.clock.Now()))
	w.start()
	followed, _ := id.WithKeys(w.parties["p0"].Keys(), protocol.Addresses{})
	w.stop()
	putBack()
	parties := w.alone()
	w.start()
	c := w.dial(followed)
	defer c.Close()
	if _, err := c.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("who followed still calls: %v", err)
	}
	must(parties["p1"].Studies(ctx))
	must(parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.until("an operator waives them")
	if got := w.wait("trial", study.Summed); len(got.Awaited) != 1 || got.Awaited[0] != "p0" {
		t.Errorf("it waits for %v", got.Awaited)
	}
}

// TestRotateOften: keys can be changed as often as callers can follow, and not once more, so a
// coordinator never has keys that it would not accept itself. After the last change, everything
// works as after the first.
func TestRotateOften(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(2)
	w.stop()
	for range protocol.MaxSuccessions {
		must(folder.Rotate(w.config.Dir, w.clock.Now()))
	}
	if _, err := folder.Rotate(w.config.Dir, w.clock.Now()); err == nil ||
		!strings.Contains(err.Error(), "make a new coordinator") {
		t.Errorf("once more: %v", err)
	}
	w.start() // the parties call and learn the keys
	for i, p := range names(2) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
	}
	w.wait("trial", study.Released)
	must(w.operator.Studies(ctx)) // the operator learns the keys
	if r := must(w.operator.Release(ctx, "trial")); len(r.Successions) != protocol.MaxSuccessions {
		t.Errorf("the release carries %d successions", len(r.Successions))
	}
	id := w.identity("late")
	file := filepath.Join(t.TempDir(), "identity.yaml")
	must(0, id.Save(file))
	late := w.dial(must(protocol.LoadIdentity(file)))
	defer late.Close()
	if _, err := late.Studies(ctx); err != nil {
		t.Errorf("a party that was invited after all that: %v", err)
	}
	must(folder.Backup(ctx, w.config.Dir, filepath.Join(t.TempDir(), "backup"), w.clock.Now()))
}

// TestAddresses: a caller learns the replicas' addresses from a document that the coordinator
// signed. An identity with an address of its own keeps it.
func TestAddresses(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	w.enrol("p0")
	if l := must(w.parties["p0"].Studies(ctx)); l.Addresses.List != "" {
		t.Errorf("it says %q and knows none", l.Addresses.List)
	}
	id := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
	id.Coordinator = w.config.Listen
	w.stop()
	w.config.Address = w.config.Listen + ",b.example.org:7443,c.example.org:7443"
	w.start()
	l := must(w.parties["p0"].Studies(ctx))
	followed, news := id.WithKeys(w.parties["p0"].Keys(), l.Addresses)
	if !news || l.Addresses.List != w.config.Address || followed.Coordinator != w.config.Address {
		t.Errorf("it learns %q", followed.Coordinator)
	}
	if _, again := followed.WithKeys(w.parties["p0"].Keys(), l.Addresses); again {
		t.Error("what it knows is news")
	}
	id.Coordinator = "tunnel.example.org:7443"
	if _, news := id.WithKeys(w.parties["p0"].Keys(), l.Addresses); news {
		t.Error("a tunnel is forgotten")
	}
	w.server.addresses = &addressBook{signer: must(protocol.NewSigner()), fixed: w.config.Address}
	if _, err := w.parties["p0"].Studies(ctx); !errors.Is(err, protocol.ErrDamaged) {
		t.Errorf("addresses that somebody else signed: %v", err)
	}
}
