package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	aggregators "caucus/aggregator"
	"caucus/coordinator/cluster"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/privacy/journal"
)

// Stores are a coordinator's databases, either files in its folder or all in one PostgreSQL
// database.
type Stores struct {
	Store   *records.SQL
	Journal *journal.Journal
	// SharesStore is the path or address of the store of shares, which a coordinator with a helper
	// has.
	SharesStore string
	// Lease is the leadership of one replica; nil with files, which a lock on the folder protects.
	Lease *database.Lease
	// Cluster tells of the other replicas; nil if the configuration does not say where they are.
	Cluster *cluster.Cluster
	unlock  func()
}

// OpenStores opens the databases, also while a coordinator runs. It refuses a missing or empty
// database, because the record of what was spent would be lost with it.
func OpenStores(c Config) (*Stores, error) {
	s := &Stores{SharesStore: c.at(SharesFile), unlock: func() {}}
	var err error
	if c.Store != "" {
		for _, file := range []string{StoreFile, LedgerFile, SharesFile} {
			if _, err := os.Stat(c.Path(file)); !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("store: %s names PostgreSQL, and %s is in the folder too: caucus coordinator move carries a folder over, whole", ConfigFile, file)
			}
		}
		s.Journal, err = journal.OpenServer(c.Store)
	} else if err = database.Check(c.Path(LedgerFile)); err == nil {
		s.Journal, err = journal.OpenSQLite(c.Path(LedgerFile))
	}
	if err != nil {
		return nil, err
	}
	if s.Store, err = records.Open(c.at(StoreFile)); err != nil {
		s.Journal.Close()
		return nil, err
	}
	return s, nil
}

// OpenStoresAsLeader opens the databases for the one process that leads, and brings them up to
// date. It keeps other processes out until Close. With PostgreSQL it waits until this replica
// leads. Then, before it changes anything, it calls may unless that is nil, and gives the lead up
// if may fails.
func OpenStoresAsLeader(ctx context.Context, c Config, may func(*database.Lease) error) (*Stores,
	error) {
	c = c.WithDefaults()
	unlock, err := Lock(c.Dir)
	if err != nil {
		return nil, err
	}
	var lease *database.Lease
	if c.Store != "" {
		host, _ := os.Hostname()
		if lease, err = database.AcquireLease(ctx, c.Store, fmt.Sprintf("%s (%s)", host, c.Listen),
			c.AllowNoStandby, func(why error) {
				c.Log.Warn("waits for PostgreSQL", "why", why)
			}); err == nil {
			free := unlock
			unlock = func() { lease.Release(); free() }
			if may != nil {
				err = may(lease)
			}
		}
	} else {
		err = database.Upgrade(ctx, database.StoreFile{SQLite: records.File,
			Path: c.Path(StoreFile)},
			journal.SQLite(c.Path(LedgerFile)), aggregators.SQLite(c.Path(SharesFile)))
	}
	var s *Stores
	if err == nil {
		s, err = OpenStores(c)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	s.Lease, s.unlock, s.Store.DB.Guard = lease, unlock, lease
	s.Journal.RequireLease(lease)
	return s, nil
}

// RequestBallotsAgain asks parties again for the ballots that this replica, which leads now, cannot
// decrypt.
func (s *Stores) RequestBallotsAgain(ctx context.Context, c Config) error {
	if s.Lease == nil {
		return nil
	}
	c = c.WithDefaults()
	asked, err := s.Store.RequestBallotsAgain(ctx, c.Clock.Now())
	if len(asked) > 0 {
		c.Log.Warn("this replica leads now and lacks keys: contributions are asked for again", "studies", asked)
	}
	return err
}

// Close closes the databases, then gives up the lease and the folder's lock, in this order, so that
// the next leader finds no open transaction.
func (s *Stores) Close() error {
	err := errors.Join(s.Store.Close(), s.Journal.Close())
	s.unlock()
	if s.Cluster != nil {
		err = errors.Join(err, s.Cluster.Close())
	}
	return err
}

// Databases are the schemas of store, ledger and shares.
func Databases() []database.SQLite {
	return []database.SQLite{records.File, journal.SQLite("").SQLite, aggregators.SQLite("").SQLite}
}

// MigrationCounts are the numbers of migrations that this program knows, of Databases.
func MigrationCounts() (all []int) {
	for _, s := range Databases() {
		all = append(all, s.MigrationCount())
	}
	return all
}

// makeFiles makes an empty store and an empty ledger, and returns the store.
func makeFiles(c Config) (*records.SQL, error) {
	ledger, err := journal.OpenSQLite(c.Path(LedgerFile))
	if err != nil {
		return nil, err
	}
	if err := ledger.Close(); err != nil {
		return nil, err
	}
	return records.Create(c.Path(StoreFile))
}

// at returns the path of a database's file, or PostgreSQL's address if the databases are there.
func (c Config) at(file string) string {
	if c.Store != "" {
		return c.Store
	}
	return c.Path(file)
}

// LedgerAt is the path or address of the ledger of the coordinator or helper in a folder.
func LedgerAt(dir string) (string, error) {
	config := filepath.Join(dir, ConfigFile)
	if _, err := os.Stat(config); err == nil {
		c, err := LoadConfig(config)
		if err != nil || c.Store != "" {
			return c.Store, err
		}
	}
	return filepath.Join(dir, LedgerFile), nil
}
