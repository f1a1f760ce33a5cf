// Package folder manages a daemon's folder: making and locking it, measuring the room on its
// volume, and making its list of files durable against a crash.
//
// Windows offers programs no way to make a folder's list of files durable, but NTFS keeps a journal
// of it, so Sync does nothing there.
package folder
