package aggregation

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// noising is the shape of noise on moments, and the fit that is made of them.
type noising struct {
	along     []float64 // variance along each direction
	constant  float64   // of the intercept's moment, in shares
	metric    []float64 // of the ridge in each direction
	pull      float64   // of the ridge on the intercept
	lambdas   []float64
	mayGiveUp bool // the constant model is the answer where nothing is better than none
}

// told is what moments tell: the root mean square over columns of the covariance of a
// class with its score, and the share of each column's class.
type told struct {
	covariance float64
	shares     []float64
}

// noisyFit is what FitVotes makes of a teacher's moments under noise of one size.
type noisyFit struct {
	// sure is how far the best fit is expected to lie below the constant model, in deviations
	// of the estimate that decides between them; aligned is that estimate's correlation with
	// the noise along the teacher's scores. constant is how likely the constant model, where
	// it is chosen, names each class for all records.
	sure, aligned float64
	constant      []float64
	// spread is the variance of the fit's scores over the pool, along the part of the noise
	// in them that lies along the teacher's, as a deviation, over all of it.
	spread, along float64
	// starts are the intercepts: of two classes at each of normalNodes of the noise on
	// it, of more one a class. loose is their deviation.
	starts []float64
	loose  float64
	// tried are the ridges that the fit may choose.
	tried []attempt
}

// attempt is a ridge, and what moments move by at its fit, along the teacher's scores and
// across them, for each unit that a weight moves.
type attempt struct{ along, across, lambda float64 }

// probit is the scale at which Φ(x/probit) is nearest to the logistic curve: within
// .0095. It makes the means over normal scores below closed.
const probit = 1.702

// Nodes and weights of Gauss and Hermite for the standard normal.
var (
	normalNodes   = []float64{-3.750439717725742, -2.366759410734541, -1.154405394739968, 0, 1.154405394739968, 2.366759410734541, 3.750439717725742}
	normalWeights = []float64{0.000548268855972, 0.030757123967586, 0.240123178605013, 0.457142857142857, 0.240123178605013, 0.030757123967586, 0.000548268855972}
)

// scored are a fit's scores, normal in each of two classes: of share q and of the rest.
type scored struct {
	q, apart, deviation float64 // apart: between the classes' means; deviation: within
}

// scoresOf are scores of a variance, mean over columns, that agree with the teacher's so
// far; q is of the first column.
func (t *teacher) scoresOf(variance, agreed float64) scored {
	agreed = math.Min(1, agreed)
	apart, deviation := t.within(agreed)
	size := math.Sqrt(variance)
	return scored{t.columns[0], apart * size, deviation * size}
}

// intercept is the b at which scores name the class as often as the moments say; the
// ridge pulls it to 0.
func (s scored) intercept(named, pull float64) float64 {
	wide := math.Sqrt(probit*probit + s.deviation*s.deviation)
	reach := 8*wide + s.apart
	low, high := -reach, reach
	for range 30 {
		b := (low + high) / 2
		if s.q*quickPhi((b+s.apart*(1-s.q))/wide)+(1-s.q)*quickPhi((b-s.apart*s.q)/wide)+pull*b > named {
			high = b
		} else {
			low = b
		}
	}
	return (low + high) / 2
}

// towards is a step of Newton's from b to the intercept.
func (s scored) towards(b, named, pull float64) float64 {
	_, slope := s.slopes(b)
	wide := math.Sqrt(probit*probit + s.deviation*s.deviation)
	value := s.q*phi((b+s.apart*(1-s.q))/wide) + (1-s.q)*phi((b-s.apart*s.q)/wide) + pull*b - named
	return b - math.Max(-wide, math.Min(wide, value/math.Max(slope+pull, 1e-300)))
}

