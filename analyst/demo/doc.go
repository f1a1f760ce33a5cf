// Package demo runs a federation in one process, to show it: a coordinator, a helper and agents as
// real daemons, with mutual TLS over loopback and their stores and ledgers in files. Each kind of
// study runs once, from draft to release, on public or generated data, and is compared with the
// truth, with one party alone and with no study.
//
// Run does all of it; WritePage shows the report as a page. Nothing here protects anybody: the data
// are public, and one user on one machine runs every party.
package demo
