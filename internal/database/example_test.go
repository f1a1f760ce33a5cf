package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"caucus/internal/database"
)

func ExampleSQLite_Open() {
	dir, err := os.MkdirTemp("", "database")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	diary := database.SQLite{Schema: database.Schema{
		Name: "diary", Application: 0x44696172,
		Migrations: fstest.MapFS{"migrations/0001_days.sql": {Data: []byte("CREATE TABLE days (said TEXT NOT NULL)")}},
	}}
	path := filepath.Join(dir, "diary.db")
	if err := database.Create(path); err != nil {
		fmt.Println(err)
		return
	}
	db, err := diary.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = db.Write.Exec("INSERT INTO days VALUES ($1)", "nothing happened")
	fmt.Println(err)
	_, err = db.Write.Exec("INSERT INTO days VALUES (NULL)")
	// the caller's mistake, not the machine's fault
	fmt.Println(err != nil, database.Advice(err, "diary") == "")
	// Output:
	// <nil>
	// true true
}
