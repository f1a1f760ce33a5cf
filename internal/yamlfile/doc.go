// Package yamlfile reads the YAML files that people write: configurations, schemas, study files,
// profiles.
//
// Before decoding, it compares a document with the Go type. The first mismatch is an error that
// names the file, the line, the key, the found text and the expected form:
//
//	agent.yaml line 7: policy: unknown key "aproval": do you mean "approval"?
//
// So a typo never silently means a default. Keys are spelt exactly and given once. A number is not
// accepted as a duration, and a duration may be in days (30d). A file has one document only. A key
// without a value counts as absent.
package yamlfile
