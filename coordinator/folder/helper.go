package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"caucus/aggregation/shares"
	aggregators "caucus/aggregator"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// HelperReport says what the helper's operator needs of this coordinator, and where the head file
// lies that no backup may contain.
type HelperReport struct {
	// Key is this coordinator's signing key. The helper's operator pins it.
	Key  protocol.SignerKey `json:"key"`
	Code string             `json:"code"` // of Key (protocol.KeyCode)
	Head string             `json:"head"`
	// Helper is the configured helper, nil if there is none yet.
	Helper *Helper `json:"helper,omitempty"`
}

// MakeHelper prepares the coordinator in dir for a helper. It makes the coordinator's signing key,
// its store of shares and that store's head file, if the key is missing. A coordinator that runs
// opens none of them then. With an address and a key, MakeHelper also writes the helper into the
// configuration, in place of one that is named there; the coordinator must then be stopped. The key
// may be the code of the helper's keys (protocol.KeyCode): then the helper is asked at the address
// for its key. Studies under way with an earlier helper fail once the new one answers.
func MakeHelper(dir string, address, key string) (r HelperReport, err error) {
	fail := func(err error) (HelperReport, error) {
		return HelperReport{}, fmt.Errorf("make what the coordinator in %s needs for a helper: %w", dir, err)
	}
	path := filepath.Join(dir, ConfigFile)
	c, err := LoadConfig(path)
	if err != nil {
		return fail(err)
	}
	h := Helper{Address: address}
	code, coded, err := protocol.ReadKeyCode(key)
	if err != nil {
		return fail(fmt.Errorf("key: %q: %w", key, err))
	}
	if key != "" && !coded {
		if err := h.Key.UnmarshalText([]byte(key)); err != nil {
			return fail(fmt.Errorf("key: %q is none: caucus helper init printed it at the helper: %w", key, err))
		}
	}
	head := folder.DefaultPath(c.Dir, ".shares.head", "")
	if c.Helper.Configured() {
		head = c.SharesHead()
	}
	signer, err := protocol.LoadSigner(c.Path(HelperSigningKeyFile))
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if address != "" {
		unlock, err := Lock(c.Dir)
		if err != nil {
			return fail(err)
		}
		defer unlock()
	}
	if !made {
		if signer, err = makeShares(c, head); err != nil {
			return fail(err)
		}
	}
	if r.Key, r.Head = signer.Key(), head; c.Helper.Configured() {
		r.Helper = &c.Helper
	}
	r.Code = protocol.KeyCode(r.Key[:])
	if address == "" {
		return r, nil
	}
	if h.Head, err = folder.ConfigPath(dir, head); err != nil {
		return fail(err)
	}
	if coded {
		ctx, stop := context.WithTimeout(context.Background(), helperTime)
		defer stop()
		if h.Key, err = aggregators.HelperByCode(ctx, address, signer, code); err != nil {
			return fail(err)
		}
	}
	if h.Key == signer.Key() {
		return fail(errors.New("key: this is the coordinator's own: a coordinator that is its own helper sees every contribution"))
	}
	if c.Helper = h; h.Key == (protocol.SignerKey{}) {
		return fail(h.validate(c))
	}
	if err := c.Validate(); err != nil {
		return fail(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fail(err)
	}
	text = bytes.TrimRight(withoutHelper(text), "\n")
	text = fmt.Appendf(append(text, '\n'), helperText, h.Address, h.Key, h.Head)
	if _, err := ParseConfig(text); err != nil {
		return fail(err)
	}
	if err := protocol.WriteSecret(path, text); err != nil {
		return fail(err)
	}
	r.Helper = &h
	return r, nil
}

// helperTime bounds the call to a helper of which only the code is known.
const helperTime = 10 * time.Second

// withoutHelper returns a configuration's text without the section helper and its first comment.
func withoutHelper(text []byte) (kept []byte) {
	inside := false
	for line := range bytes.Lines(text) {
		key := bytes.HasPrefix(line, []byte("helper:"))
		if inside = key || inside && bytes.HasPrefix(line, []byte(" ")); !inside &&
			!bytes.HasPrefix([]byte(helperText), line) {
			kept = append(kept, line...)
		}
	}
	return kept
}

const helperText = `# The second server of studies with noise: aggregators, run by another organisation.
helper:
  address: %s
  key: %s
  # How far this coordinator was with its shares, outside of this folder and of its backups.
  head: %q
`

// makeShares makes the store, then the head file, and the key last, so a folder with the key has
// all three.
func makeShares(c Config, head string) (*protocol.Signer, error) {
	if c.Store != "" {
		return nil, errors.New("its databases are in PostgreSQL, without one of shares: run caucus helper keys before caucus coordinator move")
	}
	left, err := filepath.Glob(c.Path(SharesFile + "*"))
	for _, path := range left { // left by a call that was killed
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, err
	}
	if err := aggregators.Create(c.at(SharesFile)); err != nil {
		return nil, err
	}
	if err := aggregators.WriteNewHead(head, nil); err != nil {
		return nil, err
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		return nil, err
	}
	return signer, signer.Save(c.Path(HelperSigningKeyFile))
}

// ReconcileShares lets a coordinator go on with studies of two servers after its folder was
// restored from an older backup, or their head file was lost, which it makes anew. Studies that
// were running fail. Call Reconcile first, which corrects the ledger. behind reports whether the
// shares were older than their head file.
func ReconcileShares(ctx context.Context, dir string) (behind bool, err error) {
	fail := func(err error) (bool, error) { return false, fmt.Errorf("reconcile shares: %w", err) }
	c, _, release, err := stopped(dir)
	if err != nil {
		return fail(err)
	}
	defer release()
	if !c.Helper.Configured() {
		return fail(fmt.Errorf("%s names no helper", ConfigFile))
	}
	signer, err := protocol.LoadSigner(c.Path(HelperSigningKeyFile))
	if err != nil {
		return fail(err)
	}
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	defer stores.Close()
	config := aggregators.Config{
		Role: shares.Coordinator, Store: stores.SharesStore, Head: c.SharesHead(), Journal: stores.Journal, Signer: signer, OtherKey: c.Helper.Key,
		Task: func(context.Context, study.Hash) (study.Task, error) {
			return nil, errors.New("no study is run now")
		},
	}
	if err := aggregators.RewriteHead(ctx, config, 0); err != nil {
		return fail(err)
	}
	s, err := aggregators.Open(ctx, config)
	if err != nil {
		return fail(err)
	}
	defer s.Close()
	if !s.IsRestored() {
		return false, nil
	}
	lost, _, err := s.LostEntries(ctx)
	if err != nil {
		return fail(err)
	}
	if lost > 0 {
		return fail(fmt.Errorf("the ledger lacks %d entries: caucus ledger reconcile comes first", lost))
	}
	if err := s.Reconcile(ctx); err != nil {
		return fail(err)
	}
	return true, nil
}
