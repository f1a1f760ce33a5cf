package folder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"caucus/internal/database"
	"caucus/protocol"
	"caucus/protocol/server"
)

// Keyring is a coordinator's authority and its signer, with their succession from earlier ones.
type Keyring struct {
	Authority *server.Authority
	Signer    *protocol.Signer
	Keys      protocol.Keys // all keys that this coordinator ever signed with
}

// keyringDocument is the keyring file: the signed handover from each generation of keys to the
// next, oldest first. Before the first handover there is no file. The number of handovers tells
// which generation's key files are in use, so a handover takes effect when the file is renamed into
// place.
type keyringDocument struct {
	Successions []protocol.Signed        `json:"successions"`
	Former      []server.FormerAuthority `json:"former"`
}

// generation is a key file's name in the n-th generation: ca.key, ca-1.key, …
func generation(file string, n int) string {
	if n == 0 {
		return file
	}
	extension := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, extension), n, extension)
}

var keyFiles = []string{CAFile, CAKeyFile, SignerFile}

// LoadKeyring reads the generation of keys in use, and checks that successions lead from the first
// key to it. A half-made handover has no effect on what it returns.
func LoadKeyring(c Config) (k Keyring, err error) {
	document, err := readKeyring(c)
	if err != nil {
		return k, err
	}
	n := len(document.Successions)
	authority, err := server.LoadAuthority(c.Path(generation(CAFile, n)),
		c.Path(generation(CAKeyFile, n)))
	if err != nil {
		return k, err
	}
	if k.Signer, err = protocol.LoadSigner(c.Path(generation(SignerFile, n))); err != nil {
		return k, err
	}
	k.Authority = authority.WithPredecessors(document.Former)
	first := k.Signer.Key()
	if n > 0 {
		var oldest protocol.Succession
		if err := json.Unmarshal(document.Successions[0].Document, &oldest); err != nil {
			return k, fmt.Errorf("read %s: %w", KeyringFile, err)
		}
		first = oldest.From
	}
	if k.Keys, err = protocol.FollowKeys(first, document.Successions); err != nil {
		return k, fmt.Errorf("read %s: %w", KeyringFile, err)
	}
	if k.Keys.Newest() != k.Signer.Key() || len(document.Former) != n {
		return k, fmt.Errorf("read %s: it does not lead to the keys beside it: restore a backup of the whole folder", KeyringFile)
	}
	return k, nil
}

func readKeyring(c Config) (d keyringDocument, err error) {
	text, err := os.ReadFile(c.Path(KeyringFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return d, fmt.Errorf("read %s: %w", KeyringFile, err)
	}
	return d, nil
}

// stopped reads the configuration and keys of a stopped coordinator. It locks the folder until
// release is called.
func stopped(dir string) (c Config, ring Keyring, release func(), err error) {
	if c, err = LoadConfig(filepath.Join(dir, ConfigFile)); err != nil {
		return c, ring, nil, err
	}
	if release, err = Lock(c.Dir); err != nil {
		return c, ring, nil, err
	}
	if c.Store != "" {
		lease, err := database.AcquireLease(context.Background(), c.Store, "a command", true, nil)
		if err != nil {
			release()
			return c, ring, nil, err
		}
		free := release
		release = func() { lease.Release(); free() }
	}
	if ring, err = LoadKeyring(c); err != nil {
		release()
	}
	return c, ring, release, err
}

// Rotate gives a stopped coordinator a new signing key and a new authority, and returns the new
// signing key. The old key signs the new one, and the old authority certifies the new authority's
// key. So agents and operators trust the new keys from their next call on, and "caucus release
// verify" reads the handover in a release. Rotate then deletes the old secrets. Old signatures stay
// valid; certificates are renewed with the next call. A killed Rotate has taken full effect or
// none.
func Rotate(dir string, now time.Time) (protocol.SignerKey, error) {
	fail := func(err error) (protocol.SignerKey, error) {
		return protocol.SignerKey{}, fmt.Errorf("rotate keys of %s: %w", dir, err)
	}
	c, old, release, err := stopped(dir)
	if err != nil {
		return fail(err)
	}
	defer release()
	n := len(old.Keys.Successions()) + 1
	if n > protocol.MaxSuccessions {
		return fail(fmt.Errorf("they were changed %d times already, and nobody follows further: make a new coordinator", protocol.MaxSuccessions))
	}
	authority, err := old.Authority.NewSuccessor(now)
	if err != nil {
		return fail(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		return fail(err)
	}
	succession, err := protocol.Succession{From: old.Signer.Key(), To: signer.Key(),
		Authority: authority.DER(), At: now.UTC()}.Sign(old.Signer)
	if err != nil {
		return fail(err)
	}
	document := keyringDocument{append(slices.Clone(old.Keys.Successions()), succession),
		authority.Former()}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(
		authority.Save(c.Path(generation(CAFile, n)), c.Path(generation(CAKeyFile, n))),
		signer.Save(c.Path(generation(SignerFile, n))),
	); err != nil {
		return fail(err)
	}
	if err := protocol.WriteSecret(c.Path(KeyringFile), append(text, '\n')); err != nil {
		return fail(err)
	}
	if err := ForgetOldKeys(c, n); err != nil {
		return fail(fmt.Errorf("the new keys are in use, but old ones are left: %w", err))
	}
	return signer.Key(), nil
}

// ForgetOldKeys deletes the secrets of generations before n. A killed Rotate may have left some.
func ForgetOldKeys(c Config, n int) error {
	for i := range n {
		for _, file := range keyFiles {
			if err := os.Remove(c.Path(generation(file, i))); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
