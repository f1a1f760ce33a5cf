// Package testsite makes a site on a disk for tests: its configuration, a ward's file that is
// declared, and a study that asks for it. No daemon runs. Only tests import it.
package testsite
