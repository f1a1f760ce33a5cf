package ratio

import (
	"math"

	"caucus/study"
)

func checkExpected(expected []float64, classes int) error {
	if expected == nil {
		return nil
	}
	sum := 0.
	for _, v := range expected {
		if !(v > 0) {
			return study.PlanError("expected", "%v: give every class a share above 0", expected)
		}
		sum += v
	}
	if len(expected) != classes || math.Abs(sum-1) > 1e-6 {
		return study.PlanError("expected", "%v: give one share for each of the %d classes, with sum 1", expected, classes)
	}
	return nil
}

const dealingRounds = 1000

// dealingSteps bounds the work of DealProbabilities. Each round reads the whole matrix four times
// and divides it twice.
func dealingSteps(classes int) float64 {
	return dealingRounds * 24 * float64(classes) * float64(classes)
}

// DealProbabilities returns the probability deal[j][k] that a record of class j goes to set k; rows
// sum to 1. The goal is c sets of equal size, where class k has share skew in set k and the other
// classes have equal shares. In such sets, the share of all records that are of class j and in set
// k is skew/c if j = k, else (1−skew)/((c−1)c). DealProbabilities scales these shares in turn to
// row sums expected[j] and column sums 1/c (Sinkhorn & Knopp 1967), which gives the nearest shares
// that fit the expected classes. It reads only public numbers, so no bound depends on it.
func DealProbabilities(skew float64, expected []float64, classes int) [][]float64 {
	c := float64(classes)
	deal := make([][]float64, classes)
	for j := range deal {
		deal[j] = make([]float64, classes)
		for k := range deal[j] {
			deal[j][k] = (1 - skew) / (c - 1)
		}
		deal[j][j] = skew
	}
	if expected == nil {
		return deal // the classes have equal shares, so rows and columns sum to 1 already
	}
	if skew == 1 { // each set has one class, so no scaling changes the sizes
		return deal
	}
	for range dealingRounds {
		for k := range deal {
			sum := 0.
			for j := range deal {
				sum += deal[j][k]
			}
			for j := range deal {
				deal[j][k] /= sum * c
			}
		}
		for j := range deal {
			sum := 0.
			for _, v := range deal[j] {
				sum += v
			}
			for k := range deal[j] {
				deal[j][k] *= expected[j] / sum
			}
		}
	}
	for j := range deal {
		for k := range deal[j] {
			deal[j][k] /= expected[j]
		}
	}
	return deal
}
