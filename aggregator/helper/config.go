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
	LedgerFile  = "ledger.db" // a privacy journal, see journal.OpenSQLite
	storeFile   = "shares.db"
	signerFile  = "signer.key"
	sealingFile = "sealing.key"
	shelfFolder = "plans"
)

// Config is the helper's file, which the helper's own operator writes: nothing that a coordinator
// sends changes its policy or budget.
type Config struct {
	// Listen is the host:port to listen on; port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Coordinator is the coordinator's key for its helper, as "caucus helper keys" prints it on the
	// coordinator's machine. Only the key's holder can connect.
	Coordinator protocol.SignerKey `yaml:"coordinator"`
	// CoordinatorCode is the code of that key, as the coordinator's operator reads it by telephone.
	// Until Coordinator is there, the helper waits for a caller whose key has this code, and writes
	// its key here (Learn).
	CoordinatorCode string `yaml:"coordinator_code"`
	// Head is the head file, which remembers the helper's progress. It must lie outside the folder
	// and its backups, best on another disk. A relative path is relative to the folder.
	Head string `yaml:"head"`
	// Policy says which studies this helper serves.
	Policy Policy `yaml:"policy"`
	// Budget limits the total cost of all releases, for each unit; nil is no limit. The file must
	// then say "budget: none", because a file without a budget may be truncated.
	Budget map[privacy.Unit]privacy.Budget `yaml:"budget"`
	// MaxPoolBytes bounds the bytes of a public pool.
	MaxPoolBytes int `yaml:"max_pool"`
	// MaxPlans bounds the plans stored with their pools, and MaxStored their bytes together. A new
	// plan replaces the oldest one; the coordinator sends that one again when it is needed. Once
	// contributions to a study were checked here, its plan stays until the study is released or
	// failed. If such plans leave no room, a new plan is refused.
	MaxPlans  int   `yaml:"max_plans"`
	MaxStored int64 `yaml:"max_stored"`
	// MaxOpenStudies bounds the accepted studies that are neither released nor failed.
	// MaxStoreBytes bounds the bytes of the store, which keeps a small record of every study.
	MaxOpenStudies int   `yaml:"max_open"`
	MaxStoreBytes  int64 `yaml:"max_shares"`
	// Metrics is a loopback host:port for monitoring without TLS: /metrics for Prometheus, /livez
	// and /readyz. They name no party and no study. Empty: off.
	Metrics string `yaml:"metrics"`

	Dir string `yaml:"-"`
	// Log receives events; nil logs nothing.
	Log *slog.Logger `yaml:"-"`
	// Checkpoint, if not nil, is called between effects. Tests kill the process there.
	Checkpoint func(effect string) `yaml:"-"`
}

// DefaultConfig listens on all addresses at port 7444 and serves no study yet.
func DefaultConfig() Config {
	return Config{Listen: ":7444", MaxPoolBytes: 256 << 20, MaxPlans: 200, MaxStored: 16 << 30,
		MaxOpenStudies: 1000, MaxStoreBytes: 16 << 30, Policy: DefaultPolicy()}
}

// LoadConfig reads the folder's file over the defaults and validates it. An unknown key is an
// error.
func LoadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, ConfigFile)
	fail := func(err error) (Config, error) {
		return Config{}, fmt.Errorf("read helper config: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fail(fmt.Errorf("%w: make the folder with caucus helper init, or give the helper's", err))
	}
	c, file, err := yamlfile.ReadConfig(path, DefaultConfig(), rules)
	if err != nil {
		return fail(err)
	}
	c.Dir = dir
	if err := c.checkHead(); err != nil {
		return fail(file.AddPosition(err))
	}
	return c, nil
}

// IsHelperFolder reports whether dir is a helper's folder.
func IsHelperFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ConfigFile))
	return err == nil
}

// HasCoordinatorKey reports whether the coordinator's key is given. New refuses to start without
// it; where only the key's code is known, PinCoordinator comes first.
func (c Config) HasCoordinatorKey() bool { return c.Coordinator != protocol.SignerKey{} }

func rules(file *yamlfile.Document) error { return file.RequireLimits("budget") }

// Validate returns an error that names the wrong field and says what to do.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: %q is no host:port, such as 0.0.0.0:7444", c.Listen)
	}
	if c.Metrics != "" {
		if err := webpage.CheckAddress(c.Metrics); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	switch _, is, err := protocol.ReadKeyCode(c.CoordinatorCode); {
	case err != nil:
		return fmt.Errorf("coordinator_code: %w", err)
	case c.CoordinatorCode != "" && !is:
		return fmt.Errorf("coordinator_code: %q is none: a code has 20 letters and digits", c.CoordinatorCode)
	}
	for u, g := range c.Budget {
		if err := g.Validate(); err != nil {
			return fmt.Errorf("budget: %s: %w", u, err)
		}
	}
	if c.MaxPoolBytes < 1 || c.MaxPoolBytes > protocol.MaxPoolBytes {
		return fmt.Errorf("max_pool: %d: give 1 to %d bytes", c.MaxPoolBytes, protocol.MaxPoolBytes)
	}
	if c.MaxPlans < 1 {
		return fmt.Errorf("max_plans: %d: give at least 1", c.MaxPlans)
	}
	if least := int64(c.MaxPoolBytes) + protocol.MaxPlanBytes; c.MaxStored < least {
		return fmt.Errorf("max_stored: %d: give at least %d bytes, or lower max_pool: one plan with the largest pool would not be taken", c.MaxStored, least)
	}
	if c.MaxOpenStudies < 1 || c.MaxStoreBytes < 1 {
		return fmt.Errorf("max_open, max_shares: %d and %d: give at least 1 each", c.MaxOpenStudies, c.MaxStoreBytes)
	}
	if err := c.Policy.Validate(); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

// checkHead refuses a head file inside the folder, because a restore of the folder would restore
// the file too.
func (c Config) checkHead() error {
	if c.Head == "" {
		return errors.New("head: not given: name the file that helper init made outside of the folder; it tells whether the folder was put back to an older state")
	}
	if err := folder.RefuseInside(c.Dir, c.Head, "helper"); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

func (c Config) path(file string) string { return filepath.Join(c.Dir, file) }

func (c Config) headFile() string { return folder.ResolvePath(c.Dir, c.Head) }
