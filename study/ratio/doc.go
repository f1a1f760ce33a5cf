// Package ratio is the kind of study that learns the class ratios of unlabelled sets (Iyer, Nath &
// Sarawagi 2016). Each party publishes label counts with noise, and the features of its sets in
// some form. The ratios of any other set follow. Estimators are in aggregation/ratio, and the proof
// note is at Kind.
package ratio
