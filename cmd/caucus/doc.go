// Command caucus is the one binary of the project: simulations, the demo, the coordinator and agent daemons and the
// tools for what they release. Each verb has a file here; none holds logic a user of the rooms would want.
package main
