package records_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"caucus/coordinator/records"
	"caucus/protocol"
)

// A transaction is stored whole or not at all.
func Example() {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := records.Create(filepath.Join(dir, "caucus.db"))
	if err != nil {
		panic(err)
	}
	defer store.Close()
	ctx := context.Background()
	err = store.Update(ctx, func(tx records.Tx) error {
		return tx.AddMember("hospital-a", protocol.RoleParty)
	})
	fmt.Println("hospital-a is stored:", err == nil)
	err = store.Update(ctx, func(tx records.Tx) error {
		return errors.Join(tx.AddMember("hospital-b", protocol.RoleParty),
			errors.New("changed our mind"))
	})
	fmt.Println(err)
	err = store.View(ctx, func(tx records.Tx) error {
		_, err := tx.Member("hospital-b")
		fmt.Println("hospital-b:", err)
		role, err := tx.Member("hospital-a")
		fmt.Println("hospital-a:", role)
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// hospital-a is stored: true
	// changed our mind
	// hospital-b: no such row
	// hospital-a: party
}
