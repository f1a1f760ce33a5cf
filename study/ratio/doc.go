// Package ratio is about the kind of study that learns the class ratios of unlabelled
// sets (Iyer, Nath & Sarawagi 2016): each party publishes label counts with noise
// and something of its sets' features; the ratios of any other set follow, for as
// many sets as anyone likes. The estimators stand in aggregation/ratio, the proof
// note at Kind.
package ratio
