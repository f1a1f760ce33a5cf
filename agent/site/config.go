package site

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"caucus/agent/policy"
	"caucus/agent/source"
	"caucus/internal/clock"
	"caucus/internal/webpage"
	"caucus/internal/yamlfile"
	"caucus/protocol"
)

// Config is the file of a site's agent (agent.yaml) with its defaults (DefaultConfig). Nothing that
// a coordinator sends changes it.
type Config struct {
	// Coordinator is the host:port to dial, if it is not the invitation's.
	Coordinator string `yaml:"coordinator"`
	// Courier says that this site has no network connection. People carry messages in files
	// (docs/site.md), and the coordinator is never called.
	Courier bool `yaml:"courier"`
	// State is the agent's own folder: identity, ledger, studies. Only its owner may read it.
	State string `yaml:"state"`
	// Imports is the folder of the records that "caucus agent source declare" imports. It needs no
	// backup. By default it is named like the state folder with "-imports" appended.
	Imports string `yaml:"imports"`
	// Poll is the interval at which the agent asks for new studies. A longer interval spares a
	// coordinator with many parties; on average a study starts at a site after half an interval.
	Poll time.Duration `yaml:"poll"`
	// MaxBackoff is the longest wait between attempts while the coordinator cannot be reached.
	// Waits start at Poll, if that is shorter, and double each time. Each is then shortened at
	// random, by up to half, so that agents do not return all at once.
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// TimeMargin is the factor by which preparing a contribution may take longer than estimated.
	// The estimate follows from public numbers and this machine's speed. The upload leaves at the
	// end of that time. A contribution that is not ready by then is replaced by a constant: raise
	// TimeMargin if the agent reports such contributions.
	TimeMargin float64 `yaml:"margin"`
	// MinWindow is the least time for preparing a contribution, for machines that are busy at
	// times. It delays only the study itself.
	MinWindow time.Duration `yaml:"least_window"`
	// Data names the sources that a plan may use.
	Data map[string]source.Source `yaml:"data"`
	// Learner is the classifier that votes here if a plan leaves the choice to sites (learner:
	// any): the name of a built-in classifier, or the site's own program, as in {command: [python3,
	// vote.py], timeout: 10m, memory: 4GiB}. See docs/site.md.
	Learner Learner `yaml:"learner"`
	// Scorer is the site's own program that scores records for plans that ask for scores (evaluate:
	// {program: true}), as in {command: [python3, score.py], timeout: 10m, memory: 4GiB}. See
	// docs/site.md.
	Scorer Program `yaml:"scorer"`
	// HideWaits hides why a study waits here. Without it, each poll gives the coordinator's
	// operator one of a few reasons: a person has to approve, no source is declared, the site does
	// not take part, the clocks differ, the deadline is too near.
	HideWaits bool `yaml:"quiet"`
	// PageAddress is a loopback host:port for a web page on which a person of this site reads what
	// studies ask, and approves or refuses. The page opens by a link that "caucus agent page"
	// makes. MetricsAddress is a loopback host:port for /metrics and /readyz, without TLS; they
	// name no study. An empty address turns page or metrics off.
	PageAddress    string `yaml:"page"`
	MetricsAddress string `yaml:"metrics"`
	// Policy holds the site's rules.
	Policy policy.Policy `yaml:"policy"`
	// Audit says where the audit log goes in addition to the state folder.
	Audit Audit `yaml:"audit"`

	// Log receives events; never a feature, a label or an unreleased number. nil logs nothing.
	Log *slog.Logger `yaml:"-"`
	// Checkpoint, if not nil, is called just after each durable or visible effect. Tests crash the
	// agent there.
	Checkpoint func(effect string) `yaml:"-"`
	// Edited, if not nil, reports whether the configuration's file has changed since this one was
	// read, and can be read. Its error says why a changed file cannot.
	Edited func() (bool, error) `yaml:"-"`
	// Words, if not nil, puts the names of this program's verbs in place of those that messages
	// give.
	Words *strings.Replacer `yaml:"-"`
	// Clock is the machine's clock if zero. Now checks certificates and dates charges; windows use
	// Elapsed.
	Clock clock.Clock `yaml:"-"`
}

// Audit says where the audit log goes besides its file, which remains the record.
type Audit struct {
	// Syslog, if not empty, sends every line to syslog too: "local" is the machine's, any other
	// value is the path of a Unix datagram socket. The file remains the record. If syslog does not
	// answer, the log says so and nothing stops.
	Syslog string `yaml:"syslog"`
}

