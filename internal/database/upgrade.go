package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
)

// StoreFile is one store of a folder for Upgrade, which brings several up to date together or none.
type StoreFile struct {
	SQLite
	Path string
}

// Upgrade brings files that belong together up to date for a newer program: either all of them or
// none. It ignores a missing file; whoever opens the file decides. If it is killed between two
// commits, the next start repeats it.
func Upgrade(ctx context.Context, files ...StoreFile) error {
	var all []*sql.Tx
	for _, f := range files {
		if err := Check(f.Path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fmt.Errorf("open %s %s: %w", f.Name, f.Path, err)
		}
		db, err := connect(f.Path, "immediate", []string{"busy_timeout(20000)"})
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			defer tx.Rollback()
			err = f.migrate(tx)
		}
		if advice := Advice(err, f.Name); advice != "" {
			err = fmt.Errorf("%s (%w)", advice, err)
		}
		if err != nil {
			return fmt.Errorf("bring %s %s up to date: %w: nothing was changed; use the program of before, and restore a backup if it fails too", f.Name, f.Path, err)
		}
		all = append(all, tx)
	}
	for _, tx := range all {
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}
