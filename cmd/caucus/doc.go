// Command caucus is the one binary of the project: simulations, the demo, the coordinator, helper
// and agent daemons, and the tools for releases. Each verb has a file here; logic that other
// programs would want is in other packages.
package main