// slopes are what moments move by, for each unit that a weight moves: along the
// teacher's scores, and across them, where Stein's lemma has it.
func (s scored) slopes(b float64) (along, across float64) {
	wide := math.Sqrt(probit*probit + s.deviation*s.deviation)
	up, down := (b+s.apart*(1-s.q))/wide, (b-s.apart*s.q)/wide
	across = (s.q*math.Exp(-up*up/2) + (1-s.q)*math.Exp(-down*down/2)) / (wide * math.Sqrt(2*math.Pi))
	between := s.apart * s.apart * s.q * (1 - s.q)
	within := s.deviation * s.deviation
	if s.apart == 0 {
		return across, across
	}
	along = (within*across + s.apart*s.q*(1-s.q)*(phi(up)-phi(down))) / (within + between)
	return along, across
}

// cost is the mean of log(1+exp(b+score)).
func (s scored) cost(b float64) (sum float64) {
	softplus := func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	for i, x := range normalNodes {
		sum += normalWeights[i] * (s.q*softplus(b+s.apart*(1-s.q)+s.deviation*x) + (1-s.q)*softplus(b-s.apart*s.q+s.deviation*x))
	}
	return sum
}

func entropy(y float64) float64 {
	if y <= 0 || y >= 1 {
		return 0
	}
	return -y*math.Log(y) - (1-y)*math.Log(1-y)
}

