package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"caucus/coordinator/cluster"
	"caucus/internal/clock"
	"caucus/internal/database"
	"caucus/internal/folder"
	"caucus/internal/webpage"
	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Config configures a coordinator. Start from DefaultConfig, or read a file with LoadConfig.
type Config struct {
	// Dir is the coordinator's folder, as Init made it.
	Dir string `yaml:"dir"`
	// Store is the address of the PostgreSQL database that several replicas share:
	// postgres://user@host/database. Empty means files in Dir. "caucus coordinator move" writes
	// this field.
	Store string `yaml:"store"`
	// Listen is the host:port to listen on; port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Address is the host:port that invitations tell parties to dial; several have commas between
	// them. Empty means the address on which the coordinator listens.
	Address string `yaml:"address"`
	// Replicas is how this replica finds the others that share Store. Address is this replica's
	// own, and agents learn those of all. Without it there are no others.
	Replicas cluster.Endpoints `yaml:"replicas"`
	// MinimumParties is the least number of contributors that a plan may have as its minimum.
	MinimumParties int `yaml:"minimum_parties"`
	// InvitationValid is how long an invitation lasts, unless the command that makes it says
	// otherwise.
	InvitationValid time.Duration `yaml:"invitation_valid"`
	// Budget limits the cost of all releases in this coordinator's own ledger, for each unit. Nil
	// is no limit, which a file states as "budget: none". A file without a budget is refused,
	// because it may be an incomplete copy.
	Budget map[privacy.Unit]privacy.Budget `yaml:"budget"`
	// Limits bound what callers can make the coordinator do.
	Limits Limits `yaml:"limits"`
	// WitnessWait is the time after a start in which nothing is released, so that agents can show
	// the newest state of the ledger that they know. It should be two of their poll intervals.
	WitnessWait time.Duration `yaml:"witness_wait"`
	// RepairWait is the longest time that a study waits for the bytes of a damaged contribution. It
	// then goes on without the contribution.
	RepairWait time.Duration `yaml:"repair"`
	// MaxStop is the longest time that the coordinator may have been stopped with studies open,
	// by its clock. After a longer stop an operator must vouch for the clock (caucus coordinator
	// clock) before any study is sealed.
	MaxStop time.Duration `yaml:"longest_stop"`
	// CheckInterval is the interval at which deadlines are checked.
	CheckInterval time.Duration `yaml:"tick"`
	// StopGrace bounds how long calls under way may continue when the coordinator stops.
	StopGrace time.Duration `yaml:"grace"`
	// Health and Reflection turn on these gRPC services, for members only.
	Health     bool `yaml:"health"`
	Reflection bool `yaml:"reflection"`
	// Page is a loopback host:port, or a Unix socket as unix:/run/caucus/page.sock, for a web page
	// that names parties and studies. The page opens by a link (caucus coordinator page). Metrics
	// is an address of the same form for /metrics, /livez and /readyz, without TLS; they name no
	// party and no study. Both may be the same. Empty is off.
	Page    string `yaml:"page"`
	Metrics string `yaml:"metrics"`
	// Helper is the second server, which studies with noise by aggregators need. See "caucus helper
	// keys".
	Helper Helper `yaml:"helper"`

	// Head is a file outside of Dir and of its backups, best on another disk. The coordinator keeps
	// the number and hash of its last ledger entry there, and releases nothing after the whole
	// folder was restored to an older state. Empty: only callers can notice that. A relative path
	// is relative to Dir. Init names a file beside the folder.
	Head string `yaml:"head"`

	// AllowNoStandby allows PostgreSQL without a synchronous standby.
	AllowNoStandby bool `yaml:"-"`
	// Stores are the databases that OpenStoresAsLeader opened. If nil, New opens them. The
	// coordinator closes them.
	Stores *Stores `yaml:"-"`
	// Report writes the web page of a release. Nil leaves such pages out of the coordinator's page.
	Report func(io.Writer, study.Release) error `yaml:"-"`
	// Software names this program's version in releases.
	Software string `yaml:"-"`
	// Log receives events, with keys study, party and release; never a feature, a label or an
	// unreleased number. Nil logs nothing.
	Log *slog.Logger `yaml:"-"`
	// Clock is the machine's clock if zero. Dates, deadlines, invitations and certificates use Now;
	// rates and waits use Elapsed. If the two disagree, the clock is not trusted.
	Clock clock.Clock `yaml:"-"`
	// Checkpoint, if not nil, is called with the name of each durable or visible effect, before the
	// commit and just after. Tests kill the process there.
	Checkpoint func(effect string) `yaml:"-"`
}

