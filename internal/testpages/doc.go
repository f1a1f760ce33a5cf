// Package testpages lays out pages in a browser, for tests: nothing extends beyond the page,
// pictures have words, tables have heads, and texts are large enough.
package testpages