// fitUnder fits under noise of a size.
//
// Where scores are normal in each class, with κ the mean slope of the curve at them, the
// fit that the moment m leads to has the weight m/(κs + λ·metric) along a direction of
// variance s: Stein's lemma, so there is no step of linearising. The variance of the
// scores and κ follow from each other; λ from the least expected risk; and whether any
// fit is chosen from how far that lies below the zero model's, in deviations of the
// estimate that perturbed.fit compares. More than two classes are each taken against
// the rest, and κ is the root mean square over them, as what moments tell is.
func (o *Outlook) fitUnder(n *noising, t *problem, m told, unit float64) noisyFit {
	g, k := o.geometry, float64(len(o.of.Shares))
	columns := float64(len(m.shares))
	part, start := 1., math.Log(2)-entropy(m.shares[0]) // of a softmax in the sum over classes
	if k > 2 {
		part, start = (k-1)/k, math.Log(k)
		for _, y := range m.shares {
			if y > 0 {
				start += y * math.Log(y)
			}
		}
	}
	c, signal := make([]float64, len(n.along)), make([]float64, len(n.along))
	floats.AddScaled(c, unit, n.along)
	constant := unit * n.constant
	for j, s := range g.variance {
		signal[j] = m.covariance * m.covariance * t.share[j] * s
	}
	zero := math.Log(k)
	best, v := math.Inf(1), 1e-4
	f := noisyFit{sure: math.Inf(-1)}
	b := make([]float64, len(m.shares)) // the intercept of each column
	var at scored                       // of the best fit, whose ridge on the intercept is:
	var ridge, left float64             // left: of an intercept, by it
	for _, lambda := range n.lambdas {
		pull := lambda * n.pull
		own := pull // of the intercept below: of a softmax's there is a closed form, lost
		if k > 2 {
			own = 0
		}
		var s scored
		var along, across, agreed float64
		for range 40 {
			s = t.scoresOf(v, agreed/math.Sqrt(v))
			along, across = 0, 0
			for i, y := range m.shares {
				s.q = t.columns[i]
				b[i] = s.towards(b[i], y, own)
				a, c := s.slopes(b[i])
				along, across = along+a*a/columns, across+c*c/columns
			}
			along, across = math.Sqrt(along), math.Sqrt(across)
			next := 0.
			agreed = 0
			for j, vary := range g.variance {
				told, lost := along*vary+lambda*n.metric[j], across*vary+lambda*n.metric[j]
				next += signal[j]*vary/(told*told) + c[j]*vary/(lost*lost)
				agreed += m.covariance * t.share[j] * vary / told
			}
			next = math.Max(1e-12, math.Min(next, 1e5))
			done := math.Abs(next-v) < 1e-3*v
			v = math.Sqrt(v * next)
			if done {
				break
			}
		}
		first := across / (across + pull)
		won, correction, variance, shifted := 0., columns*constant*first/across, 0., 0.
		for j, vary := range g.variance {
			h := across * vary
			den := h + lambda*n.metric[j]
			keep := h / den
			won += signal[j] / (along*vary + lambda*n.metric[j])
			correction += columns * c[j] / den
			half := keep - keep*keep/2
			shifted += columns * half * half * 4 * signal[j] / (h * h) * c[j]
			variance += columns * half * half * 2 * c[j] * c[j] / (h * h)
		}
		if n.mayGiveUp && correction > zero {
			break
		}
		f.tried = append(f.tried, attempt{along, across, lambda})
		variance += shifted
		for _, y := range m.shares {
			w, half := (y-1/k)/across, first-first*first/2
			variance += half * half * (4*w*w*constant + 2*constant*constant/(across*across))
		}
		lost := 0.
		if k > 2 {
			lost = start * (1 - first) * (1 - first)
		}
		cost := 0.
		for i, y := range m.shares {
			s.q = t.columns[i]
			b[i] = s.intercept(y, own)
			cost += s.cost(b[i]) - b[i]*y - entropy(y)
		}
		risk := zero - start + lost +
			part*(cost+columns*(constant*first*first/across/2-won))
		if sure := (zero - risk) / math.Sqrt(variance+1e-12); sure > f.sure {
			f.sure, f.aligned = sure, math.Sqrt(shifted/(variance+1e-12))
		}
		if risk >= best {
			continue
		}
		best = risk
		f.spread, f.along, f.loose = v, 0, math.Sqrt(constant)/(across+pull)
		whole := 0.
		for j, vary := range g.variance {
			keep := 1 / (across*vary + lambda*n.metric[j])
			whole += keep * keep * c[j] * vary
			f.along += keep * keep * c[j] * vary * t.share[j]
		}
		if whole > 0 {
			f.along = math.Sqrt(f.along / whole)
		}
		at, ridge, left = s, pull, first
	}
	if !n.mayGiveUp {
		f.sure, f.aligned = math.Inf(1), 0
	}
	mistaken := math.Sqrt(constant)
	if o.of.Public { // where noise could mistake the largest, it is not asked
		mistaken = 0
	}
	f.constant = largest(m.shares, mistaken)
	if math.IsInf(best, 1) {
		return f
	}
	if k == 2 {
		for _, x := range normalNodes {
			f.starts = append(f.starts, at.intercept(m.shares[0]+x*math.Sqrt(constant), ridge))
		}
		return f
	}
	for i, y := range m.shares {
		s := scored{t.columns[i], at.apart * t.far[i] * t.far[i], at.deviation * t.far[i]}
		// Of a class against the rest, turned to one of a softmax, which the ridge pulls together.
		f.starts = append(f.starts, left*(s.intercept(y, 0)+math.Log(math.Max(1-y, 1e-9))))
	}
	return f
}

// chosen is how likely the fit is where the noise along the teacher's scores is x, in its
// deviations.
func (f noisyFit) chosen(x float64) float64 {
	return phi((f.sure + f.aligned*x) / math.Sqrt(math.Max(1-f.aligned*f.aligned, 1e-6)))
}

// largest is how likely each class's share is the largest, under noise of a deviation on
// each of more than two, or on the second's of two, which alone is in shares.
func largest(shares []float64, deviation float64) []float64 {
	deviation = math.Max(deviation, 1e-9)
	if len(shares) == 1 {
		second := phi((shares[0] - .5) / deviation)
		return []float64{1 - second, second}
	}
	out := make([]float64, len(shares))
	for k, share := range shares {
		out[k] = normalBy(4, func(x float64) float64 {
			all := 1.
			for j, other := range shares {
				if j != k {
					all *= phi((share-other)/deviation + x)
				}
			}
			return all
		})
	}
	floats.Scale(1/floats.Sum(out), out)
	return out
}
