// Package siteverbs is about the verbs that a site types: those of its agent, and those about
// ledgers. Programs caucus and caucus-agent share them.
//
// NewAgent makes an agent's verbs, with what the program adds (Program). Ledger makes the verbs
// about ledgers; those of servers are there if the program has some (ServerLedgers). Verify checks
// a release by a site's own papers alone. Root has all that caucus-agent has.
package siteverbs
