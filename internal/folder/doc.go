// Package folder manages a daemon's folder, which one process holds and whose changes must survive a
// crash: making it, locking it, the room on its volume, and making its list of files durable. It
// compiles for every system of the daemons.
//
// On Windows a program cannot make a folder's list of files durable; NTFS keeps a journal of it, and
// Sync does nothing there.
package folder
