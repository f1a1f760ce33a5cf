package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// LaplacePrior releases, for each block of c counts η, Draws draws from a Pólya urn that starts
// with ηᵢ+Prior balls of class i: a sample of the posterior under a Dirichlet prior
// (Machanavajjhala, Kifer, Abowd, Gehrke & Vilhuber 2008).
//
// Proof note.
//   - Neighbours: replace one unit, which moves 1 from count i to count j of one block (L1 = 2,
//     Cells = 2, KeepsSum, Block). Public: prior a, draws n, ε, bound, and each block's sum.
//   - Lemma: P[z|η] = n!/Πz! · Πᵢ(ηᵢ+a)…(ηᵢ+a+zᵢ−1) / (A…(A+n−1)), where A = Σ(ηᵢ+a) is the same
//     for neighbours. For η′ = η − eᵢ + eⱼ, P[z|η]/P[z|η′] = (ηᵢ−1+a+zᵢ)/(ηᵢ−1+a) ·
//     (ηⱼ+a)/(ηⱼ+a+zⱼ) ≤ 1 + n/a, which is at most e^ε if a ≥ n/(e^ε−1).
//   - Numeric model: the urn draws integers below integers. ε is a rational; check compares 1 + n/a
//     with a partial sum of e^ε, exactly.
//   - The caller guarantees counts ≥ 0 and public block sums below 2⁴⁰.
type LaplacePrior struct {
	Epsilon      *big.Rat
	Prior, Draws int64
}

// Dirichlet releases, for each block of c counts η, Draws draws from θ, where θ ~
// Dirichlet(Sigma·(η+Prior)).
//
// Proof note.
//   - Neighbours: as for LaplacePrior. Public: as for LaplacePrior, and σ = Sigma and δ.
//   - Lemma. The draws are multinomial given θ, so it is enough that θ is (ε,δ). Let neighbours
//     differ in counts i and j. The other θs, and θᵢ+θⱼ, have the same law under both and are
//     independent of B = θᵢ/(θᵢ+θⱼ). So only B tells them apart: Beta(x+σ, y) or Beta(x, y+σ), x =
//     σ(ηᵢ−1+a), y = σ(ηⱼ+a).
//   - The worst pair has the least x and y, x = y = σa. For B ~ Beta(p,q) and an independent C ~
//     Beta(p+q, d), B·C ~ Beta(p, q+d). p+q = x+y+σ under both, so multiplying by C turns the pair
//     (x, y) into the pair (x, y+d) without knowing which of the two it is: post-processing, which
//     cannot raise δ. Likewise with 1−B for x.
//   - There the densities' ratio is (B/(1−B))^σ, above e^ε where 1−B < u = 1/(1+e^{ε/σ}): δ(ε) =
//     I_u(σa, σ(a+1)) − e^ε·I_u(σ(a+1), σa).
//   - Numeric model: the urn draws integers below integers, with weights in units of σ's
//     denominator. check computes δ(ε) in floating point, rounded up by more than its error.
//   - The caller guarantees counts ≥ 0 and public block sums below 2⁴⁰.
//   - Unlike the published mechanism (DirichletPaper), neither σ nor whether there is an answer
//     depends on the counts.
type Dirichlet struct {
	Epsilon, Delta, Sigma *big.Rat
	Prior, Draws          int64
}

// These limits keep an urn's total below 2⁶³ and its check quick.
const (
	maxUrnPrior = 1 << 32
	maxUrnDraws = 1 << 24
	maxUrnBits  = 22 // length of Sigma's numerator and denominator
	maxUrnCount = 1 << 40
)

type urn struct {
	sigma        *big.Rat
	prior, draws int64
}

func (u urn) check() error {
	if u.prior < 1 || u.prior > maxUrnPrior || u.draws < 1 || u.draws > maxUrnDraws {
		return fmt.Errorf("check urn: prior %d and draws %d, give 1 to 2^32 and 1 to 2^24", u.prior, u.draws)
	}
	if u.sigma == nil || u.sigma.Sign() <= 0 || u.sigma.Num().BitLen() > maxUrnBits ||
		u.sigma.Denom().BitLen() > maxUrnBits {
		return errors.New("check urn: sigma must be positive, its numerator and denominator below 2^22")
	}
	return nil
}