// WithVerbNames returns a message with this program's names of its verbs.
func (c Config) WithVerbNames(text string) string {
	if c.Words == nil {
		return text
	}
	return c.Words.Replace(text)
}

// Now reads the clock of certificates and charges, which is the machine's unless Clock names
// another. A person may set it back; windows do not use it.
func (c Config) Now() time.Time { return c.Clock.Complete().Now() }

// DefaultConfig allows nothing and has no source.
func DefaultConfig() Config {
	return Config{Poll: 15 * time.Second, MaxBackoff: 5 * time.Minute, TimeMargin: 8,
		MinWindow: 15 * time.Second, Policy: policy.DefaultPolicy()}
}

// LoadConfig reads a YAML file over the defaults and validates it. An unknown key is an error.
// Relative paths are relative to the file's folder.
func LoadConfig(path string) (Config, error) {
	c, _, err := yamlfile.ReadConfig(path, DefaultConfig(), rules)
	if err != nil {
		return Config{}, fmt.Errorf("read agent config: %w", err)
	}
	folder := filepath.Dir(path)
	c.State, c.Imports = yamlfile.ResolvePath(folder, c.State),
		yamlfile.ResolvePath(folder, c.Imports)
	if c.Audit.Syslog != "local" {
		c.Audit.Syslog = yamlfile.ResolvePath(folder, c.Audit.Syslog)
	}
	for name, s := range c.Data {
		c.Data[name] = s.RelativeTo(folder)
	}
	c.Learner.below(folder)
	c.Scorer.below(folder)
	return c, nil
}

// ParseConfig reads YAML over the defaults and validates it.
func ParseConfig(text []byte) (Config, error) {
	return yamlfile.ParseConfig(text, DefaultConfig(), rules)
}

func rules(file *yamlfile.Document) error { return file.RefuseRemoved("gossip") }

// Validate returns an error that names the wrong field and says what to do.
func (c Config) Validate() error {
	if c.Coordinator != "" {
		if err := protocol.CheckAddresses(c.Coordinator); err != nil {
			return fmt.Errorf("coordinator: %w", err)
		}
	}
	relative, errRelative := filepath.Rel(c.State, c.Imports)
	switch {
	case c.State == "":
		return errors.New("state: name the folder that keeps the agent's identity and ledger")
	case c.Imports != "" && errRelative == nil && filepath.IsLocal(relative):
		return fmt.Errorf("imports: %q lies in the state folder, which is backed up: name a folder of its own", c.Imports)
	case c.Poll < 10*time.Millisecond || c.Poll > 24*time.Hour:
		return fmt.Errorf("poll: %v: give 10ms to 24h", c.Poll)
	case c.MaxBackoff < 10*time.Millisecond || c.MaxBackoff > 24*time.Hour:
		return fmt.Errorf("max_backoff: %v: give 10ms to 24h", c.MaxBackoff)
	case !(c.TimeMargin >= 1 && c.TimeMargin <= 1000):
		return fmt.Errorf("margin: %v: give 1 to 1000; 8 is usual", c.TimeMargin)
	case c.MinWindow < 10*time.Millisecond || c.MinWindow > time.Hour:
		return fmt.Errorf("least_window: %v: give 10ms to 1h; 15s is usual", c.MinWindow)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Data)) {
		if err := c.Data[name].Validate(); err != nil {
			return fmt.Errorf("data: %s: %w", name, err)
		}
	}
	for _, at := range []struct{ field, address string }{{"page", c.PageAddress},
		{"metrics", c.MetricsAddress}} {
		if at.address == "" {
			continue
		}
		if err := webpage.CheckAddress(at.address); err != nil {
			return fmt.Errorf("%s: %w", at.field, err)
		}
	}
	if c.PageAddress != "" && c.PageAddress == c.MetricsAddress {
		return fmt.Errorf("metrics: %q is the page's address: give each a port of its own", c.MetricsAddress)
	}
	if err := c.Learner.validate(); err != nil {
		return fmt.Errorf("learner: %w", err)
	}
	if err := c.Scorer.validate(); err != nil {
		return fmt.Errorf("scorer: %w", err)
	}
	if err := c.Policy.Validate(); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

// Studies is the folder of all study folders, below the state folder.
func (c Config) Studies() StudyFolders { return StudyFolders{filepath.Join(c.State, "studies")} }

// Sources are the configured sources, with their declarations.
func (c Config) Sources() source.Sources {
	imports := cmp.Or(c.Imports, filepath.Clean(c.State)+"-imports")
	return source.Sources{Dir: filepath.Join(c.State, "sources"), Imports: imports, ByName: c.Data,
		Now: c.Now}
}
