// Package testserver starts real database servers for tests: a PostgreSQL and a MariaDB installed
// on the machine, each in its own folder, on a socket that nobody else can reach. Without the
// server, the test is skipped and says what to install. Only tests import it.
package testserver
