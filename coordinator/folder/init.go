package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"caucus/coordinator/records"
	"caucus/internal/clock"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
)

// InitOptions say where a new coordinator's folder is made, and who its first operator is.
type InitOptions struct {
	// Dir is made with mode 0700 if it does not exist. It must not hold a coordinator's files.
	Dir string
	// Listen is the host:port to listen on; empty: ":7443".
	Listen string
	// Address is the host:port that parties dial; empty: Listen, or the address listened on.
	Address string
	// Head is the head file to make: see Config.Head. Empty means Dir with .head appended.
	Head string
	// Operator names the first operator; empty: "operator".
	Operator string
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// HeadFile is the head file's path with the default filled in: beside the folder, so that a
// restored folder finds a newer head.
func (i InitOptions) HeadFile() string { return folder.DefaultPath(i.Dir, ".head", i.Head) }

// Init makes a coordinator's folder: authority, signing key, empty store and ledger, head file, the
// first operator's profile. It writes the configuration last. A folder without a configuration is
// unfinished, and Init makes it again.
func Init(o InitOptions) error {
	fail := func(err error) error { return fmt.Errorf("make coordinator in %s: %w", o.Dir, err) }
	if o.Listen == "" {
		o.Listen = DefaultConfig("").Listen
	}
	if o.Address == "" && protocol.CheckAddress(o.Listen) == nil {
		o.Address = o.Listen
	}
	if o.Operator == "" {
		o.Operator = "operator"
	}
	o.Now = clock.Clock{Now: o.Now}.Complete().Now
	c := DefaultConfig(o.Dir)
	c.Listen, c.Address = o.Listen, o.Address
	var err error
	if c.Head, err = filepath.Abs(o.HeadFile()); err != nil {
		return fail(err)
	}
	if err := c.Validate(); err != nil {
		return fail(err)
	}
	home := folder.DaemonFolder{Dir: o.Dir, Daemon: "coordinator", Config: ConfigFile,
		UnfinishedFiles: []string{StoreFile + "*", LedgerFile + "*"}}
	err = home.Make(protocol.WriteSecret, func() ([]byte, error) {
		if err := initSecrets(c, o); err != nil {
			return nil, err
		}
		head, err := initHead(o)
		return fmt.Appendf(nil, configText, c.Listen, c.Address, c.MinimumParties, head), err
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

const configText = `# A coordinator of Caucus. Each key's default is in the documentation.
listen: "%s"
# What invitations tell parties to dial.
address: "%s"
minimum_parties: %d
# How far the ledger is, outside of this folder and of its backups: another disk is
# better. To move it, stop the coordinator, move the file, and name it here.
head: %q
# What all releases with noise: coordinator may cost together, for example
#   budget: {record: {epsilon: 3, delta: 1e-5}}
budget: none
`

// initHead writes the head of an empty ledger and returns the file's name for the configuration. It
// refuses to overwrite an existing head file: the ledger that it belonged to may be lost, but its
// budget is spent.
func initHead(o InitOptions) (named string, err error) {
	path, err := filepath.Abs(o.HeadFile())
	if err != nil {
		return "", err
	}
	switch text, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("head: %w", err)
	default:
		had, err := privacy.ParseHead(string(text))
		if err != nil {
			return "", fmt.Errorf("head: %s is there and is something else: give another file with --head: %w", path, err)
		}
		if had.Sequence > 0 {
			return "", fmt.Errorf("head: %s remembers a ledger with %d entries: restore that coordinator from a backup; for another one give another folder, or another file with --head", path, had.Sequence)
		}
	}
	if err := protocol.WriteSecret(path, fmt.Appendln(nil, privacy.Head{})); err != nil {
		return "", fmt.Errorf("head: give a file that can be written with --head: %w", err)
	}
	return folder.ConfigPath(o.Dir, path)
}

func initSecrets(c Config, o InitOptions) error {
	now := o.Now()
	authority, err := server.NewAuthority(now)
	if err != nil {
		return err
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		return err
	}
	caller := protocol.Caller{Name: o.Operator, Role: protocol.RoleOperator}
	profile, leaf, err := authority.IssueFirstOperator(o.Address, caller, signer.Key(), now)
	if err != nil {
		return err
	}
	if err := errors.Join(
		authority.Save(c.Path(CAFile), c.Path(CAKeyFile)),
		signer.Save(c.Path(SignerFile)),
		profile.Save(c.Path(OperatorFile)),
	); err != nil {
		return err
	}
	store, err := makeFiles(c)
	if err != nil {
		return err
	}
	defer store.Close()
	return store.Update(context.Background(), func(tx records.Tx) error {
		return addOperator(tx, caller.Name, leaf, now)
	})
}