func (u urn) checkBound(b Bound) error {
	if b.L1 != 2 || b.Cells != 2 || !b.KeepsSum || b.Weight != nil {
		return fmt.Errorf("an urn needs a unit that moves one from one count to another (L1 2, 2 cells, keeps the sum): %w", ErrUnproven)
	}
	if b.Block == 1 {
		return fmt.Errorf("%w: %w", errShortBlock, ErrUnproven)
	}
	return nil
}

func (u urn) draw(s *secret, d dice) ([]int64, []float64) {
	c := s.bound.block(len(s.values))
	out := make([]int64, len(s.values))
	step, unit := u.sigma.Denom().Uint64(), u.sigma.Num().Uint64()
	for at := 0; at < len(s.values); at += c {
		weight, total := make([]uint64, c), uint64(0)
		for j := range weight {
			weight[j] = unit * (uint64(max(0, min(s.values[at+j], maxUrnCount))) + uint64(u.prior))
			total += weight[j]
		}
		z := out[at : at+c]
		for range u.draws {
			// Compare with all classes, so that the time does not depend on the class drawn.
			ball, class, edge := d.below(total), 0, uint64(0)
			for _, w := range weight[:c-1] {
				if edge += w; ball >= edge {
					class++
				}
			}
			weight[class] += step
			total += step
			z[class]++
		}
	}
	return out, nil
}

// steps counts a comparison with each class for every draw of a block.
func (u urn) steps(b Bound, n int) float64 {
	c := float64(b.block(n))
	return float64(n) / c * float64(u.draws) * (500 + 5*c)
}

// estimate returns counts η from the mean n(η+a)/A of n draws z, with prior a, A = Σ(η+a) and total
// = Ση. covariance is that of their noise, at the drawn shares.
func (u urn) estimate(z []float64, total float64) (counts []float64,
	covariance func(i, j int) float64) {
	all := total + float64(len(z))*float64(u.prior)
	sigma, _ := u.sigma.Float64()
	n := float64(u.draws)
	spread := 1/n + (1-1/n)/(sigma*all+1)
	for _, v := range z {
		counts = append(counts, v*all/n-float64(u.prior))
	}
	return counts, func(i, j int) float64 {
		c := -z[i] * z[j] / (n * n)
		if i == j {
			c += z[i] / n
		}
		return all * all * c * spread
	}
}

// expected approximates a share's mean absolute error if all counts are equal, by a normal
// distribution.
func (u urn) expected(classes int, total int64) float64 {
	sigma, _ := u.sigma.Float64()
	c, n := float64(classes), float64(u.draws)
	all := float64(total) + c*float64(u.prior)
	spread := 1/n + (1-1/n)/(sigma*all+1)
	return math.Sqrt(2/math.Pi*(1-1/c)/c*spread) * all / float64(total)
}

// variance bounds the variance of a class's draws: p(1−p) ≤ 1/4, and A = Σ(η+a) ≥ c·a for c classes
// and prior a.
func (u urn) variance(b Bound, n int) float64 {
	sigma, _ := u.sigma.Float64()
	draws := float64(u.draws)
	return draws / 4 * (1 + (draws-1)/(sigma*float64(b.block(n))*float64(u.prior)+1))
}

// Name stands in a Published beside the exact "epsilon", and "prior" and "draws" of the urn.
func (l LaplacePrior) Name() string { return "laplace-prior" }

func (l LaplacePrior) urn() urn { return urn{big.NewRat(1, 1), l.Prior, l.Draws} }

func (l LaplacePrior) parameters() map[string]string {
	return map[string]string{"epsilon": l.Epsilon.RatString(), "prior": fmt.Sprint(l.Prior),
		"draws": fmt.Sprint(l.Draws)}
}

func (l LaplacePrior) check() error {
	if err := l.urn().check(); err != nil {
		return err
	}
	if err := checkShort("epsilon", l.Epsilon, maxEpsilon); err != nil {
		return err
	}
	if ratio := big.NewRat(l.Draws,
		l.Prior); exponentialAtLeast(l.Epsilon).Cmp(ratio.Add(ratio, power(0))) < 0 {
		return fmt.Errorf("check Laplace prior: %d draws with a prior of %d are not epsilon %s", l.Draws, l.Prior, l.Epsilon.RatString())
	}
	return nil
}

