// Package yamlfile reads the YAML files that people write: the daemons'
// configurations, schemas, study files, profiles.
//
// A document is held against the Go type that it is read into before anything
// is read, and the first thing that does not fit is an error that names the
// file, the line, the key, what was found and what is wanted:
//
//	agent.yaml line 7: policy: unknown key "aproval": do you mean "approval"?
//
// So a typing mistake is never a default. A key is known by its exact spelling
// and given once; a number is no length of time; a length of time may be in
// days (30d); nothing but one document is in a file. A key without a value is
// as one that is not there.
package yamlfile
