package main

import (
	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
)

func main() { console.Main(newRoot) }

// program is what this program adds to an agent's verbs: its forecasts, and the clock of its tests.
func program() siteverbs.Program {
	return siteverbs.Program{Checkpoint: checkpoint, Now: now, RedrawForecast: drawAgain}
}

func newRoot(c *console.Console) *cobra.Command {
	a := siteverbs.NewAgent(c, program())
	agent := console.Group("agent", "Take part in studies, beside the data", a.Verbs()...)
	a.AddConfigFlag(agent.PersistentFlags())
	root := c.NewRoot("caucus", "Learn across parties that may not pool their data",
		newCoordinator(c), newHelper(c), agent, newParty(c), newStudy(c),
		newForecast(c), newDemo(c), newSimulate(c), newRelease(c), newPool(c), newDataset(c),
		siteverbs.NewLedgerVerbs(c, servers{}))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if was := wasMoved(cmd, cmd.Flags().Args()); was != nil {
			return was
		}
		return console.FlagError(cmd, err, asTerm(cmd, err))
	})
	nameMoved(root)
	return root
}
