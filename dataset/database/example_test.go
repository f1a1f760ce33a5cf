package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"caucus/dataset/database"
)

// The rows of a query, from a database with its address in a separate file.
func Example() {
	folder, err := os.MkdirTemp("", "clinic")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	clinic, err := sql.Open("sqlite", filepath.Join(folder, "clinic.db"))
	if err != nil {
		panic(err)
	}
	defer clinic.Close()
	_, err = clinic.Exec(`CREATE TABLE visits (born DATE, weight REAL, smoker BOOLEAN, seen DATETIME);
		INSERT INTO visits VALUES ('1980-05-01', 72.5, 1, '2024-12-31 08:30:00'), ('1975-11-23', NULL, 0, '2024-12-31 00:00:00')`)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "dsn"), []byte("clinic.db"), 0o600); err != nil {
		panic(err)
	}

	q := database.Query{
		Driver:  database.SQLite,
		DSNFile: "dsn",
		SQL:     "SELECT born, weight, smoker, seen FROM visits ORDER BY born LIMIT 100",
	}.RelativeTo(folder)
	fmt.Println(database.RowDependences(q.SQL))
	rows, err := database.Open(context.Background(), q)
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	fmt.Println(rows.Columns())
	for {
		cells, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q\n", cells)
	}
	q.SQL = "DELETE FROM visits"
	fmt.Println(q.Validate())
	// Output:
	// [LIMIT]
	// [born weight smoker seen]
	// ["1975-11-23" "" "false" "2024-12-31"]
	// ["1980-05-01" "72.5" "true" "2024-12-31 08:30:00"]
	// sql: it begins with DELETE: write a SELECT, which only reads
}
