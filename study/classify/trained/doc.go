// Package trained is about the result of a classify study: it fits the classifier to the noisy
// total, reads and explains a release, and chooses a plan's map by the accuracy that it forecasts.
// No party needs it; package classify is a party's half.
package trained
