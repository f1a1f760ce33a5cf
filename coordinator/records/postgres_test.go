//go:build unix

package records

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"caucus/internal/database"
	"caucus/internal/testserver"
)

// onServer makes a store in PostgreSQL.
func onServer(t *testing.T, at string) *SQL {
	path := filepath.Join(t.TempDir(), "store")
	must(0, must(Create(path)).Close())
	must(database.Carry(context.Background(), at, database.File{SQLite: File, Path: path}))
	return must(Open(at))
}

// TestStoresPostgres: the same suite over PostgreSQL.
func TestStoresPostgres(t *testing.T) {
	suite(t, func(t *testing.T) Store { return onServer(t, testserver.Database(t)) })
}

// TestCallerGoesAwayPostgres is TestCallerGoesAway over PostgreSQL.
func TestCallerGoesAwayPostgres(t *testing.T) { goesAway(t, onServer(t, testserver.Database(t))) }

// TestStoreRefusesPostgres: a database without a store is none, a second one is not made over the first, and
// a newer one is refused.
func TestStoreRefusesPostgres(t *testing.T) {
	at := testserver.Database(t)
	if _, err := Open(at); err == nil || !strings.Contains(err.Error(), "move brings one") {
		t.Errorf("no store: %v", err)
	}
	s := onServer(t, at)
	if _, err := database.Carry(context.Background(), at); err == nil {
		t.Error("a second store was made")
	}
	must(s.DB.Write.Exec("UPDATE version SET number = 99"))
	s.Close()
	if _, err := Open(at); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("a newer store: %v", err)
	}
}
