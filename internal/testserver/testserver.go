//go:build unix

package testserver

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// Server is a running server that ends with its test.
type Server struct {
	// DB is open, with an account that has all rights.
	DB *sql.DB
	// DSN is the address of the database caucus for Name, with the rights that the test grants.
	DSN string
	run *exec.Cmd
}

// Name and Password belong to the account of Server.DSN.
const Name, Password = "reader", "hunter2-of-the-reader"

// Kill ends the server like a power failure.
func (s *Server) Kill() {
	syscall.Kill(-s.run.Process.Pid, syscall.SIGKILL)
	s.run.Wait()
}

// Postgres starts a PostgreSQL of this test's own in a new folder, on a Unix socket only, without
// fsync. It skips the test where PostgreSQL is not installed.
func Postgres(t testing.TB) *Server {
	t.Helper()
	initdb, server := program(t, "initdb", "postgresql"), program(t, "postgres", "postgresql")
	folder := folderOf(t, "postgres")
	password := filepath.Join(folder, "password")
	if err := os.WriteFile(password, []byte(Password+"-owner"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	done(t, as("postgres", initdb, "-D", data, "-U", "owner", "--auth=scram-sha-256",
		"--pwfile="+password, "--no-sync", "--locale=C", "--encoding=UTF8"))
	s := started(t, as("postgres", server, "-D", data, "-k", folder, "-c", "listen_addresses=",
		"-c", "fsync=off"), "pgx",
		fmt.Sprintf("host=%s user=owner password=%s-owner dbname=postgres", folder, Password))
	s.DSN = fmt.Sprintf("host=%s user=%s password=%s dbname=caucus", folder, Name, Password)
	s.do(t, "CREATE DATABASE caucus",
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", Name, Password))
	s.open(t, "pgx", fmt.Sprintf("host=%s user=owner password=%s-owner dbname=caucus", folder, Password))
	return s
}

// MariaDB starts a MariaDB of this test's own in a new folder, on a Unix socket only. It skips the
// test where MariaDB is not installed.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	install, server := program(t, "mariadb-install-db", "mariadb-server"), program(t, "mariadbd",
		"mariadb-server")
	folder := folderOf(t, "mysql")
	data, socket := filepath.Join(folder, "data"), filepath.Join(folder, "socket")
	common := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + folder,
		"--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0"}
	done(t, as("mysql", install,
		append(common, "--auth-root-authentication-method=normal", "--skip-test-db")...))
	s := started(t, as("mysql", server,
		append(common, "--socket="+socket, "--skip-networking",
			"--pid-file="+filepath.Join(folder, "pid"))...), "mysql",
		fmt.Sprintf("root@unix(%s)/mysql", socket))
	s.DSN = fmt.Sprintf("%s:%s@unix(%s)/caucus", Name, Password, socket)
	s.do(t, "CREATE DATABASE caucus",
		fmt.Sprintf("CREATE USER %s@localhost IDENTIFIED BY '%s'", Name, Password))
	s.open(t, "mysql", fmt.Sprintf("root@unix(%s)/caucus", socket))
	return s
}

// program finds a program of a Debian package, or skips the test.
func program(t testing.TB, name, debian string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/sbin/"} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("%s is not there: apt-get install %s", name, debian)
	return ""
}

// folderOf makes a folder for a server. Its name is short, because a socket's path has at most 107
// bytes.
func folderOf(t testing.TB, account string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if c := credential(account); c != nil {
		if err := os.Chown(folder, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// credential returns the account that runs a server, because servers refuse root; nil unless we are
// root.
func credential(account string) *syscall.Credential {
	u, err := user.Lookup(account)
	if err != nil || os.Getuid() != 0 {
		return nil
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func as(account, program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = os.TempDir()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential(account)}
	return c
}

func done(t testing.TB, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c.Path, err, out)
	}
}

func started(t testing.TB, c *exec.Cmd, driver, dsn string) *Server {
	t.Helper()
	s := &Server{run: c}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.open(t, driver, dsn)
	var err error
	for range 600 {
		if err = s.DB.Ping(); err == nil {
			return s
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not answer: %v", c.Path, err)
	return nil
}

func (s *Server) open(t testing.TB, driver, dsn string) {
	t.Helper()
	if s.DB != nil {
		s.DB.Close()
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	s.DB = db
	t.Cleanup(func() { db.Close() })
}

func (s *Server) do(t testing.TB, all ...string) {
	t.Helper()
	for _, one := range all {
		if _, err := s.DB.Exec(one); err != nil {
			t.Fatal(err)
		}
	}
}
