// Command caucus-agent is the program of a site: the verbs of caucus agent and caucus ledger, and
// nothing that a site need not trust. It fits no model, runs no server and simulates no study; a
// test holds what it is made of.
package main
