package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a database and its path.
type File struct {
	SQLite
	Path string
}

const upgradeCopy = ".before-"

// Upgrade prepares files that belong together for Open by a newer program: either all can be brought up
// to date, or none is changed. It copies each file that lacks a migration, and tries the migrations on a
// second copy. It ignores a missing file, which Open or Check reports.
//
// The first copies stay beside the files (FILE.before-VERSION) until the caller, after opening
// everything, calls forget. Until then they hold even rows deleted later. Nobody may write to the files
// meanwhile.
func Upgrade(ctx context.Context, files ...File) (forget func() error, err error) {
	var made []string
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(made))
		}
	}()
	for _, f := range files {
		version, err := f.version(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if advice := Advice(err, f.Name); advice != "" {
			return nil, fmt.Errorf("open %s %s: %s (%w)", f.Name, f.Path, advice, err)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s %s: %w", f.Name, f.Path, err)
		}
		all, err := f.files()
		if err != nil {
			return nil, err
		}
		if version == len(all) || version == 0 {
			continue
		}
		kept := fmt.Sprintf("%s%s%d", f.Path, upgradeCopy, version)
		made = append(made, kept)
		if err := f.rehearse(ctx, kept); err != nil {
			return nil, fmt.Errorf("bring %s %s up to date: %w: nothing was changed; use the program of before, and restore a backup if it fails too", f.Name, f.Path, err)
		}
	}
	return func() error {
		var stale []string
		for _, f := range files { // of this start, and of a killed one
			entries, err := os.ReadDir(filepath.Dir(f.Path))
			if err != nil {
				return err
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), filepath.Base(f.Path)+upgradeCopy) {
					stale = append(stale, filepath.Join(filepath.Dir(f.Path), e.Name()))
				}
			}
		}
		return remove(stale)
	}, nil
}

func remove(paths []string) (err error) {
	for _, path := range paths {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// version counts a file's migrations, without changing the file.
func (f File) version(ctx context.Context) (int, error) {
	if err := Check(f.Path); err != nil {
		return 0, err
	}
	db, err := f.connected()
	if err != nil {
		return 0, err
	}
	defer db.Close()
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	_, version, err := f.versionOf(tx)
	return version, err
}

// rehearse copies a file to kept, and runs the migrations on another copy.
func (f File) rehearse(ctx context.Context, kept string) (err error) {
	trial := kept + ".trial"
	for _, path := range []string{kept, trial} { // from a start that was killed
		if err := remove([]string{path, path + "-wal", path + "-shm"}); err != nil {
			return err
		}
		if err := Create(path); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, remove([]string{trial, trial + "-wal", trial + "-shm"})) }()
	db, err := f.connected()
	if err != nil {
		return err
	}
	if err := errors.Join(db.Verify(ctx), db.Copy(ctx, kept), db.Copy(ctx, trial), db.Close()); err != nil {
		return err
	}
	if db, err = f.Open(trial); err != nil {
		return err
	}
	return errors.Join(db.Verify(ctx), db.Close())
}

// connected opens the file without migrations.
func (f File) connected() (*DB, error) {
	absolute, err := filepath.Abs(f.Path)
	if err != nil {
		return nil, err
	}
	db, err := connect(absolute, "immediate", []string{"busy_timeout(20000)"})
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &DB{Write: db, Read: db}, nil
}
