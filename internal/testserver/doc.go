// Package testserver starts real database servers for tests: a PostgreSQL and a MariaDB of the machine,
// each in a folder of its own, on a socket that nobody else can reach. A test that cannot have its
// server is skipped and says what to install. Only tests use it.
package testserver
