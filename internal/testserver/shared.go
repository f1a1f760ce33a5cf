//go:build unix

package testserver

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shared is the PostgreSQL of this process's tests. It ends with its standard input, and so with
// this process.
var shared struct {
	sync.Once
	folder  string
	input   io.Closer
	failure error
	made    atomic.Int64
}

// Database is the address of a new, empty database in the PostgreSQL that all tests of this process
// share. Its account may do anything there.
func Database(t testing.TB) string {
	t.Helper()
	initdb, server := program(t, "initdb", "postgresql"), program(t, "postgres", "postgresql")
	shared.Do(func() { shared.failure = startShared(initdb, server) })
	if shared.failure != nil {
		t.Fatal(shared.failure)
	}
	name := fmt.Sprint("db", shared.made.Add(1))
	db, err := sql.Open("pgx", owner("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return owner(name)
}

func owner(database string) string {
	return fmt.Sprintf("postgres://owner@/%s?host=%s", database, shared.folder)
}

func startShared(initdb, server string) (err error) {
	in := "" // in memory, if possible, because initdb mostly waits for the disk
	if _, err := os.Stat("/dev/shm"); err == nil {
		in = "/dev/shm"
	}
	if shared.folder, err = os.MkdirTemp(in, "db"); err != nil {
		return err
	}
	if c := credential("postgres"); c != nil {
		if err := os.Chown(shared.folder, int(c.Uid), int(c.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(shared.folder, "data")
	if out, err := as("postgres", initdb, "-D", data, "-U", "owner", "--auth=trust", "--no-sync",
		"--locale=C", "--encoding=UTF8").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	run := as("postgres", "/bin/sh", "-c", `folder=$1; shift; "$@" >"$folder/log" 2>&1 & read nothing; kill -QUIT $!; wait; rm -r "$folder"`,
		"sh", shared.folder, server, "-D", data, "-k", shared.folder, "-c", "listen_addresses=",
		"-c", "fsync=off")
	if shared.input, err = run.StdinPipe(); err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", owner("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for range 600 {
		if err = db.Ping(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("PostgreSQL does not answer: %w", err)
}
