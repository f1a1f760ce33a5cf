// Package fitted is about a classifier that was fitted: it writes a fit into the form of releases,
// says in words and charts what the classifier goes by, and compares it with a site's own. It
// serves the kinds of study that release a classifier. No party needs it.
package fitted
