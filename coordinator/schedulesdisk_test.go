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

// disk holds a coordinator's store and ledger. It outlives processes.
type disk interface {
	// begin makes a store and an empty ledger.
	begin(store []byte)
	// reopen opens the disk as the previous process left it when killed. It returns the studies
	// whose contributions are asked for again.
	reopen(now time.Time) (asked []string)
	store() *records.SQL
	ledger() privacy.Journal
	// save copies the disk while nothing is written, and load restores a copy.
	save() saved
	load(s saved, store, ledger bool)
	end()
}

// saved is a copy of a disk: files by name, or the entries of a ledger in memory.
type saved struct {
	files   map[string][]byte
	entries []privacy.Entry
}

// entries are all entries of a ledger.
func entries(j privacy.Journal) (all []privacy.Entry) {
	must(0, j.Update(context.Background(), func(tx privacy.Tx) (err error) {
		all, err = tx.EntriesAfter(0, 1000)
		return err
	}))
	return all
}

// memoryDisk holds a coordinator's store in memory, through the same SQL, and its ledger's entries
// as values.
type memoryDisk struct {
	tables *records.SQL
	pages  *pages
}

func newMemoryDisk() *memoryDisk {
	db := must(sql.Open("sqlite", "file::memory:?_pragma=foreign_keys(1)&_pragma=journal_mode(MEMORY)"))
	db.SetMaxOpenConns(1)
	must(0, database.Migrate(db, records.File.Schema))
	d := &memoryDisk{records.FromDatabase("", &database.DB{Write: db, Read: db}), &pages{}}
	return d
}

func (m *memoryDisk) begin(store []byte) {
	m.load(saved{files: map[string][]byte{folder.StoreFile: store}}, true, true)
}

func (m *memoryDisk) reopen(time.Time) []string { return nil }
func (m *memoryDisk) store() *records.SQL       { return m.tables }
func (m *memoryDisk) ledger() privacy.Journal   { return m.pages }
func (m *memoryDisk) end()                      { m.tables.Close() }

// image is what SQLite's driver offers beyond database/sql.
type image interface {
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

func (m *memoryDisk) raw(do func(image) error) {
	c := must(m.tables.DB.Write.Conn(context.Background()))
	defer c.Close()
	must(0, c.Raw(func(c any) error { return do(c.(image)) }))
}

func (m *memoryDisk) save() saved {
	s := saved{entries: slices.Clone(m.pages.entries)}
	m.raw(func(i image) (err error) {
		data, err := i.Serialize()
		s.files = map[string][]byte{folder.StoreFile: data}
		return err
	})
	return s
}

func (m *memoryDisk) load(s saved, store, ledger bool) {
	if store {
		m.raw(func(i image) error { return i.Deserialize(s.files[folder.StoreFile]) })
	}
	if ledger {
		m.pages.entries = slices.Clone(s.entries)
	}
}

// fileDisk holds both in real files. A killed process leaves them as they are at that moment, with
// some data in their logs only.
type fileDisk struct {
	root    string
	folders int
	tables  *records.SQL
	journal *journal.Journal
}

func newFileDisk(root string) *fileDisk { return &fileDisk{root: root} }

func (f *fileDisk) dir() string { return filepath.Join(f.root, fmt.Sprint("life-", f.folders)) }

func (f *fileDisk) begin(store []byte) {
	f.next(map[string][]byte{folder.StoreFile: store})
}

// next continues with files in a new folder.
func (f *fileDisk) next(files map[string][]byte) {
	f.end()
	f.folders++
	must(0, os.MkdirAll(f.dir(), 0o700))
	for name, data := range files {
		must(0, os.WriteFile(filepath.Join(f.dir(), name), data, 0o600))
	}
	f.tables = must(records.Open(filepath.Join(f.dir(), folder.StoreFile)))
	f.journal = must(journal.OpenSQLite(filepath.Join(f.dir(), folder.LedgerFile)))
}

func (f *fileDisk) reopen(time.Time) []string { f.next(f.save().files); return nil }
func (f *fileDisk) store() *records.SQL       { return f.tables }
func (f *fileDisk) ledger() privacy.Journal   { return f.journal }

func (f *fileDisk) save() saved {
	s := saved{files: map[string][]byte{}}
	for _, name := range []string{folder.StoreFile, folder.StoreFile + "-wal", folder.LedgerFile,
		folder.LedgerFile + "-wal"} {
		if data, err := os.ReadFile(filepath.Join(f.dir(), name)); err == nil {
			s.files[name] = data
		}
	}
	return s
}

func (f *fileDisk) load(s saved, store, ledger bool) {
	files := f.save().files
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
	f.next(files)
}

func (f *fileDisk) end() {
	if f.tables != nil {
		must(0, errors.Join(f.tables.Close(), f.journal.Close(), os.RemoveAll(f.dir())))
		f.tables = nil
	}
}
