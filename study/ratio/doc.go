// Package ratio is the kind of study that learns the class ratios of unlabelled sets (Iyer, Nath &
// Sarawagi 2016). Each party publishes label counts with noise, and its sets' features in some form; the
// ratios of any other set follow. Estimators are in aggregation/ratio, the proof note at Kind.
package ratio
