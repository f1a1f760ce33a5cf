// Package ratio is the kind of study that learns the class ratios of unlabelled sets (Iyer, Nath &
// Sarawagi 2016). Each party publishes label counts with noise, and some form of its sets' features; the
// ratios of any other sets follow. Estimators are in aggregation/ratio, the proof note at Kind.
package ratio
