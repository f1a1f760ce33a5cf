package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"caucus/privacy/journal"
	"caucus/protocol"
)

// InitOptions say what to make.
type InitOptions struct {
	// Dir is made with mode 0700 if it is not there. It may hold nothing of a
	// coordinator.
	Dir string
	// Listen is the host:port to listen on, :7443 where empty.
	Listen string
	// Address is the host:port that parties dial; where empty, Listen.
	Address string
	// Operator names the first operator, "operator" where empty.
	Operator string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Init makes a coordinator's folder: its authority, its signing key, an empty
// store and ledger, a config file and the first operator's profile. The config
// is written last: a folder without one was not finished, and Init does it
// over.
func Init(o InitOptions) error {
	fail := func(err error) error { return fmt.Errorf("make coordinator in %s: %w", o.Dir, err) }
	if o.Listen == "" {
		o.Listen = DefaultConfig("").Listen
	}
	if o.Address == "" {
		o.Address = o.Listen
	}
	if o.Operator == "" {
		o.Operator = "operator"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := DefaultConfig(o.Dir)
	c.Listen, c.Address = o.Listen, o.Address
	if err := c.Validate(); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fail(err)
	}
	if _, err := os.Stat(c.path(ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		return fail(errors.New("there is a coordinator already: give another folder, or run it"))
	}
	unlock, err := lockFolder(o.Dir)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	for _, pattern := range []string{storeFile + "*", LedgerFile + "*"} { // of an unfinished Init
		left, err := filepath.Glob(c.path(pattern))
		if err != nil {
			return fail(err)
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return fail(err)
			}
		}
	}
	if err := initSecrets(c, o); err != nil {
		return fail(err)
	}
	text := fmt.Sprintf(configText, c.Listen, c.Address, c.MinimumParties)
	if err := protocol.WriteSecret(c.path(ConfigFile), []byte(text)); err != nil {
		return fail(err)
	}
	return nil
}

const configText = `# A coordinator of Caucus. Each key's default is in the documentation.
listen: "%s"
# What invitations tell parties to dial.
address: "%s"
minimum_parties: %d
`

func initSecrets(c Config, o InitOptions) error {
	now := o.Now()
	authority, err := protocol.NewAuthority(now)
	if err != nil {
		return err
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		return err
	}
	caller := protocol.Caller{Name: o.Operator, Role: protocol.RoleOperator}
	profile, leaf, err := authority.IssueOwn(o.Address, caller, signer.Key(), now)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := errors.Join(
		authority.Save(c.path(caFile), c.path(caKeyFile)),
		signer.Save(c.path(signerFile)),
		protocol.WriteSecret(c.path(gossipFile), key),
		profile.Save(c.path(OperatorFile)),
	); err != nil {
		return err
	}
	ledger, err := journal.OpenSQLite(c.path(LedgerFile))
	if err != nil {
		return err
	}
	if err := ledger.Close(); err != nil {
		return err
	}
	store, err := openSQLite(c.path(storeFile))
	if err != nil {
		return err
	}
	defer store.Close()
	return store.Update(context.Background(), func(tx Tx) error { return addOperator(tx, caller.Name, leaf) })
}
