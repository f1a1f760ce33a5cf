package health_test

import (
	"context"
	"errors"
	"os"

	"caucus/agent/health"
	"caucus/agent/site"
)

// Whoever asks is told what is wrong and what to do, worst or not, a line for each thing.
func Example() {
	found := health.Check(context.Background(), site.Config{}, "agent.yaml", errors.New("state: name the folder that keeps the agent's identity and ledger"))
	if err := found.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// problem  config  state: name the folder that keeps the agent's identity and ledger
}
