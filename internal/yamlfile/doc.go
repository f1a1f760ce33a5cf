// Package yamlfile reads the YAML files that people write: the daemons' configurations, schemas,
// study files, profiles.
//
// Before anything is decoded, a document is compared with the Go type that it is read into. The
// first mismatch is an error that names the file, the line, the key, what was found and what is
// wanted:
//
//	agent.yaml line 7: policy: unknown key "aproval": do you mean "approval"?
//
// So a typo never silently means a default. A key has its exact spelling and is given once. A
// number is no duration, and a duration may be in days (30d). A file has one document only. A key
// without a value counts as absent.
package yamlfile
