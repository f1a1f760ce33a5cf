package server

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"caucus/protocol"
	"caucus/study"
)

// TestSealedShare: a share opens only with the key that it was sealed to, read back from a file,
// and under its own binding. Its size is the share's plus a constant.
func TestSealedShare(t *testing.T) {
	made, err := NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sealing.key")
	if err := made.Save(path); err != nil {
		t.Fatal(err)
	}
	key, err := LoadSealingKey(path)
	if err != nil || !bytes.Equal(key.Public(), made.Public()) {
		t.Fatalf("another key was read: %v", err)
	}
	binding := protocol.ShareBinding{Plan: study.Hash{1}, Party: "north", Weight: 7,
		CommonPart: []byte("nonce and public share"), OtherDigest: [32]byte{2}}
	share := []byte("144 bytes of a share")
	sealed, err := protocol.SealShare(key.Public(), binding, share)
	if err != nil {
		t.Fatal(err)
	}
	if len(sealed) != len(share)+protocol.SealOverhead {
		t.Errorf("sealed it has %d bytes more, SealOverhead says %d", len(sealed)-len(share), protocol.SealOverhead)
	}
	if got, err := key.OpenShare(binding, sealed); err != nil || !bytes.Equal(got, share) {
		t.Errorf("opened: %q, %v", got, err)
	}
	refused := func(what string, k *SealingKey, b protocol.ShareBinding, sealed []byte) {
		t.Helper()
		if _, err := k.OpenShare(b, sealed); !errors.Is(err, protocol.ErrDamaged) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	for what, change := range map[string]func(*protocol.ShareBinding){
		"another plan":       func(b *protocol.ShareBinding) { b.Plan[5]++ },
		"another acceptance": func(b *protocol.ShareBinding) { b.Acceptance[0]++ },
		"another party":      func(b *protocol.ShareBinding) { b.Party = "south" },
		"another weight":     func(b *protocol.ShareBinding) { b.Weight++ },
		"another nonce": func(b *protocol.ShareBinding) {
			b.CommonPart = []byte("nonce and another share")
		},
		"another part": func(b *protocol.ShareBinding) { b.OtherDigest[3]++ },
		// Without lengths, these fields would run into each other.
		"party and head moved": func(b *protocol.ShareBinding) {
			b.Party, b.CommonPart = b.Party+"n", b.CommonPart[1:]
		},
	} {
		b := binding
		b.CommonPart = bytes.Clone(b.CommonPart)
		change(&b)
		refused(what, key, b, sealed)
	}
	for at := range sealed {
		changed := bytes.Clone(sealed)
		changed[at] ^= 1
		refused("a changed byte", key, binding, changed)
	}
	const over = protocol.SealOverhead
	for _, n := range []int{0, 1, over - 1, over, len(sealed) - 1} {
		refused("cut off", key, binding, sealed[:n])
	}
	other, err := NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	refused("another key", other, binding, sealed)
	if protocol.SealingPin(other.Public()) == protocol.SealingPin(key.Public()) {
		t.Error("two keys have one pin")
	}
	if _, err := protocol.SealShare([]byte("no key"), binding, share); err == nil {
		t.Error("sealed to what is no key")
	}
}
