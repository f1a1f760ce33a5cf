// Package keyed is about choices among a party's records: whether a record is kept, which shard it
// is in, which set it is in if no column says, and when it is sent. Kinds of study and agents use
// it.
//
// It guarantees that each choice follows from the record's content and the site's key, never from
// the record's position in a file. So a bound for neighbours holds for files in any order. Type
// Records states the lemmas. Exactly turns a file of any length into the declared number of
// records.
package keyed
