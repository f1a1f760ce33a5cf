package console_test

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

// A program of one verb, as people and as scripts call it.
func Example() {
	root := func(c *console.Console) *cobra.Command {
		return c.NewRoot("greeter", "Greet", &cobra.Command{
			Use: "greet NAME", Args: console.OneArgument("greet", "NAME"),
			RunE: func(_ *cobra.Command, args []string) error {
				return c.Say(map[string]string{"greeted": args[0]}, "good day, %s\n", args[0])
			},
		})
	}
	console.Execute(context.Background(), root, []string{"greet", "Ada"}, os.Stdout, os.Stderr)
	console.Execute(context.Background(), root, []string{"greet", "Ada", "--json"}, os.Stdout,
		os.Stderr)
	// Output:
	// good day, Ada
	// {
	//   "greeted": "Ada"
	// }
}
