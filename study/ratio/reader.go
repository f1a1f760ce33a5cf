package ratio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// ContributionReader reads contributions. They are not added up, because the fit uses every set.
type ContributionReader struct {
	bodies.PartyReleases
	Design Design
}

// ParsedContribution is a decoded contribution: the publication, and each set's size and encoded
// rows or embedding sum.
type ParsedContribution struct {
	Sizes    []int // nil if sizes have noise (design.sized)
	Rows     [][]byte
	Sums     [][]int64
	Released privacy.Published
}

// Check reads the whole body with its publication. Errors wrap study.ErrContribution.
func (t Task) Check(body []byte) error {
	_, err := t.Reader.Parse(body)
	return err
}

// NewSum returns study.ErrNoSum: bodies are kept, because the fit compares sets with each other.
func (t Task) NewSum() (study.Sum, error) { return nil, study.ErrNoSum }

// PublicBodies returns false for features and exact embeddings, which only the coordinator may see.
func (t Task) PublicBodies() bool { return t.Design.Terms.Features == FeaturesNoisyEmbedding }

// Parse reads a contribution. The error wraps study.ErrContribution.
func (c ContributionReader) Parse(body []byte) (ParsedContribution, error) {
	out, err := c.takeApart(body)
	if err != nil {
		return out, fmt.Errorf("%w: %w", study.ErrContribution, err)
	}
	return out, nil
}

var errTruncated = errors.New("it is truncated or not a contribution")

func (c ContributionReader) takeApart(body []byte) (ParsedContribution, error) {
	var out ParsedContribution
	t := c.Design.Terms
	sets, total := t.SetsOfParty(c.Design.Classes), 0
	for range sets {
		n := 0
		if c.Design.sized {
			if len(body) < sizeSize {
				return out, errTruncated
			}
			size := binary.BigEndian.Uint32(body)
			body = body[sizeSize:]
			if uint64(size)+uint64(total) > uint64(t.MaxRecords) {
				return out, fmt.Errorf("it has more than the %d records that the plan takes", t.MaxRecords)
			}
			n = int(size)
			total += n
			out.Sizes = append(out.Sizes, n)
		}
		switch t.Features {
		case FeaturesClear:
			size := 2 * n * c.Design.dim(c.Plan)
			if len(body) < size {
				return out, errTruncated
			}
			out.Rows, body = append(out.Rows, body[:size]), body[size:]
		case FeaturesEmbedding:
			size := 8 * c.Design.Fourier.Features
			if len(body) < size {
				return out, errTruncated
			}
			sum, err := bodies.ParseFixed(body[:size], c.Design.Fourier.Features)
			if err != nil {
				return out, err
			}
			for _, x := range sum {
				if most := int64(n) * c.Design.lattice.Radius; x > most || x < -most {
					return out, fmt.Errorf("an embedding of %d rows has a sum of %d, at most %d is possible", n, x, most)
				}
			}
			out.Sums, body = append(out.Sums, sum), body[size:]
		}
	}
	var err error
	if out.Released, err = c.Published(body, sets*c.Design.Block); err == nil && !c.Plan.Simulated {
		err = c.CheckPossible(out)
	}
	return out, err
}

func (d Design) dim(p study.Plan) int { return p.Map.Dim() }

// farDeviations is a number of standard deviations that the noise of honest releases does not
// exceed. Laplace noise would exceed it once in 10³⁹ draws.
const farDeviations = 64

// CheckPossible refuses a body that no honest party could send, so that a party cannot spoil the
// estimate with invented numbers. Counts and sums must be possible for the number of records, up to
// noise. If the mechanism keeps the sum of a set's counts, that sum must be right.
func (c ContributionReader) CheckPossible(b ParsedContribution) error {
	d := c.Design
	far := func(j, n int) float64 {
		return farDeviations * math.Sqrt(privacy.VarianceOf(d.Mechanism, d.Bound, j, n))
	}
	draws := int64(-1)
	switch m := d.Mechanism.(type) {
	case privacy.Dirichlet:
		draws = m.Draws
	case privacy.LaplacePrior:
		draws = m.Draws
	}
	_, keepsSum := d.Mechanism.(privacy.ZeroSumLaplace)
	for set := 0; set*d.Block < len(b.Released.Values); set++ {
		values := b.Released.Values[set*d.Block : (set+1)*d.Block]
		n := float64(c.Design.Terms.MaxRecords)
		if b.Sizes != nil {
			n = float64(b.Sizes[set])
		}
		low, high, noise := 0., n, 0.
		switch {
		case draws >= 0:
			high = float64(draws)
		case d.Block > d.Classes:
			noise = far(0, 2)
		default:
			noise = far(0, d.Classes)
		}
		sum := 0.
		for j, v := range values {
			if j == d.Classes { // a sum of the embedding
				high = n * float64(d.lattice.Radius)
				low, noise = -high, far(1, 2)
			}
			if x := float64(v); x < low-noise || x > high+noise {
				return fmt.Errorf("a released number is %d, which no honest release of at most %g records is", v, n)
			}
			if j < d.Classes {
				sum += float64(v)
			}
		}
		if want := float64(draws); (draws >= 0 && sum != want) || (keepsSum && sum != n) {
			return fmt.Errorf("the released counts of a set add up to %g, those of an honest release keep their sum", sum)
		}
	}
	return nil
}
