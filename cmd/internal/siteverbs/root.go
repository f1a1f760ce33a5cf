package siteverbs

import (
	"strings"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
)

// words are the names in caucus-agent of verbs that caucus has too. The ledger of --dir is a
// server's, which caucus-agent does not read.
var words = []string{
	"caucus agent ", "caucus-agent ", "caucus agent\n", "caucus-agent\n",
	"caucus ledger verify --dir", "caucus ledger verify --dir",
	"caucus ledger ", "caucus-agent ledger ",
}

// NewRoot makes the commands of program caucus-agent: an agent's verbs, those about its ledger, and
// Verify.
func NewRoot(c *console.Console, p Program) *cobra.Command {
	c.Words = strings.NewReplacer(words...)
	a := NewAgent(c, p)
	root := c.NewRoot("caucus-agent", "Take part in studies, beside the data",
		append(a.Verbs(), NewLedgerVerbs(c, nil), a.Verify())...)
	a.AddConfigFlag(root.PersistentFlags())
	return root
}
