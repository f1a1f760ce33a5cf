package learned

// MajorityKept returns P[B ≥ n/2], B ~ Binomial(n, keep): the probability that at least half of n
// labels are published unchanged if each is kept with probability keep, 0 ≤ keep ≤ 1 (the
// guidance of Bi & Suppakitpaisarn 2022 for choosing n).
//
// With p = keep, q = 1−p and c_m = C(2m−1, m)(pq)ᵐ: two more labels change the event only from one
// vote short or one vote over, so P_{2m+1} = P_{2m−1} + c_m(p−q), P₁ = p. One more label after an
// odd number turns one vote short into a tie, so P_{2m} = P_{2m−1} + c_m.
func MajorityKept(n int, keep float64) float64 {
	if n < 1 {
		return 1
	}
	w := newWalk(keep)
	for w.n < n-1 {
		w.next()
	}
	if w.n < n {
		return w.p + w.c
	}
	return w.p
}

// LabelsFor returns the smallest odd n with MajorityKept(n, keep) ≥ level, for level < 1; 0 if no n
// up to maxGuideLabels is enough, as for keep ≤ 1/2.
func LabelsFor(keep, level float64) int {
	w := newWalk(keep)
	for w.p < level {
		if keep <= 0.5 || w.n >= maxGuideLabels {
			return 0
		}
		w.next()
	}
	return w.n
}

// maxGuideLabels bounds the search to about a second.
const maxGuideLabels = 100_000_000

type walk struct {
	n       int     // number of labels, 2m−1
	p       float64 // MajorityKept(n)
	c       float64 // c_m
	pq, gap float64 // pq and p−q
}

func newWalk(keep float64) walk {
	q := 1 - keep
	return walk{n: 1, p: keep, c: keep * q, pq: keep * q, gap: keep - q}
}

func (w *walk) next() {
	m := float64(w.n+1) / 2
	w.p += w.c * w.gap
	w.c *= 2 * (2*m + 1) / (m + 1) * w.pq // c_{m+1}/c_m
	w.n += 2
}
