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

// reader reads contributions. They are not added up, because the fit uses every set.
type reader struct {
	bodies.AtParties
	design design
}

// parsed is a decoded contribution: the publication, and each set's size and encoded rows or embedding sum.
type parsed struct {
	sizes    []int // nil if sizes have noise (design.sized)
	rows     [][]byte
	sums     [][]int64
	released privacy.Published
}

func (t task) Check(body []byte) error {
	_, err := t.reader.parse(body)
	return err
}

func (t task) NewSum() (study.Sum, error) { return nil, study.ErrKept }

// PublicBodies returns false for features and exact embeddings, which only the coordinator may see.
func (t task) PublicBodies() bool { return t.design.terms.Features == FeaturesNoisyEmbedding }

func (s reader) parse(body []byte) (parsed, error) {
	out, err := s.takeApart(body)
	if err != nil {
		return out, fmt.Errorf("%w: %w", study.ErrContribution, err)
	}
	return out, nil
}

var errTruncated = errors.New("it is truncated or not a contribution")

func (s reader) takeApart(body []byte) (parsed, error) {
	var out parsed
	t := s.design.terms
	sets, total := t.sets(s.design.classes), 0
	for range sets {
		n := 0
		if s.design.sized {
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
			out.sizes = append(out.sizes, n)
		}
		switch t.Features {
		case FeaturesClear:
			size := 2 * n * s.design.dim(s.Plan)
			if len(body) < size {
				return out, errTruncated
			}
			out.rows, body = append(out.rows, body[:size]), body[size:]
		case FeaturesEmbedding:
			size := 8 * s.design.fourier.Features
			if len(body) < size {
				return out, errTruncated
			}
			sum, err := bodies.ParseFixed(body[:size], s.design.fourier.Features)
			if err != nil {
				return out, err
			}
			for _, x := range sum {
				if most := int64(n) * s.design.lattice.Radius; x > most || x < -most {
					return out, fmt.Errorf("an embedding of %d rows has a sum of %d, at most %d is possible", n, x, most)
				}
			}
			out.sums, body = append(out.sums, sum), body[size:]
		}
	}
	var err error
	if out.released, err = s.Published(body, sets*s.design.block); err == nil && !s.Plan.Simulated {
		err = s.possible(out)
	}
	return out, err
}

func (d design) dim(p study.Plan) int { return p.Map.Dim() }

// farDeviations is a number of standard deviations that the noise of honest releases does not exceed.
// Laplace noise would exceed it once in 10³⁹ draws.
const farDeviations = 64

// possible refuses a body that no honest party could send, so that a party cannot spoil the estimate
// with invented numbers. Counts and sums must be possible for the number of records, up to noise. If the
// mechanism keeps the sum of a set's counts, that sum must be right.
func (s reader) possible(b parsed) error {
	d := s.design
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
	for set := 0; set*d.block < len(b.released.Values); set++ {
		values := b.released.Values[set*d.block : (set+1)*d.block]
		n := float64(s.design.terms.MaxRecords)
		if b.sizes != nil {
			n = float64(b.sizes[set])
		}
		low, high, noise := 0., n, 0.
		switch {
		case draws >= 0:
			high = float64(draws)
		case d.block > d.classes:
			noise = far(0, 2)
		default:
			noise = far(0, d.classes)
		}
		sum := 0.
		for j, v := range values {
			if j == d.classes { // a sum of the embedding
				high = n * float64(d.lattice.Radius)
				low, noise = -high, far(1, 2)
			}
			if x := float64(v); x < low-noise || x > high+noise {
				return fmt.Errorf("a released number is %d, which no honest release of at most %g records is", v, n)
			}
			if j < d.classes {
				sum += float64(v)
			}
		}
		if want := float64(draws); (draws >= 0 && sum != want) || (keepsSum && sum != n) {
			return fmt.Errorf("the released counts of a set add up to %g, those of an honest release keep their sum", sum)
		}
	}
	return nil
}
