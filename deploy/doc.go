// Package deploy is about example deployments: a container image of the one binary and nothing
// else, a compose file, hardened systemd units, and configurations. It holds no code. Its tests
// load the examples with the daemons' own loaders.
package deploy
