package learners

import (
	"fmt"
	"math"
)

// link maps a proper loss's score z to the probability of "yes". score is the inverse of
// probability.
type link struct {
	probability, probabilitySlope func(z float64) float64
	score, scoreSlope             func(p float64) float64
}

func logitLink(c float64) *link {
	return &link{
		probability:      func(z float64) float64 { return sigmoid(c * z) },
		probabilitySlope: func(z float64) float64 { return c * sigmoid(c*z) * sigmoid(-c*z) },
		score:            func(p float64) float64 { return math.Log(p/(1-p)) / c },
		scoreSlope:       func(p float64) float64 { return 1 / (c * p * (1 - p)) },
	}
}

func identityLink() *link {
	return &link{
		probability:      func(z float64) float64 { return (1 + z) / 2 },
		probabilitySlope: func(float64) float64 { return 0.5 },
		score:            func(p float64) float64 { return 2*p - 1 },
		scoreSlope:       func(float64) float64 { return 2 },
	}
}

// sided is a loss with different sides: yes for label "yes", no for label "no".
type sided struct {
	yes, yesSlope, no, noSlope func(z float64) float64
}

func bothSides(l Loss) sided {
	return sided{
		yes: l.value, yesSlope: l.slope,
		no: func(z float64) float64 { return l.value(-z) }, noSlope: func(z float64) float64 { return -l.slope(-z) },
	}
}

// CheckForward returns an error if a loss has no forward correction. A proper loss has one, because
// its scores stand for probabilities (logistic, squared, savage).
func (l Loss) CheckForward() error {
	if l.link == nil {
		return fmt.Errorf("loss %s has no forward correction, because its scores stand for no probabilities: use logistic, squared or savage, or the backward correction", l.name)
	}
	return nil
}

// forward returns the forward-corrected loss (Patrini et al. 2017): ℓ at the score of q +
// (p−q)·η(z), the probability of a noisy label if η(z) is that of the true label. Its minimiser on
// noisy labels is ℓ's on true labels. The probability is kept 1e-12 away from 0 and 1, for a
// channel without noise.
func (l Loss) forward(c LabelChannel) sided {
	q, gap := c.Flip(), c.Keep-c.Flip()
	at := func(z float64) (s, slope float64) {
		p := q + gap*l.link.probability(z)
		if !l.square {
			p = math.Max(1e-12, math.Min(1-1e-12, p))
		}
		return l.link.score(p), l.link.scoreSlope(p) * gap * l.link.probabilitySlope(z)
	}
	return sided{
		yes:      func(z float64) float64 { s, _ := at(z); return l.value(s) },
		yesSlope: func(z float64) float64 { s, d := at(z); return l.slope(s) * d },
		no:       func(z float64) float64 { s, _ := at(z); return l.value(-s) },
		noSlope:  func(z float64) float64 { s, d := at(z); return -l.slope(-s) * d },
	}
}
