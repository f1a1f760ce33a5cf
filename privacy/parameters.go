package privacy

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MechanismOf returns the mechanism with this name and these parameters (see ParametersOf).
func MechanismOf(name string, parameters map[string]string) (Mechanism, error) {
	r := parameterReader{name: name, given: parameters}
	var m interface {
		Mechanism
		check() error
	}
	switch name {
	case DiscreteLaplace{}.Name():
		m = DiscreteLaplace{r.rational("scale"), r.byL2()}
	case KNorm{}.Name():
		m = KNorm{r.rational("scale"), r.integer("blocks"), r.byL2()}
	case DiscreteGaussian{}.Name():
		m = DiscreteGaussian{r.rational("variance")}
	case ZeroSumLaplace{}.Name():
		m = ZeroSumLaplace{r.rational("scale")}
	case RoundedGaussian{}.Name():
		m = RoundedGaussian{r.rational("deviation")}
	case LaplacePrior{}.Name():
		m = LaplacePrior{r.rational("epsilon"), r.integer("prior"), r.integer("draws")}
	case Dirichlet{}.Name():
		m = Dirichlet{r.rational("epsilon"), r.rational("delta"), r.rational("sigma"),
			r.integer("prior"), r.integer("draws")}
	case RandomisedResponse{}.Name():
		m = RandomisedResponse{int(r.integer("classes")), r.rational("keep")}
	case SphereLaplace{}.Name():
		return SphereLaplace{r.float("rate")}, r.done()
	case LaplacePaper{}.Name():
		return LaplacePaper{r.float("scale")}, r.done()
	case DirichletPaper{}.Name():
		return DirichletPaper{r.float("epsilon"), r.float("delta")}, r.done()
	case Unperturbed{}.Name():
		return Unperturbed{}, nil
	default:
		return nil, fmt.Errorf("unknown mechanism %q", name)
	}
	if err := r.done(); err != nil {
		return nil, err
	}
	return m, m.check()
}

type parameterReader struct {
	name  string
	given map[string]string
	read  int
	err   error
}

func (p *parameterReader) fail(key, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("mechanism %s: %s is not %s", p.name, key, want)
	}
}

func (p *parameterReader) rational(key string) *big.Rat {
	p.read++
	text := p.given[key]
	if len(text) > maxCostBits || strings.Trim(text, "0123456789/") != "" {
		p.fail(key, "a short rational")
		return new(big.Rat)
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok || x.RatString() != text {
		p.fail(key, "a rational in lowest terms")
		return new(big.Rat)
	}
	return x
}

func (p *parameterReader) integer(key string) int64 {
	p.read++
	n, err := strconv.ParseInt(p.given[key], 10, 64)
	if err != nil || fmt.Sprint(n) != p.given[key] {
		p.fail(key, "an integer")
	}
	return n
}

func (p *parameterReader) byL2() bool {
	text, given := p.given["rho"]
	if given {
		p.read++
	}
	if given && text != byL2 {
		p.fail("rho", byL2)
	}
	return given
}

func (p *parameterReader) float(key string) float64 {
	p.read++
	x, err := strconv.ParseFloat(p.given[key], 64)
	if err != nil {
		p.fail(key, "a number")
	}
	return x
}

// done returns the first error. It also refuses extra parameters.
func (p *parameterReader) done() error {
	if p.err == nil && p.read != len(p.given) {
		p.err = fmt.Errorf("mechanism %s: it has %d parameters, not %d", p.name, p.read,
			len(p.given))
	}
	return p.err
}
