package protocol_test

import (
	"errors"
	"fmt"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// A coordinator's receipt convinces third parties: its signature covers the received bytes, as a
// receipt and nothing else.
func Example() {
	coordinator, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	receipt, err := protocol.Receipt{
		Plan: study.HashOf([]byte("plan")), Party: "north", Size: 1200,
		Received: time.Date(2030, 6, 30, 0, 0, 0, 0, time.UTC), Ledger: privacy.Head{Sequence: 7},
	}.Sign(coordinator)
	if err != nil {
		panic(err)
	}
	read, err := protocol.ParseReceipt(receipt.Document, receipt.Signature, coordinator.Key())
	fmt.Println(read.Party, read.Received.Format(time.DateOnly), "ledger at", read.Ledger.Sequence,
		err)

	other, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	_, err = protocol.ParseReceipt(receipt.Document, receipt.Signature, other.Key())
	fmt.Println("by another key:", errors.Is(err, protocol.ErrDamaged))
	err = coordinator.Key().Verify(protocol.PlanDocument, receipt.Document, receipt.Signature)
	fmt.Println("as a plan:", errors.Is(err, protocol.ErrDamaged))
	// Output:
	// north 2030-06-30 ledger at 7 <nil>
	// by another key: true
	// as a plan: true
}
