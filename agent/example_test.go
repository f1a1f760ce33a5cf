package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"caucus/agent"
	"caucus/agent/site"
)

// An agent takes part once a coordinator's operator has invited it.
func Example() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	config := site.DefaultConfig()
	config.State = filepath.Join(dir, "state")
	_, err = agent.New(config)
	what, _, _ := strings.Cut(err.Error(), " (")
	fmt.Println(what)
	// Output:
	// this agent is not enrolled: ask the coordinator's operator for an invitation and run caucus agent enrol
}