// exponentialAtLeast returns a rational below e^x, by a relative error below 2⁻²⁰ for 0 < x ≤ 64:
// x is rounded down to 30 bits, then the series is cut.
func exponentialAtLeast(x *big.Rat) *big.Rat {
	down := new(big.Int).Lsh(x.Num(), 30)
	y := new(big.Rat).SetFrac(down.Quo(down, x.Denom()), new(big.Int).Lsh(big.NewInt(1), 30))
	sum, term := power(0), power(0)
	most := new(big.Int).Quo(x.Num(), x.Denom()).Int64() // ⌊x⌋ ≤ 64
	for k := int64(1); k <= 256; k++ {
		term.Mul(term, y).Mul(term, big.NewRat(1, k))
		sum.Add(sum, term)
		if k >= 2*most && term.Cmp(big.NewRat(1, 1<<40)) < 0 {
			break
		}
	}
	return sum
}

func checkShort(name string, x *big.Rat, most int64) error {
	if x == nil || x.Sign() <= 0 || x.Cmp(new(big.Rat).SetInt64(most)) > 0 ||
		x.Num().BitLen() > 128 || x.Denom().BitLen() > 128 {
		return fmt.Errorf("check count mechanism: %s must be above 0 and at most %d, with numerator and denominator below 2^128", name, most)
	}
	return nil
}

func (l LaplacePrior) cost(b Bound) (Cost, error) {
	if err := l.check(); err != nil {
		return Cost{}, err
	}
	if err := l.urn().checkBound(b); err != nil {
		return Cost{}, err
	}
	return PureCost(b.Unit, b.PerParty, l.Epsilon), nil
}

func (l LaplacePrior) simulationOnly() bool { return false }

func (l LaplacePrior) draw(s *secret, d dice) ([]int64, []float64) { return l.urn().draw(s, d) }

func (l LaplacePrior) steps(b Bound, n int) float64 { return l.urn().steps(b, n) }

func (l LaplacePrior) variance(b Bound, _, n int) float64 { return l.urn().variance(b, n) }

// CalibrateLaplacePrior chooses the number of draws with the least expected error, for blocks of
// about total units in the given number of classes.
func CalibrateLaplacePrior(b Bound, epsilon float64, classes int,
	total int64) (LaplacePrior, error) {
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return LaplacePrior{}, fmt.Errorf("calibrate Laplace prior: %w", err)
	}
	var best LaplacePrior
	least := math.Inf(1)
	for n := 1.; n <= maxUrnDraws; n = math.Ceil(n * 1.25) {
		prior := math.Ceil(n / math.Expm1(epsilon) * (1 + 1e-5))
		m := LaplacePrior{Epsilon: rational(epsilon), Prior: int64(prior), Draws: int64(n)}
		if prior > maxUrnPrior {
			break
		}
		if e := m.urn().expected(classes, total); e < least && m.check() == nil {
			least, best = e, m
		}
	}
	if best.Epsilon == nil {
		return LaplacePrior{}, fmt.Errorf("calibrate Laplace prior: no prior below 2^32 reaches epsilon %g, allow more", epsilon)
	}
	_, err := best.cost(b)
	return best, err
}

// Name stands in a Published beside "epsilon", "delta" and "sigma" (exact), and "prior" and "draws"
// of the urn.
func (m Dirichlet) Name() string { return "dirichlet" }

func (m Dirichlet) urn() urn { return urn{m.Sigma, m.Prior, m.Draws} }

func (m Dirichlet) parameters() map[string]string {
	return map[string]string{
		"epsilon": m.Epsilon.RatString(), "delta": m.Delta.RatString(), "sigma": m.Sigma.RatString(),
		"prior": fmt.Sprint(m.Prior), "draws": fmt.Sprint(m.Draws),
	}
}

// maxExponent keeps e^−x a normal float64.
const maxExponent = 700

// dirichletDelta returns δ(ε) of the worst pair (see Dirichlet), rounded up.
func dirichletDelta(epsilon, sigma, prior float64) float64 {
	low, high := sigma*prior, sigma*(prior+1)
	if high > maxBeta {
		return 1
	}
	if epsilon > maxExponent*sigma {
		return 1 // u underflows; nobody needs such a small σ
	}
	u := 1 / (1 + math.Exp(epsilon/sigma))
	first, second := incompleteBeta(u, low, high), math.Exp(epsilon)*incompleteBeta(u, high, low)
	relative := max(1e-9, betaError*high/maxBeta)
	return first*(1+relative) - second*(1-relative)
}

