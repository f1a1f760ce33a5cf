package coordinator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/privacy/journal"
)

// disk is what a coordinator's store and ledger lie on. It outlives processes.
type disk interface {
	// begin makes it hold a store and an empty ledger.
	begin(store []byte)
	// reopen opens what the process before left, as if it had been killed. It returns the studies
	// whose contributions are asked for again.
	reopen(now time.Time) (asked []string)
	store() *records.SQL
	ledger() privacy.Journal
	// save copies it, while nothing is being written; load puts back a copy.
	save() saved
	load(s saved, store, ledger bool)
	end()
}

// saved is a copy of a disk: files by name, or the entries of a ledger in memory.
type saved struct {
	files   map[string][]byte
	entries []privacy.Entry
}

// entries are all of a ledger.
func entries(j privacy.Journal) (all []privacy.Entry) {
	must(0, j.Update(context.Background(), func(tx privacy.Tx) (err error) {
		all, err = tx.After(0, 1000)
		return err
	}))
	return all
}

// memoryDisk holds a coordinator's store in memory, through the same SQL, and its
// ledger's entries as they are.
type memoryDisk struct {
	tables *records.SQL
	pages  *pages
}

func newMemoryDisk() *memoryDisk {
	db := must(sql.Open("sqlite", "file::memory:?_pragma=foreign_keys(1)&_pragma=journal_mode(MEMORY)"))
	db.SetMaxOpenConns(1)
	must(0, database.Migrate(db, records.File.Schema))
	d := &memoryDisk{records.Over("", &database.DB{Write: db, Read: db}), &pages{}}
	return d
}

func (d *memoryDisk) begin(store []byte) {
	d.load(saved{files: map[string][]byte{folder.StoreFile: store}}, true, true)
}

func (d *memoryDisk) reopen(time.Time) []string { return nil }
func (d *memoryDisk) store() *records.SQL       { return d.tables }
func (d *memoryDisk) ledger() privacy.Journal   { return d.pages }
func (d *memoryDisk) end()                      { d.tables.Close() }

// image is what SQLite's driver offers beyond database/sql.
type image interface {
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

func (d *memoryDisk) raw(do func(image) error) {
	c := must(d.tables.DB.Write.Conn(context.Background()))
	defer c.Close()
	must(0, c.Raw(func(c any) error { return do(c.(image)) }))
}

func (d *memoryDisk) save() saved {
	s := saved{entries: slices.Clone(d.pages.entries)}
	d.raw(func(i image) (err error) {
		data, err := i.Serialize()
		s.files = map[string][]byte{folder.StoreFile: data}
		return err
	})
	return s
}

func (d *memoryDisk) load(s saved, store, ledger bool) {
	if store {
		d.raw(func(i image) error { return i.Deserialize(s.files[folder.StoreFile]) })
	}
	if ledger {
		d.pages.entries = slices.Clone(s.entries)
	}
}

// fileDisk holds both in files, as they are in earnest. A process that is killed
// leaves them as they are at that moment: with what is in their logs only.
type fileDisk struct {
	root    string
	folders int
	tables  *records.SQL
	journal *journal.Journal
}

func newFileDisk(root string) *fileDisk { return &fileDisk{root: root} }

func (d *fileDisk) dir() string { return filepath.Join(d.root, fmt.Sprint("life-", d.folders)) }

func (d *fileDisk) begin(store []byte) {
	d.next(map[string][]byte{folder.StoreFile: store})
}

// next goes on with files in a new folder.
func (d *fileDisk) next(files map[string][]byte) {
	d.end()
	d.folders++
	must(0, os.MkdirAll(d.dir(), 0o700))
	for name, data := range files {
		must(0, os.WriteFile(filepath.Join(d.dir(), name), data, 0o600))
	}
	d.tables = must(records.Open(filepath.Join(d.dir(), folder.StoreFile)))
	d.journal = must(journal.OpenSQLite(filepath.Join(d.dir(), folder.LedgerFile)))
}

func (d *fileDisk) reopen(time.Time) []string { d.next(d.save().files); return nil }
func (d *fileDisk) store() *records.SQL       { return d.tables }
func (d *fileDisk) ledger() privacy.Journal   { return d.journal }

func (d *fileDisk) save() saved {
	s := saved{files: map[string][]byte{}}
	for _, name := range []string{folder.StoreFile, folder.StoreFile + "-wal", folder.LedgerFile,
		folder.LedgerFile + "-wal"} {
		if data, err := os.ReadFile(filepath.Join(d.dir(), name)); err == nil {
			s.files[name] = data
		}
	}
	return s
}

func (d *fileDisk) load(s saved, store, ledger bool) {
	files := d.save().files
	for _, part := range []struct {
		name string
		too  bool
	}{{folder.StoreFile, store}, {folder.LedgerFile, ledger}} {
		for _, name := range []string{part.name, part.name + "-wal"} {
			if !part.too {
				continue
			}
			if delete(files, name); s.files[name] != nil {
				files[name] = s.files[name]
			}
		}
	}
	d.next(files)
}

func (d *fileDisk) end() {
	if d.tables != nil {
		must(0, errors.Join(d.tables.Close(), d.journal.Close(), os.RemoveAll(d.dir())))
		d.tables = nil
	}
}
