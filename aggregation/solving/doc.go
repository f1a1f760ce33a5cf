// Package solving is about linear algebra on rows with weights: products with sparse rows, second
// moments and their powers, and systems with a ridge. Designs of sums and fits use it.
package solving
