package uploading_test

import (
	"fmt"

	"caucus/aggregator/uploading"
	"caucus/protocol"
	"caucus/study"
)

// A party believes a helper only under keys that it got from others than its coordinator.
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
	signed := protocol.Signed{Document: document,
		Signature: coordinator.Sign(protocol.AcceptanceDocument, document)}
	var plan study.Hash
	_, err = uploading.CheckPins(plan, signed, uploading.Pins{Signing: helper.Key()},
		coordinator.Key())
	fmt.Println(err)
	// Output:
	// the helper's acceptance: it is signed by the coordinator itself: a coordinator that is its own helper sees everything
}
