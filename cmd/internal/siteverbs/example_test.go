package siteverbs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
)

// The program of a site reads no server's ledger.
func Example() {
	root := func(c *console.Console) *cobra.Command {
		return siteverbs.NewRoot(c, siteverbs.Program{})
	}
	code := console.Execute(context.Background(), root, []string{"ledger", "show"}, os.Stdout,
		os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// caucus-agent: ledger show needs --config FILE of an agent
	// exit code 2
}
