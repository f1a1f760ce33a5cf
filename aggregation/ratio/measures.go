package ratio

import "math"

// Error compares shares by the measures of quantification (Sebastiani 2020).
type Error struct {
	AE   float64   `json:"ae"`   // mean over classes of |estimate − truth|
	L1   float64   `json:"l1"`   // c·AE, the papers' measure
	RAE  float64   `json:"rae"`  // mean of |estimate − truth|/truth, both smoothed by 1/(2n)
	NKLD float64   `json:"nkld"` // 2σ(KL(truth ‖ estimate)) − 1, smoothed alike; in [0,1)
	Bias []float64 `json:"bias"` // estimate − truth
}

// Measure compares shares of c classes. n is the size of the target. It sets the smoothing (p +
// ε)/(1 + cε), ε = 1/(2n), without which RAE and NKLD are infinite if a share is zero.
func Measure(truth, estimate []float64, n int) Error {
	c := float64(len(truth))
	smoothing := 1 / (2 * float64(n))
	out := Error{Bias: make([]float64, len(truth))}
	var kl float64
	for k, p := range truth {
		q := estimate[k]
		out.Bias[k] = q - p
		out.L1 += math.Abs(q - p)
		ps, qs := (p+smoothing)/(1+c*smoothing), (q+smoothing)/(1+c*smoothing)
		out.RAE += math.Abs(qs-ps) / ps / c
		kl += ps * math.Log(ps/qs)
	}
	out.AE = out.L1 / c
	out.NKLD = max(2/(1+math.Exp(-kl))-1, 0)
	return out
}

func sqrtOrZero(v float64) float64 { return math.Sqrt(max(v, 0)) }
