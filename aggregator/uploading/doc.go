// Package uploading is about what a party of a study with two servers does: it checks the helper's
// agreement (CheckAcceptance) and makes an upload of two shares (Contribute), one for each server.
// Package aggregator is the servers' half; no party needs any of it. Reader of an upload and its
// digests are here, beside its writer.
package uploading
