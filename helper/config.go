package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"caucus/internal/folder"
	"caucus/internal/webpage"
	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/protocol"
)

// Files in a helper's folder.
const (
	ConfigFile  = "helper.yaml"
	LedgerFile  = "ledger.db" // a privacy journal: journal.OpenSQLite
	storeFile   = "shares.db"
	signerFile  = "signer.key"
	sealingFile = "sealing.key"
	shelfFolder = "plans"
)

// Config of a helper. Start from DefaultConfig, or read a file with LoadConfig.
type Config struct {
	// Listen is host:port to listen on; port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Coordinator is the key that the coordinator signs with for its helper: its operator
	// gives it (caucus helper keys prints it). Nobody else gets a connection.
	Coordinator protocol.SignerKey `yaml:"coordinator"`
	// Head is a file outside of the folder and of its backups, which remembers how far the
	// helper was; another disk is better. A relative path is relative to the folder.
	Head string `yaml:"head"`
	// Policy says which studies this helper serves.
	Policy Policy `yaml:"policy"`
	// Budget limits what all its releases may cost together, for each unit; nil is no
	// limit. A file says "budget: none" for that: one that does not speak of it was cut off.
	Budget map[privacy.Unit]privacy.Budget `yaml:"budget"`
	// MaxPool is the most bytes of a public pool that the coordinator may bring.
	MaxPool int `yaml:"max_pool"`
	// MaxPlans is the most plans that are kept, with their pools, and MaxStored the most bytes
	// of all of them. A plan makes room, the oldest first, and is brought again when it is
	// needed, unless contributions to its study were checked here and it is neither released
	// nor failed; where those leave no room, no other is taken.
	MaxPlans  int   `yaml:"max_plans"`
	MaxStored int64 `yaml:"max_stored"`
	// MaxOpen is the most studies that are accepted and neither released nor failed, and
	// MaxShares the most bytes of the store of what was accepted, which keeps a little of each.
	MaxOpen   int   `yaml:"max_open"`
	MaxShares int64 `yaml:"max_shares"`
	// Metrics is a loopback host:port for those who watch this machine, without TLS:
	// /metrics for Prometheus, /livez and /readyz. It names no party and no study. Empty is
	// off.
	Metrics string `yaml:"metrics"`

	// Dir is the folder, as Init made it.
	Dir string `yaml:"-"`
	// Log receives what happens; nil logs nothing.
	Log *slog.Logger `yaml:"-"`
	// Checkpoint, where not nil, is called between effects: tests kill the process there.
	Checkpoint func(effect string) `yaml:"-"`
}

// DefaultConfig is a helper on all addresses, port 7444, that serves nothing yet.
func DefaultConfig() Config {
	return Config{Listen: ":7444", MaxPool: 256 << 20, MaxPlans: 200, MaxStored: 16 << 30, MaxOpen: 1000, MaxShares: 16 << 30, Policy: DefaultPolicy()}
}

// LoadConfig reads a folder's file over the defaults and validates it. An unknown key is an
// error.
func LoadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, ConfigFile)
	fail := func(err error) (Config, error) { return Config{}, fmt.Errorf("read helper config: %w", err) }
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fail(fmt.Errorf("%w: make the folder with helper init first", err))
	}
	c, file, err := yamlfile.ReadConfig(path, DefaultConfig(), rules)
	if err != nil {
		return fail(err)
	}
	c.Dir = dir
	if err := c.checkHead(); err != nil {
		return fail(file.Locate(err))
	}
	return c, nil
}

// In says whether a folder is a helper's.
func In(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ConfigFile))
	return err == nil
}

// Pinned says whether a coordinator's key is there.
func (c Config) Pinned() bool { return c.Coordinator != protocol.SignerKey{} }

// ParseConfig reads YAML over the defaults and validates it, but for where its files lie.
func ParseConfig(text []byte) (Config, error) {
	return yamlfile.ParseConfig(text, DefaultConfig(), rules)
}

// rules: a file that does not speak of the budget was cut off.
func rules(file *yamlfile.Document) error { return file.RequireLimits("budget") }

// Validate says which field is wrong and what to do.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: %q is no host:port, such as 0.0.0.0:7444", c.Listen)
	}
	if c.Metrics != "" {
		if err := webpage.CheckAddress(c.Metrics); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	for u, g := range c.Budget {
		if err := g.Validate(); err != nil {
			return fmt.Errorf("budget: %s: %w", u, err)
		}
	}
	if c.MaxPool < 1 || c.MaxPool > protocol.MaxPool {
		return fmt.Errorf("max_pool: %d: give 1 to %d bytes", c.MaxPool, protocol.MaxPool)
	}
	if c.MaxPlans < 1 {
		return fmt.Errorf("max_plans: %d: give at least 1", c.MaxPlans)
	}
	if least := int64(c.MaxPool) + protocol.MaxPlan; c.MaxStored < least {
		return fmt.Errorf("max_stored: %d: give at least %d bytes, or lower max_pool: one plan with the largest pool would not be taken", c.MaxStored, least)
	}
	if c.MaxOpen < 1 || c.MaxShares < 1 {
		return fmt.Errorf("max_open, max_shares: %d and %d: give at least 1 each", c.MaxOpen, c.MaxShares)
	}
	if err := c.Policy.Validate(); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

// checkHead refuses a head file that would go back with the folder.
func (c Config) checkHead() error {
	if c.Head == "" {
		return errors.New("head: not given: name the file that helper init made outside of the folder; it tells whether the folder was put back to an older state")
	}
	if err := folder.Outside(c.Dir, c.Head, "helper"); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

func (c Config) path(file string) string { return filepath.Join(c.Dir, file) }

// headFile is where Head lies.
func (c Config) headFile() string { return folder.Path(c.Dir, c.Head) }
