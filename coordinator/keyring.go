package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"caucus/internal/folder"
	"caucus/protocol"
)

// keyring is what a coordinator proves itself with: its authority and its signer,
// and how they came from earlier ones.
type keyring struct {
	authority *protocol.Authority
	signer    *protocol.Signer
	keys      protocol.Keys // that it ever signed with
}

// keyringDocument is the keyring file: how each generation handed over to the
// next, oldest first. There is none before the first handover. Its length says
// which generation's key files are in use, so a handover happens when it is
// renamed into place, at once.
type keyringDocument struct {
	Successions []protocol.Signed `json:"successions"`
	Former      []protocol.Former `json:"former"`
}

// generation is a key file's name in the n-th generation: ca.key, ca-1.key, …
func generation(file string, n int) string {
	if n == 0 {
		return file
	}
	extension := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, extension), n, extension)
}

// keyFiles hold one generation.
var keyFiles = []string{caFile, caKeyFile, signerFile}

// loadKeyring reads the generation in use.
func loadKeyring(c Config) (k keyring, err error) {
	document, err := readKeyring(c)
	if err != nil {
		return k, err
	}
	n := len(document.Successions)
	authority, err := protocol.LoadAuthority(c.path(generation(caFile, n)), c.path(generation(caKeyFile, n)))
	if err != nil {
		return k, err
	}
	if k.signer, err = protocol.LoadSigner(c.path(generation(signerFile, n))); err != nil {
		return k, err
	}
	k.authority = authority.After(document.Former)
	first := k.signer.Key()
	if n > 0 {
		var oldest protocol.Succession
		if err := json.Unmarshal(document.Successions[0].Document, &oldest); err != nil {
			return k, fmt.Errorf("read %s: %w", keyringFile, err)
		}
		first = oldest.From
	}
	if k.keys, err = protocol.FollowKeys(first, document.Successions); err != nil {
		return k, fmt.Errorf("read %s: %w", keyringFile, err)
	}
	if k.keys.Newest() != k.signer.Key() || len(document.Former) != n {
		return k, fmt.Errorf("read %s: it does not lead to the keys beside it: restore a backup of the whole folder", keyringFile)
	}
	return k, nil
}

func readKeyring(c Config) (d keyringDocument, err error) {
	text, err := os.ReadFile(c.path(keyringFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return d, fmt.Errorf("read %s: %w", keyringFile, err)
	}
	return d, nil
}

// Rotate gives a stopped coordinator a new signing key and a new authority. The old
// key signs that it hands over to the new one, and the old authority certifies the
// new one's key, so agents, operators and verify follow by themselves: with their
// next call, or by what a release carries. Then the old secrets are deleted. What
// they signed stays good; certificates are renewed with the next call.
//
// Killed in the middle it has happened or not. It returns the new signing key.
func Rotate(dir string, now time.Time) (protocol.SignerKey, error) {
	fail := func(err error) (protocol.SignerKey, error) {
		return protocol.SignerKey{}, fmt.Errorf("rotate keys of %s: %w", dir, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	unlock, err := folder.Hold(c.Dir, "another coordinator")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	old, err := loadKeyring(c)
	if err != nil {
		return fail(err)
	}
	n := len(old.keys.Successions()) + 1
	if n > protocol.MaxSuccessions {
		return fail(fmt.Errorf("they were changed %d times already, and nobody follows further: make a new coordinator", protocol.MaxSuccessions))
	}
	authority, err := old.authority.Succeed(now)
	if err != nil {
		return fail(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		return fail(err)
	}
	succession, err := protocol.Succession{From: old.signer.Key(), To: signer.Key(), Authority: authority.DER(), At: now.UTC()}.Sign(old.signer)
	if err != nil {
		return fail(err)
	}
	document := keyringDocument{append(slices.Clone(old.keys.Successions()), succession), authority.Former()}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(
		authority.Save(c.path(generation(caFile, n)), c.path(generation(caKeyFile, n))),
		signer.Save(c.path(generation(signerFile, n))),
	); err != nil {
		return fail(err)
	}
	if err := protocol.WriteSecret(c.path(keyringFile), append(text, '\n')); err != nil {
		return fail(err)
	}
	if err := forgetOldKeys(c, n); err != nil {
		return fail(fmt.Errorf("the new keys are in use, but old ones are left: %w", err))
	}
	return signer.Key(), nil
}

// forgetOldKeys deletes the secrets of generations before n. A Rotate that was
// killed may have left some.
func forgetOldKeys(c Config, n int) error {
	for i := range n {
		for _, file := range keyFiles {
			if err := os.Remove(c.path(generation(file, i))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
