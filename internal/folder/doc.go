// Package folder is about a folder that one process holds and whose changes must
// outlast a crash: making it, a lock on it, the room on its volume, and making durable which files it has. It is for
// the daemons, on every system that they compile for.
//
// On Windows a folder's list of files cannot be made durable by a program; NTFS
// keeps a journal of it, and Sync does nothing there.
package folder
