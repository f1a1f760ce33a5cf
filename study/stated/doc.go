// Package stated is about the forecast that an operator publishes with a plan: what such a document
// holds, how a site reads it, and its words. Who draws forecasts is package forecast; a site that
// only reads needs none of it.
package stated
