package privacy

import "math"

// incompleteBeta returns I_x(a,b), the distribution function of Beta(a,b) at x. It evaluates the
// continued fraction of DiDonato & Morris 1992 (DLMF 8.17.22) for the shorter tail. For a, b ≤
// maxBeta its relative error is below betaError, mostly from three log-gammas, each below 4·10⁹ and
// accurate to 4·10⁻¹⁶.
func incompleteBeta(x, a, b float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - betaTail(1-x, b, a)
	}
	return betaTail(x, a, b)
}

const (
	maxBeta   = 1e8
	betaError = 1e-5
)

func betaTail(x, a, b float64) float64 {
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(ab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	// Lentz's method takes about √max(a,b) steps.
	const tiny = 1e-300
	c, d := 1., 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	fraction := d
	for m := 1.; m < 1e5; m++ {
		for _, term := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			if d = 1 + term*d; math.Abs(d) < tiny {
				d = tiny
			}
			if c = 1 + term/c; math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			fraction *= d * c
		}
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return front * fraction
}
