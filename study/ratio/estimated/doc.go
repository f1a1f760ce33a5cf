// Package estimated is about the result of a ratio study: it fits the model to the parties' sets,
// reads a release and estimates the class shares of new records. No party needs it; package ratio
// is a party's half.
package estimated
