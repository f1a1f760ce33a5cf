package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"caucus/aggregator"
	"caucus/internal/folder"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study/kinds"
)

// InitOptions say where a new helper's folder is made, and with what settings.
type InitOptions struct {
	// Dir is made with mode 0700 if it does not exist. It must not hold a helper's files.
	Dir string
	// Listen is the host:port to listen on, :7444 if empty.
	Listen string
	// Head is the head file to make (Config.Head). Empty means Dir with .head appended.
	Head string
	// Coordinator is the key to pin, or its code (protocol.KeyCode). If it is empty, the operator
	// writes one of them into the file later.
	Coordinator string
}

// HeadFile is the head file's path with the default filled in: beside the folder, so that a
// restored folder finds a newer head.
func (i InitOptions) HeadFile() string { return folder.DefaultPath(i.Dir, ".head", i.Head) }

// Pins identify a helper. Others must get them from the helper's operator, and not from its
// coordinator.
type Pins struct {
	// Signing is the signing key. It goes into the coordinator's configuration and each party's
	// policy.
	Signing protocol.SignerKey `json:"signing"`
	// Sealing is the fingerprint of the sealing key. It goes into each party's policy.
	Sealing protocol.KeyPin `json:"sealing"`
}

// Code is what people read to each other to compare the pins (protocol.KeyCode).
func (p Pins) Code() string { return protocol.KeyCode(p.Signing[:], p.Sealing[:]) }

func pinsOf(signer *protocol.Signer, sealing *server.SealingKey) Pins {
	return Pins{signer.Key(), protocol.SealingPin(sealing.Public())}
}

// ReadPins reads the pins of a helper's folder.
func ReadPins(c Config) (Pins, error) {
	signer, err := protocol.LoadSigner(c.path(signerFile))
	if err != nil {
		return Pins{}, err
	}
	sealing, err := server.LoadSealingKey(c.path(sealingFile))
	if err != nil {
		return Pins{}, err
	}
	return pinsOf(signer, sealing), nil
}

// Init makes a helper's folder: its keys, an empty store and ledger, the head file and, last, the
// configuration. A folder without a configuration is unfinished, and Init makes it again.
func Init(o InitOptions) (Pins, error) {
	fail := func(err error) (Pins, error) {
		return Pins{}, fmt.Errorf("make helper in %s: %w", o.Dir, err)
	}
	c := DefaultConfig()
	if c.Dir = o.Dir; o.Listen != "" {
		c.Listen = o.Listen
	}
	head, err := filepath.Abs(o.HeadFile())
	if err != nil {
		return fail(err)
	}
	c.Head = head
	pinned := "# coordinator: "
	code, is, err := protocol.ReadKeyCode(o.Coordinator)
	switch {
	case err != nil:
		return fail(fmt.Errorf("coordinator: %q: %w", o.Coordinator, err))
	case is:
		c.CoordinatorCode, pinned = code, "coordinator_code: "+code
	case o.Coordinator != "":
		if err := c.Coordinator.UnmarshalText([]byte(o.Coordinator)); err != nil {
			return fail(fmt.Errorf("coordinator: %q is no key: %w", o.Coordinator, err))
		}
		pinned = fmt.Sprintf("coordinator: %s", c.Coordinator)
	}
	if err := errors.Join(c.Validate(), c.checkHead()); err != nil {
		return fail(err)
	}
	var pins Pins
	home := folder.DaemonFolder{Dir: o.Dir, Daemon: "helper", Config: ConfigFile,
		UnfinishedFiles: []string{storeFile + "*", LedgerFile + "*"}}
	err = home.Make(protocol.WriteSecret, func() (text []byte, err error) {
		if pins, err = initFiles(c); err != nil {
			return nil, err
		}
		served, by := kinds.TwoServerKinds()
		named, err := folder.ConfigPath(o.Dir, head)
		return fmt.Appendf(nil, configText, c.Listen, pinned, named, strings.Join(served, ", "),
			strings.Join(by, ", ")), err
	})
	if err != nil {
		return fail(err)
	}
	return pins, nil
}

func initFiles(c Config) (Pins, error) {
	signer, err := protocol.NewSigner()
	if err != nil {
		return Pins{}, err
	}
	sealing, err := server.NewSealingKey()
	if err != nil {
		return Pins{}, err
	}
	if err := errors.Join(signer.Save(c.path(signerFile)), sealing.Save(c.path(sealingFile)),
		os.MkdirAll(c.path(shelfFolder), 0o700)); err != nil {
		return Pins{}, err
	}
	ledger, err := journal.OpenSQLite(c.path(LedgerFile))
	if err != nil {
		return Pins{}, err
	}
	if err := ledger.Close(); err != nil {
		return Pins{}, err
	}
	if err := aggregator.Create(c.path(storeFile)); err != nil {
		return Pins{}, err
	}
	return pinsOf(signer, sealing), aggregator.WriteNewHead(c.headFile(), sealing.Public())
}

const configText = `# A helper of Caucus: the second server of studies with noise: aggregators. Each key's
# default is in the documentation.
listen: %q
# The coordinator that this helper serves: its operator gives the key, which
# caucus helper keys prints. Until it is here the helper does not run.
%s
# How far this helper was, outside of this folder and of its backups: another disk is
# better. To move it, stop the helper, move the file, and name it here.
head: %q
# Which studies are served. What is not named is refused; list what you agreed to.
policy:
  kinds: [%s]
  mechanisms: [%s]
  # The most that one study may cost, by its unit.
  study:
    record: {epsilon: 1, delta: 1e-6}
    party: {epsilon: 1, delta: 1e-6}
  minimum_parties: 3
# What all releases may cost together, for example
#   budget: {record: {epsilon: 3, delta: 1e-5}}
budget: none
`
