package health_test

import (
	"context"
	"errors"
	"os"

	"caucus/agent/health"
	"caucus/agent/site"
)

// A check reports each problem in a line, with the remedy.
func Example() {
	found := health.Check(context.Background(), site.Config{}, "agent.yaml", errors.New("state: name the folder that keeps the agent's identity and ledger"))
	if err := found.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// problem  config  state: name the folder that keeps the agent's identity and ledger
}