// Limits bound what members may ask of a coordinator, in memory, connections, time and bytes. They
// depend on no study's content.
type Limits struct {
	// Body is the largest size of a contribution, in bytes, whatever its kind allows.
	Body int `yaml:"body"`
	// Pool is the largest size of a public pool, in bytes.
	Pool int `yaml:"pool"`
	// Uploads bounds the contributions and pools in memory at once; further ones wait. So memory is
	// at most Uploads times Body, and the pools.
	Uploads int `yaml:"uploads"`
	// Streams bounds how many uploads of one member may be in memory at once.
	Streams int `yaml:"streams"`
	// MaxPause is the longest pause of a sender within an upload. MinUploadRate is the least rate,
	// in bytes a second: an upload ends with an error after MaxPause plus its time at
	// MinUploadRate. A connection without a call closes after MaxPause too. So an agent that polls
	// less often connects anew for each poll and takes no memory in between.
	MaxPause      time.Duration `yaml:"silence"`
	MinUploadRate int           `yaml:"slowest"`
	// Bytes bounds the bytes that one member may send and fetch in an hour, on average. After a
	// rest, a whole hour's bytes are allowed at once. A transfer that has begun may finish; the
	// next one waits.
	Bytes int64 `yaml:"bytes"`
	// Calls bounds one member's open calls, and AllCalls those of all members. A call takes less
	// than 400 KB before its message is read.
	Calls    int `yaml:"calls"`
	AllCalls int `yaml:"all_calls"`
	// Connections bounds one member's connections, and AllConnections those of all members. A
	// further connection closes the least recently used one. A connection takes about 50 KB.
	Connections    int `yaml:"connections"`
	AllConnections int `yaml:"all_connections"`
	// Rate is the number of calls a second that one member may make on average. Burst is the number
	// at once after a rest.
	Rate  float64 `yaml:"rate"`
	Burst int     `yaml:"burst"`
}

// OwnAddress is what agents dial to reach this replica.
func (c Config) OwnAddress() string { return cmp.Or(c.Address, c.Listen) }

// Helper names the second server for studies with noise by aggregators. The zero Helper is none.
type Helper struct {
	// Address is the helper's host:port, and Key its signing key. The helper's operator gives both
	// ("caucus helper init" prints the key). The coordinator talks only to the holder of that key.
	Address string             `yaml:"address" json:"address"`
	Key     protocol.SignerKey `yaml:"key" json:"key"`
	// Head is a file that remembers the progress of this coordinator's shares. It lies outside of
	// the coordinator's folder and of its backups; "caucus helper keys" makes it. A relative path
	// is relative to the folder.
	Head string `yaml:"head" json:"head"`
}

// Files in a coordinator's folder.
const (
	ConfigFile   = "coordinator.yaml"
	OperatorFile = "operator.yaml" // the first operator's profile
	LedgerFile   = "ledger.db"     // a privacy journal, see journal.OpenSQLite
	StoreFile    = "caucus.db"
	CAFile       = "ca.pem"
	CAKeyFile    = "ca.key"
	SignerFile   = "signer.key"
	KeyringFile  = "keyring.json"  // tells which generation of these three files is in use
	ReplicasFile = "replicas.json" // the other replicas that this one heard of
	// shares of studies with noise: aggregators, if there is a helper
	SharesFile           = "shares.db"
	HelperSigningKeyFile = "aggregator.key" // this coordinator's signing key for its helper
)

