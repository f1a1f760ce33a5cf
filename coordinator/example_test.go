package coordinator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"caucus/coordinator"
	"caucus/coordinator/folder"
	"caucus/protocol"
)

// A coordinator runs on its folder until its context ends; whoever has the operator's
// profile asks over the network.
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
	server, err := coordinator.New(config)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	profile, err := protocol.LoadIdentity(filepath.Join(home, folder.OperatorFile))
	if err != nil {
		panic(err)
	}
	// port 0 took a free one
	operator, err := protocol.Dial(profile, protocol.DialOptions{Coordinator: server.Addr()})
	if err != nil {
		panic(err)
	}
	members, err := operator.Members(ctx)
	if err != nil {
		panic(err)
	}
	for _, m := range members {
		fmt.Println(m.Role, m.Name, "is", m.Status)
	}
	operator.Close()
	stop()
	fmt.Println("stopped:", <-ended)
	// Output:
	// operator operator is enrolled
	// stopped: <nil>
}
