package folder_test

import (
	"fmt"
	"os"
	"path/filepath"

	"caucus/coordinator/folder"
	"caucus/protocol"
)

// A coordinator is a folder: its keys, its ledger, its configuration. Whoever
// has the operator's profile knows the key that all it says is signed with.
func Example() {
	dir, err := os.MkdirTemp("", "coordinator")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	home := filepath.Join(dir, "home")
	if err := folder.Init(folder.InitOptions{Dir: home, Listen: "127.0.0.1:0"}); err != nil {
		panic(err)
	}
	config, err := folder.LoadConfig(filepath.Join(home, folder.ConfigFile))
	if err != nil {
		panic(err)
	}
	fmt.Println("listens on", config.Listen)
	operator, err := protocol.LoadIdentity(filepath.Join(home, folder.OperatorFile))
	if err != nil {
		panic(err)
	}
	keys, err := operator.Keys()
	if err != nil {
		panic(err)
	}
	fmt.Println("the key is the operator's:", keys.Hold(operator.Signer))
	_, err = folder.ParseConfig([]byte("listen: 127.0.0.1:0\n"))
	fmt.Println(err)
	// Output:
	// listens on 127.0.0.1:0
	// the key is the operator's: true
	// budget: not given: say what all releases may cost together, or budget: none
}
