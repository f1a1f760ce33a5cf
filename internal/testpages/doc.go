// Package testpages is about laying pages out in a browser, for tests: nothing runs over its edge,
// pictures have words, tables have heads, and texts are large enough.
package testpages
