// Package input is about files that people give to a command: records under a schema or a mapping,
// a study's pool, and releases.
//
// Reading says how records are read; its flags override a mapping, which overrides a schema.
// ReadDetecting reads a file whose format nobody has said yet. ReadSigned reads a release, and
// checks nothing.
package input
