// Package keyed decides what happens to each of a party's records: its shard, its made set, whether
// it is kept, or its place in the order of sending. Kinds of study and agents use it.
//
// It guarantees that a record's place follows from its content and the site's key, never from its
// place in a file. So a bound for neighbours holds for files in any order. Exactly turns a file of
// any length into the declared number of records. Records states the lemmas.
package keyed