// DefaultConfig holds the values of all keys that a file leaves out. It has no budget, address,
// page, metrics or helper.
func DefaultConfig(dir string) Config {
	return Config{
		Dir: dir, Listen: ":7443", MinimumParties: 2, InvitationValid: 7 * 24 * time.Hour,
		// A contribution of sums in clear, over 10,000 rows and 10 classes, has at most 1 MB.
		Limits:      Limits{Body: 16 << 20, Pool: 256 << 20, Uploads: 32, Streams: 2, MaxPause: time.Minute, MinUploadRate: 16 << 10, Bytes: 4 << 30, Calls: 8, AllCalls: 1024, Connections: 4, AllConnections: 4096, Rate: 20, Burst: 60},
		WitnessWait: 30 * time.Second, // an agent polls every 15 s
		RepairWait:  24 * time.Hour, MaxStop: time.Hour,
		CheckInterval: time.Second, StopGrace: 10 * time.Second,
	}
}

// LoadConfig reads a YAML file over the defaults and validates the result. An unknown key is an
// error. A relative or missing dir is relative to the file's folder.
func LoadConfig(path string) (Config, error) {
	c, _, err := yamlfile.ReadConfig(path, DefaultConfig("."), rules)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: make the folder with caucus coordinator init, or name the coordinator's folder with --dir", err)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read coordinator config: %w", err)
	}
	c.Dir = folder.ResolvePath(filepath.Dir(path), c.Dir)
	return c, nil
}

// ParseConfig reads YAML over the defaults and validates it.
func ParseConfig(text []byte) (Config, error) {
	return yamlfile.ParseConfig(text, DefaultConfig("."), rules)
}

// rules requires a budget, because a file without one may be an incomplete copy.
func rules(file *yamlfile.Document) error {
	return errors.Join(file.RefuseRemoved("gossip"), file.RequireLimits("budget"))
}

// WithDefaults fills nil Log, Clock and Checkpoint: nothing is logged, the machine's clock, nothing
// to do at an effect.
func (c Config) WithDefaults() Config {
	c.Log, c.Clock = cmp.Or(c.Log, slog.New(slog.DiscardHandler)), c.Clock.Complete()
	if c.Checkpoint == nil {
		c.Checkpoint = func(string) {}
	}
	return c
}

