// Package keyed is about where a party's records go: into a shard, a made set, a cut,
// an order of sending. It is for kinds of study and for agents.
//
// It guarantees that a place follows from what a record holds and the site's key,
// never from its place in a file, so that a bound for neighbours holds for files in
// any order; Exactly makes a file of any length a collection of a declared one. The
// lemmas stand at Records.
package keyed
