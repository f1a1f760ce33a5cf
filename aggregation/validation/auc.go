package validation

import "math"

// auc estimates the probability that a record of the class scores above another record; ties count
// half.
//
// Let P(b) and N(b) count the records of the class and the others in bin b, P and N be their sums,
// and s² a count's variance. Let h(b,c) be 1 for b > c, 0 for b < c, and Aᵦ for b = c. The AUC is θ
// = U/(PN), U = Σ P(b)N(c)h(b,c). T(θ) = U − θPN is linear in the counts of each class, so
// independent noise on counts leaves its mean 0 at the true θ, and
//
//	Var T = Σ s²(P(b))·(H(b) − θN)² + Σ s²(N(c))·(G(c) − θP)²
//
// with H(b) = Σ N(c)h(b,c), G(c) = Σ P(b)h(b,c). Both use noisy counts, which overstates the
// variance by less than a fifth if both totals are at least four deviations of their noise. The
// interval holds all θ with T² ≤ z²·Var T.
//
// Aᵦ, the AUC inside a bin, follows from the pool's scores there and the fitted calibration. Half
// of its distance from ½ counts as uncertain.
func (s ScoreBins) auc(h Histogram, fit line) Number {
	if why := h.drowned(); why != "" {
		return unknown("%s", why)
	}
	p, n := h.totals()
	inside := make([]float64, len(s.bins))
	hidden, u := 0.0, 0.0
	up, down := make([]float64, len(s.bins)), make([]float64, len(s.bins))
	below := 0.0
	for b, of := range s.bins {
		inside[b] = of.concordance(fit)
		up[b] = below + inside[b]*h.Negative[b]
		below += h.Negative[b]
		u += h.Positive[b] * up[b]
		hidden += math.Max(h.Positive[b]*h.Negative[b], 0) * math.Abs(inside[b]-0.5) / 2
	}
	above := 0.0
	for b := len(s.bins) - 1; b >= 0; b-- {
		down[b] = above + inside[b]*h.Positive[b]
		above += h.Positive[b]
	}
	var vxx, vxy, vyy, noise float64
	theta := u / (p * n)
	for b := range s.bins {
		sp, sn := h.scatter(h.Positive[b]), h.scatter(h.Negative[b])
		vxx += sp*up[b]*up[b] + sn*down[b]*down[b]
		vxy += sp*up[b]*n + sn*down[b]*p
		vyy += sp*n*n + sn*p*p
		noise += h.Noise * ((up[b]-theta*n)*(up[b]-theta*n) + (down[b]-theta*p)*(down[b]-theta*p))
	}
	out := Number{Value: theta, NoiseSD: math.Sqrt(noise) / (p * n)}
	out.SD = math.Sqrt(math.Max(0, vxx-2*theta*vxy+theta*theta*vyy)) / (p * n)
	var ok bool
	if out.Low, out.High, ok = fieller(u, p*n, vxx, vxy, vyy); !ok {
		return unknown("noise leaves it open")
	}
	out = out.widen(hidden / (p * n))
	if out.SD > mostAUCSD {
		return unknown("its standard deviation is %.2f, above %g", out.SD, mostAUCSD)
	}
	return out.within(0, 1)
}

// concordance returns the AUC inside a bin for records with the pool's scores and the line's
// probabilities.
func (b bin) concordance(fit line) float64 {
	if !fit.known {
		return 0.5
	}
	var up, positive, negative, below float64
	for _, p := range b.points {
		q := sigmoid(fit.intercept + fit.slope*p.z)
		yes, no := p.weight*q, p.weight*(1-q)
		up += yes * (below + no/2)
		below += no
		positive, negative = positive+yes, negative+no
	}
	if !(positive*negative > 0) {
		return 0.5
	}
	return up / (positive * negative)
}