// Validate returns an error that names the wrong field and says what to do.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: %q is no host:port, such as 127.0.0.1:7443", c.Listen)
	}
	if c.Address != "" {
		if err := protocol.CheckAddresses(c.Address); err != nil {
			return err
		}
	}
	for u, g := range c.Budget {
		if err := g.Validate(); err != nil {
			return fmt.Errorf("budget: %s: %w", u, err)
		}
	}
	if err := c.Helper.validate(c); err != nil {
		return fmt.Errorf("helper: %w", err)
	}
	if err := c.Replicas.Validate(c.OwnAddress()); err != nil {
		return fmt.Errorf("replicas: %w", err)
	}
	if c.Replicas.Listen != "" && c.Store == "" {
		return errors.New("replicas: they share one PostgreSQL database: caucus coordinator move makes one")
	}
	if c.Dir == "" {
		return errors.New("dir: name the coordinator's folder")
	}
	outside := func(file string) error { return folder.RefuseInside(c.Dir, file, "coordinator") }
	for _, at := range []struct {
		field, value string
		check        func(string) error
	}{{"page", c.Page, webpage.CheckAddress}, {"metrics", c.Metrics, webpage.CheckAddress},
		{"store", c.Store, database.CheckAddress}, {"head", c.Head, outside}} {
		if at.value == "" {
			continue
		}
		if err := at.check(at.value); err != nil {
			return fmt.Errorf("%s: %w", at.field, err)
		}
	}
	l := c.Limits
	switch {
	case c.MinimumParties < 2:
		return fmt.Errorf("minimum_parties: %d: give at least 2; a study of one party releases that party", c.MinimumParties)
	case c.InvitationValid < time.Second || c.InvitationValid > 90*24*time.Hour:
		return fmt.Errorf("invitation_valid: %v: give 1s to 2160h", c.InvitationValid)
	case c.WitnessWait < 0 || c.WitnessWait > 24*time.Hour:
		return fmt.Errorf("witness_wait: %v: give 0s to 24h, two poll intervals of the agents", c.WitnessWait)
	case c.RepairWait < time.Second || c.RepairWait > 90*24*time.Hour:
		return fmt.Errorf("repair: %v: give 1s to 2160h", c.RepairWait)
	case c.MaxStop < time.Second || c.MaxStop > 90*24*time.Hour:
		return fmt.Errorf("longest_stop: %v: give 1s to 2160h", c.MaxStop)
	case c.CheckInterval < time.Millisecond || c.CheckInterval > time.Hour:
		return fmt.Errorf("tick: %v: give 1ms to 1h", c.CheckInterval)
	case c.StopGrace < 0 || c.StopGrace > time.Hour:
		return fmt.Errorf("grace: %v: give 0s to 1h", c.StopGrace)
	case l.Body < 1 || l.Body > 1<<30:
		return fmt.Errorf("limits: body: %d: give 1 to 1073741824 bytes", l.Body)
	case l.Pool < 1 || l.Pool > 512<<20:
		return fmt.Errorf("limits: pool: %d: give 1 to 536870912 bytes", l.Pool)
	case l.Uploads < 1:
		return fmt.Errorf("limits: uploads: %d: give at least 1", l.Uploads)
	case l.Streams < 1:
		return fmt.Errorf("limits: streams: %d: give at least 1", l.Streams)
	case l.MaxPause < time.Millisecond || l.MaxPause > time.Hour:
		return fmt.Errorf("limits: silence: %v: give 1ms to 1h", l.MaxPause)
	case l.MinUploadRate < 1:
		return fmt.Errorf("limits: slowest: %d: give at least 1 byte a second", l.MinUploadRate)
	case l.Bytes < 1:
		return fmt.Errorf("limits: bytes: %d: give at least 1 an hour", l.Bytes)
	case l.Calls < 1:
		return fmt.Errorf("limits: calls: %d: give at least 1", l.Calls)
	case l.AllCalls < l.Calls:
		return fmt.Errorf("limits: all_calls: %d: give at least calls (%d)", l.AllCalls, l.Calls)
	case l.Connections < 1:
		return fmt.Errorf("limits: connections: %d: give at least 1", l.Connections)
	case l.AllConnections < l.Connections:
		return fmt.Errorf("limits: all_connections: %d: give at least connections (%d)", l.AllConnections, l.Connections)
	case !(l.Rate > 0) || l.Burst < 1:
		return fmt.Errorf("limits: rate %v, burst %d: give a rate above 0 and a burst of at least 1", l.Rate, l.Burst)
	}
	return nil
}

// Configured reports whether a helper is configured; studies with noise by aggregators need one.
func (h Helper) Configured() bool { return h != Helper{} }

func (h Helper) validate(c Config) error {
	if !h.Configured() {
		return nil
	}
	if err := protocol.CheckAddress(h.Address); err != nil {
		return err
	}
	switch {
	case h.Key == protocol.SignerKey{}:
		return errors.New("key: not given: it is the signing key that caucus helper init printed at the helper; its operator gives it")
	case h.Head == "":
		return errors.New("head: not given: caucus helper keys makes it")
	}
	if err := folder.RefuseInside(c.Dir, h.Head, "coordinator"); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

// SharesHead is the path of the head file of the store of shares; "" without a helper.
func (c Config) SharesHead() string { return folder.ResolvePath(c.Dir, c.Helper.Head) }

// Path is a file's path in the folder, whether the file is there or not.
func (c Config) Path(file string) string { return filepath.Join(c.Dir, file) }

// HeadFile is the path of the ledger's head file, outside the folder; "" if the configuration names
// none.
func (c Config) HeadFile() string { return folder.ResolvePath(c.Dir, c.Head) }

// UploadTimeLimit is the longest time for an upload of size bytes.
func (l Limits) UploadTimeLimit(size uint64) time.Duration {
	return l.MaxPause + time.Duration(float64(size)/float64(l.MinUploadRate)*float64(time.Second))
}

// FreeBytes returns the bytes that can still be written on the folder's volume. PostgreSQL's volume
// is not looked at.
func (c Config) FreeBytes() (uint64, error) { return folder.Free(c.Dir) }

// Lock locks a folder until the function that it returns is called. Until then, every other call of
// Lock for the folder returns an error.
func Lock(dir string) (func(), error) { return folder.LockForDaemon(dir, "another coordinator") }
