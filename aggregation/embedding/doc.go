// Package embedding is about what a party of a ratio study sends of its features: random Fourier
// features, summed as integers, and the bound of these sums. Package ratio estimates class ratios
// from them; the names of its estimators and the public scale of its kernels are here, because
// plans are made with them.
package embedding