func (m Dirichlet) check() error {
	if err := m.urn().check(); err != nil {
		return err
	}
	if err := checkShort("epsilon", m.Epsilon, maxEpsilon); err != nil {
		return err
	}
	if err := checkShort("delta", m.Delta, 1); err != nil || m.Delta.Cmp(power(0)) == 0 {
		return errors.New("check Dirichlet: delta must be above 0 and below 1")
	}
	epsilon, _ := m.Epsilon.Float64()
	delta, _ := m.Delta.Float64()
	sigma, _ := m.Sigma.Float64()
	if got := dirichletDelta(epsilon, sigma, float64(m.Prior)); !(got <= delta) {
		return fmt.Errorf("check Dirichlet: sigma %s with a prior of %d has delta %g at epsilon %g, more than %g", m.Sigma.RatString(), m.Prior, got, epsilon, delta)
	}
	return nil
}

func (m Dirichlet) cost(b Bound) (Cost, error) {
	if err := m.check(); err != nil {
		return Cost{}, err
	}
	if err := m.urn().checkBound(b); err != nil {
		return Cost{}, err
	}
	c := PureCost(b.Unit, b.PerParty, m.Epsilon)
	c.Pure, c.Delta = nil, new(big.Rat).Set(m.Delta)
	return c, nil
}

func (m Dirichlet) simulationOnly() bool { return false }

func (m Dirichlet) draw(s *secret, d dice) ([]int64, []float64) { return m.urn().draw(s, d) }

func (m Dirichlet) steps(b Bound, n int) float64 { return m.urn().steps(b, n) }

func (m Dirichlet) variance(b Bound, _, n int) float64 { return m.urn().variance(b, n) }

// drawsPerConcentration is n/W for n draws. θ has variance p(1−p)/(W+1), W = σ·(the block's units +
// classes·prior), and the draws add p(1−p)/n: at n = 4W, an eighth of the standard deviation.
const drawsPerConcentration = 4

// usualDraws limits one block to about 15 ms.
const usualDraws = 1 << 18

// CalibrateDirichlet chooses the prior with the least expected error, for blocks of about total
// units in the given number of classes, and the largest σ that reaches (ε,δ) with it. Prior a
// cannot reach a δ below e^{−εa}/(2a+1).
func CalibrateDirichlet(b Bound, g Budget, classes int, total int64) (Dirichlet, error) {
	if err := g.Validate(); err != nil {
		return Dirichlet{}, fmt.Errorf("calibrate Dirichlet: %w", err)
	}
	if g.Delta == 0 {
		return Dirichlet{}, errors.New("calibrate Dirichlet: delta is 0, which it does not reach; give a positive delta or use the Laplace prior")
	}
	var best Dirichlet
	least := math.Inf(1)
	for prior := int64(1); prior <= 1<<24; prior = prior + (prior+2)/3 {
		sigma := dirichletSigma(g, float64(prior))
		if sigma == nil {
			continue
		}
		s, _ := sigma.Float64()
		w := s * (float64(total) + float64(classes)*float64(prior))
		m := Dirichlet{Epsilon: rational(g.Epsilon), Delta: rational(g.Delta), Sigma: sigma,
			Prior: prior,
			Draws: int64(max(1, min(math.Ceil(drawsPerConcentration*w), usualDraws)))}
		if e := m.urn().expected(classes, total); e < least && m.check() == nil {
			least, best = e, m
		}
	}
	if best.Sigma == nil {
		return Dirichlet{}, fmt.Errorf("calibrate Dirichlet: no prior reaches delta %g at epsilon %g, allow more", g.Delta, g.Epsilon)
	}
	_, err := best.cost(b)
	return best, err
}

// dirichletSigma bisects for the largest σ within g, rounded down to at most 21 bits; nil if there
// is none.
func dirichletSigma(g Budget, prior float64) *big.Rat {
	enough := func(sigma float64) bool {
		return dirichletDelta(g.Epsilon, sigma, prior) <= g.Delta*(1-1e-6)
	}
	low, high := max(0x1p-20, 1.001*g.Epsilon/maxExponent), 0x1p20
	if !enough(low) {
		return nil
	}
	for range 60 {
		if middle := math.Sqrt(low * high); enough(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	exponent := 20 - math.Ilogb(low)
	if exponent > maxUrnBits-1 {
		exponent = maxUrnBits - 1
	}
	if exponent < 0 {
		return big.NewRat(int64(low), 1)
	}
	return big.NewRat(int64(math.Ldexp(low, exponent)), 1<<exponent)
}
