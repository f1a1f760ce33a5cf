//go:build unix

package journal

import (
	"path/filepath"
	"testing"

	"caucus/internal/database"
	"caucus/internal/testserver"
)

// server makes a ledger in PostgreSQL and opens it a second time.
func server(t testing.TB) (one, two *Journal) {
	at, path := testserver.Database(t), filepath.Join(t.TempDir(), "ledger")
	must(0, must(OpenSQLite(path)).Close())
	must(database.CopyToServer(ctx, at, SQLite(path)))
	one = must(OpenServer(at))
	two = must(OpenServer(at))
	t.Cleanup(func() { one.Close(); two.Close() })
	return one, two
}

// TestJournalPostgres: the same suite over PostgreSQL.
func TestJournalPostgres(t *testing.T) {
	j, _ := server(t)
	journals(t, j)
}

// TestManyWritersPostgres is TestManyWriters over PostgreSQL.
func TestManyWritersPostgres(t *testing.T) {
	one, two := server(t)
	manyWriters(t, one, two)
}
