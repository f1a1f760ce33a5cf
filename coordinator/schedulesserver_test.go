//go:build unix

package coordinator

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/study"
)

// serverDisk is a PostgreSQL database. When its process is killed, another replica leads. In turn,
// that replica has the keys of ballots, older keys, or none.
type serverDisk struct {
	at      string
	scenes  map[*byte]saved // what a database holds that was carried over from a store's file
	lives   int
	earlier map[study.Hash][]byte
	keys    *records.StudyKeys
	lease   *database.Lease
	tables  *records.SQL
	journal *journal.Journal
}

// inServer is a kind of disk, like inMemory and inFiles.
func inServer(t *testing.T) func(string) disk {
	return func(string) disk {
		return &serverDisk{at: testserver.Database(t), scenes: map[*byte]saved{}}
	}
}

func (sd *serverDisk) begin(store []byte) {
	sd.end()
	if _, known := sd.scenes[&store[0]]; !known {
		dir := must(os.MkdirTemp("", "scene"))
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "store")
		must(0, os.WriteFile(path, store, 0o600))
		must(0, must(journal.OpenSQLite(filepath.Join(dir, "ledger"))).Close())
		sd.do(func(c *pgx.Conn) error {
			_, err := c.Exec(context.Background(), "DROP SCHEMA IF EXISTS caucus, caucus_store, caucus_ledger CASCADE")
			return err
		})
		must(database.CopyToServer(context.Background(), sd.at,
			database.StoreFile{SQLite: records.File,
				Path: path}, journal.SQLite(filepath.Join(dir, "ledger"))))
		sd.scenes[&store[0]] = sd.save()
	}
	sd.load(sd.scenes[&store[0]], true, true)
	sd.lives, sd.earlier, sd.keys = 0, map[study.Hash][]byte{}, records.NewStudyKeys()
	sd.open()
}

func (sd *serverDisk) open() {
	sd.lease = must(database.AcquireLease(context.Background(), sd.at, "trial", true,
		func(error) {}))
	sd.tables, sd.journal = must(records.Open(sd.at)), must(journal.OpenServer(sd.at))
	sd.tables.DB.Guard, sd.tables.Keys = sd.lease, sd.keys
	sd.journal.RequireLease(sd.lease)
}

func (sd *serverDisk) reopen(now time.Time) (asked []string) {
	sd.change()
	return must(sd.tables.RequestBallotsAgain(context.Background(), now))
}

// change makes another replica the leader.
func (sd *serverDisk) change() {
	sd.end()
	now, _ := sd.keys.All()
	switch sd.lives++; sd.lives % 3 {
	case 0:
		sd.keys = records.NewStudyKeys()
	case 2:
		sd.keys = records.NewStudyKeys()
		sd.keys.Replace(sd.earlier)
	}
	sd.earlier = now
	sd.open()
}

func (sd *serverDisk) store() *records.SQL     { return sd.tables }
func (sd *serverDisk) ledger() privacy.Journal { return sd.journal }

func (sd *serverDisk) do(do func(*pgx.Conn) error) {
	ctx := context.Background()
	c := must(pgx.Connect(ctx, sd.at))
	defer c.Close(ctx)
	must(0, do(c))
}

// save copies all rows, by table.
func (sd *serverDisk) save() saved {
	s := saved{files: map[string][]byte{}}
	sd.do(func(c *pgx.Conn) error {
		ctx := context.Background()
		rows := must(c.Query(ctx, `SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname LIKE 'caucus\_%' AND tablename <> 'version'`))
		for _, table := range must(pgx.CollectRows(rows, pgx.RowTo[string])) {
			var all bytes.Buffer
			must(c.PgConn().CopyTo(ctx, &all, "COPY "+table+" TO STDOUT"))
			s.files[table] = all.Bytes()
		}
		return nil
	})
	return s
}

// load replaces all rows by the saved ones.
func (sd *serverDisk) load(s saved, store, ledger bool) {
	sd.do(func(c *pgx.Conn) error {
		ctx := context.Background()
		// no check of references, as tables come in any order
		must(c.Exec(ctx, "BEGIN; SET LOCAL session_replication_role = replica"))
		for table, all := range s.files {
			if of := strings.HasPrefix(table, "caucus_store."); of && !store || !of && !ledger {
				continue
			}
			must(c.Exec(ctx, "DELETE FROM "+table))
			must(c.PgConn().CopyFrom(ctx, bytes.NewReader(all), "COPY "+table+" FROM STDIN"))
		}
		_, err := c.Exec(ctx, "COMMIT")
		return err
	})
}

func (sd *serverDisk) end() {
	if sd.tables != nil {
		must(0, errors.Join(sd.tables.Close(), sd.journal.Close()))
		sd.lease.Release()
		sd.tables = nil
	}
}

// hopeful is a serverDisk on which a new leader asks for nothing again, even if nobody has the
// keys.
type hopeful struct{ *serverDisk }

func (h hopeful) reopen(time.Time) []string {
	h.change()
	return nil
}

// TestSchedulesPostgres: random schedules of faults over PostgreSQL break no rule of a trial
// either. A long run also finds planted bugs.
func TestSchedulesPostgres(t *testing.T) {
	on := inServer(t)
	if found, _ := search(t, 0, cases(t, 4, 300, 2), plant{}, on); found != nil {
		t.Fatalf("%s\n%s", found, found.log)
	}
	if !testlevel.Long() {
		return
	}
	if found, _ := search(t, 14, 20, plant{whole: true}, func(dir string) disk {
		return hopeful{on(dir).(*serverDisk)}
	}); found == nil {
		t.Error("no schedule finds a leader that asks nobody again")
	}
	less := maps.Clone(bugs)
	// after most restores, ballots are asked for again, and sending them counts as a call
	delete(less, "nobody is waited for after a start")
	for what, p := range less {
		p.whole = true
		if found, _ := search(t, p.found, 200, p, on); found == nil {
			t.Errorf("no schedule finds that %s", what)
		}
	}
}
