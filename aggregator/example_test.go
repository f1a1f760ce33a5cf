package aggregator_test

import (
	"fmt"

	"caucus/aggregator"
	"caucus/protocol"
	"caucus/study"
)

// A party takes a helper's word under the keys alone that it was told of by other ways than
// its coordinator's.
func ExampleCheckPins() {
	helper, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	coordinator, err := protocol.NewSigner()
	if err != nil {
		panic(err)
	}
	document := []byte(`{"plan":"…"}`)
	signed := aggregator.Signed{Document: document, Signature: coordinator.Sign(protocol.AcceptanceDocument, document)}
	var plan study.Hash
	_, err = aggregator.CheckPins(plan, signed, aggregator.Pins{Signing: helper.Key()}, coordinator.Key())
	fmt.Println(err)
	// Output:
	// the helper's acceptance: it is signed by the coordinator itself: a coordinator that is its own helper sees everything
}
