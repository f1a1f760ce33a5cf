package main

import (
	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
)

func main() {
	console.Main(func(c *console.Console) *cobra.Command {
		return siteverbs.NewRoot(c, siteverbs.Program{})
	})
}
