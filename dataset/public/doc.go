// Package public is about public data: known data sets of experiments, generated hospitals, and a
// first schema drafted from a public file. Data sets are read from a folder that the caller opens
// (fs.FS).
//
// No site's program contains it, because nothing here may touch private records: a draft takes its
// bounds and levels from the file, and so would publish them.
//
// Read idx.go and known.go (known sets), hospitals.go (generated ones), and draft.go.
package public
