package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	aggregators "caucus/aggregator"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/privacy/journal"
	"caucus/protocol"
)

// moved is the suffix of files whose content MoveToPostgreSQL has copied. They are as secret as
// before, and out of date.
const moved = ".moved"

// MoveToPostgreSQL copies the databases of a stopped coordinator to PostgreSQL and names it in the
// configuration. The files stay under another name. A killed MoveToPostgreSQL can be repeated. The
// address must name an empty database, or the database that the configuration names already.
func MoveToPostgreSQL(ctx context.Context, dir, to string) (rows int, err error) {
	fail := func(err error) (int, error) {
		return 0, fmt.Errorf("move coordinator in %s to %s: %w", dir, database.RedactAddress(to),
			err)
	}
	// this may show a password in no form that is known
	if err := database.CheckAddress(to); err != nil {
		return 0, fmt.Errorf("move coordinator in %s: %w", dir, err)
	}
	c, _, release, err := stopped(dir)
	if err != nil {
		return fail(err)
	}
	defer release()
	switch c.Store {
	case to:
	case "":
		if rows, err = c.carry(ctx, to); err != nil {
			return fail(err)
		}
	default:
		return fail(fmt.Errorf("%s names %s already", ConfigFile, database.RedactAddress(c.Store)))
	}
	for _, file := range []string{StoreFile, LedgerFile, SharesFile} {
		if err := os.Rename(c.Path(file), c.Path(file)+moved); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	return rows, nil
}

func (c Config) carry(ctx context.Context, to string) (rows int, err error) {
	files := []database.StoreFile{{SQLite: records.File, Path: c.Path(StoreFile)},
		journal.SQLite(c.Path(LedgerFile))}
	if _, err := os.Stat(c.Path(SharesFile)); err == nil {
		files = append(files, aggregators.SQLite(c.Path(SharesFile)))
	}
	path := filepath.Join(c.Dir, ConfigFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text = fmt.Appendf(append(bytes.TrimRight(text, "\n"), '\n'), "# The database of all replicas of this coordinator.\nstore: %q\n", to)
	if _, err := ParseConfig(text); err != nil {
		return 0, err
	}
	// PostgreSQL does not overwrite deleted rows, so RequestBallotsAgain deletes ballots in clear
	// before the copy
	store, err := records.Open(c.Path(StoreFile))
	if err == nil {
		_, err = store.RequestBallotsAgain(ctx, c.WithDefaults().Clock.Now())
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		return 0, err
	}
	if rows, err = database.CopyToServer(ctx, to, files...); err != nil {
		return 0, err
	}
	return rows, protocol.WriteSecret(path, text)
}
