package privacy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy/audit"
	"caucus/privacy/audit/laws"
)

// door is a ledger, or a mistaken replacement of one.
type door interface {
	Release(ctx context.Context, id string, s Sensitive, m Mechanism) (Published, error)
}

func opened() door {
	l, err := Open(NewMemoryJournal(), Config{})
	if err != nil {
		panic(err)
	}
	return l
}

// mistaken is a door that draws with its own function, without a ledger.
type mistaken func(id string, s *secret, m Mechanism) []int64

func (f mistaken) Release(_ context.Context, id string, s Sensitive,
	m Mechanism) (Published, error) {
	return Published{ID: id, Mechanism: m.Name(), Parameters: m.parameters(), Bound: s.Bound(),
		Values: f(id, s.open(), m)}, nil
}

// answer is a publication with the vector that was released.
type answer struct {
	Published Published
	Of        []int64
}

// noise recovers the noise that was added.
func (a answer) noise() (audit.Noise, error) {
	p := a.Published
	return laws.KnownRelease{Mechanism: p.Mechanism, Parameters: p.Parameters,
		Weight: p.Bound.Weight,
		Block:  p.Bound.Block, Values: p.Values, Of: a.Of}.Noise()
}

// looked tests answers for dependent noise.
func looked(d audit.DependenceTest, answers []answer) (audit.DependenceFinding, error) {
	var noise []audit.Noise
	for _, a := range answers {
		n, err := a.noise()
		if err != nil {
			return audit.DependenceFinding{}, err
		}
		noise = append(noise, n)
	}
	return d.Run(noise)
}

// answersOf releases one vector many times: at two parties, in the given number of studies with
// four outputs each. In every other study, the charge is reserved first where the door is a ledger.
func answersOf(open func() door, trial Trial, studies int) []answer {
	var out []answer
	for range 2 {
		d := open()
		for study := range studies {
			for output := range 4 {
				id := fmt.Sprintf("study-%d/output-%d", study, output)
				if l, ok := d.(*Ledger); ok && study%2 == 1 {
					if err := l.Reserve(context.Background(), id,
						Terms{Mechanism: trial.Mechanism, Bound: trial.Bound,
							Length: len(trial.Data[0])}); err != nil {
						panic(err)
					}
				}
				p := must(d.Release(context.Background(), id,
					must(NewSensitive(trial.Data[0], trial.Bound)), trial.Mechanism))
				out = append(out, answer{p, trial.Data[0]})
			}
		}
	}
	return out
}

// realAnswers returns honest answers for each of RealTrials, of 16 studies or, in long tests, 25.
var realAnswers = sync.OnceValue(func() (all [][]answer) {
	studies := 16
	if testlevel.Long() {
		studies = 25
	}
	for _, trial := range must(RealTrials()) {
		all = append(all, answersOf(opened, trial, studies))
	}
	return all
})

// TestNoiseIsIndependent: through the ledger that Open makes, every mechanism at its real
// calibration, on 240 numbers, draws noise that is independent between numbers, runs, outputs,
// studies and parties. False alarms: 1e-12 for each of 8.
func TestNoiseIsIndependent(t *testing.T) {
	for k, trial := range must(RealTrials()) {
		f := must(looked(audit.DefaultDependenceTest(), realAnswers()[k]))
		t.Logf("%-20s %-52s %6d numbers, %6d tests, nearest %.2f: %s", trial.Mechanism.Name(), trial.Pair, f.Numbers, f.Tests, f.Share, f.By)
		if f.Dependent {
			t.Errorf("%s, %s: the noise hangs together: %s", trial.Mechanism.Name(), trial.Pair,
				f.By)
		}
	}
}

// realTrial returns the first real trial of a mechanism.
func realTrial(t testing.TB, name string) Trial {
	t.Helper()
	for _, trial := range must(RealTrials()) {
		if trial.Mechanism.Name() == name {
			return trial
		}
	}
	t.Fatalf("no trial of %s", name)
	return Trial{}
}

func addTo(v, noise []int64) []int64 {
	out := slices.Clone(v)
	for j := range out {
		out[j] += noise[j]
	}
	return out
}

func noiseFor(s *secret, m Mechanism, d dice) []int64 {
	return drawOf(m, make([]int64, len(s.values)), s.bound, d)
}

// keptRuns samples K-norm noise, but from the third run on, every other run repeats the run before.
func keptRuns(s *secret, m Mechanism, d dice) []int64 {
	noise := noiseFor(s, m, d)
	width := m.(KNorm).width(0, len(noise))
	for at := 2 * width; at+width <= len(noise); at += 2 * width {
		copy(noise[at:at+width], noise[at-width:at])
	}
	return addTo(s.values, noise)
}

// hashDice seeds dice from the given parts, which leave out something that the seed needs.
func hashDice(parts ...any) dice {
	return newDice(rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, parts...))))
}

// dependentDoors lists mistakes that make noise dependent, each with a mechanism to try it on.
// Their randomness is seeded, so that no run misses a mistake by bad luck.
func dependentDoors() map[string]struct {
	mechanism string
	open      func() door
} {
	type made = struct {
		mechanism string
		open      func() door
	}
	fresh := seededDice(77)
	one := func(f mistaken) func() door { return func() door { return f } }
	cached := map[string][]int64{}
	var sizes, last, buffer []int64
	parties, drawn, failed, served := 0, 0, 0, 0
	return map[string]made{
		"K: every other run keeps the noise of the run before": {"k-norm", one(func(_ string, s *secret, m Mechanism) []int64 { return keptRuns(s, m, fresh) })},
		"a cache of noise by mechanism and length": {"discrete-laplace",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				key := fmt.Sprint(m.Name(), m.parameters(), len(s.values))
				if cached[key] == nil {
					cached[key] = noiseFor(s, m, fresh)
				}
				return addTo(s.values, cached[key])
			})},
		"outputs of one study share their stream": {"k-norm",
			one(func(id string, s *secret, m Mechanism) []int64 {
				study, _, _ := strings.Cut(id, "/")
				parties++
				return addTo(s.values,
					noiseFor(s, m, hashDice("a key of each call that is not", parties/4, study)))
			})},
		"a second study on the same pool draws the same": {"discrete-gaussian",
			one(func(id string, s *secret, m Mechanism) []int64 {
				_, output, _ := strings.Cut(id, "/")
				return addTo(s.values, noiseFor(s, m, hashDice("the pool's digest", output)))
			})},
		"parties begin with the same seed": {"rounded-gaussian", func() door {
			own := seededDice(5) // such as that of a machine that was copied
			return mistaken(func(_ string, s *secret, m Mechanism) []int64 {
				return addTo(s.values, noiseFor(s, m, own))
			})
		}},
		"two halves drawn at once from one state": {"discrete-gaussian",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				drawn++
				return addTo(s.values,
					append(noiseFor(&secret{values: s.values[:120],
						bound: Bound{Weight: s.bound.Weight[:120]}}, m, hashDice(drawn)),
						noiseFor(&secret{values: s.values[120:],
							bound: Bound{Weight: s.bound.Weight[120:]}}, m, hashDice(drawn))...))
			})},
		"the second half is the first turned round": {"discrete-laplace",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				noise := noiseFor(s, m, fresh)
				for j := range len(noise) / 2 {
					noise[len(noise)-1-j] = -noise[j]
				}
				return addTo(s.values, noise)
			})},
		"half of the variance is one number for all": {"rounded-gaussian",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				half := RoundedGaussian{new(big.Rat).Mul(m.(RoundedGaussian).Deviation,
					big.NewRat(7071, 10_000))}
				noise, common := noiseFor(s, half, fresh), noiseFor(s, half, fresh)[0]
				for j := range noise {
					noise[j] += common
				}
				return addTo(s.values, noise)
			})},
		"sizes of a table drawn once, signs fresh": {"k-norm",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				if sizes == nil {
					sizes = noiseFor(s, m, fresh)
				}
				noise := slices.Clone(sizes)
				for j := range noise {
					noise[j] *= 1 - 2*int64(fresh.below(2))
				}
				return addTo(s.values, noise)
			})},
		"one set's noise for all sets": {"zero-sum-laplace",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				noise := noiseFor(s, m, fresh)
				for at := 3; at < len(noise); at += 3 {
					copy(noise[at:at+3], noise[:3])
				}
				return addTo(s.values, noise)
			})},
		"a coin a label, kept between studies": {"randomised-response",
			one(func(id string, s *secret, m Mechanism) []int64 {
				var out []int64
				for j, v := range s.values {
					out = append(out, drawOf(m, []int64{v}, s.bound, hashDice("label", j, v))...)
				}
				return out
			})},
		"an urn that goes on from where the set before left it": {"laplace-prior", one(func(_ string, s *secret, m Mechanism) []int64 {
			out := drawOf(m, s.values, s.bound, fresh)
			for at := 3; at < len(out); at += 3 {
				for j := range 3 {
					out[at+j] = (out[at+j] + out[at+j-3]) / 2
				}
			}
			return out
		})},
		"sixteen numbers' bits served twice, once": {"discrete-gaussian",
			one(func(_ string, s *secret, m Mechanism) []int64 {
				noise := noiseFor(s, m, fresh)
				switch served++; served {
				case 33:
					buffer = slices.Clone(noise[100:116])
				case 180:
					copy(noise[36:], buffer)
				}
				return addTo(s.values, noise)
			})},
		"a release whose commit failed leaves its noise to the next": {"k-norm", one(func(_ string, s *secret, m Mechanism) []int64 {
			if failed++; failed%60 != 0 {
				last = noiseFor(s, m, fresh)
			}
			return addTo(s.values, last)
		})},
	}
}

// TestDependenceMutants: the audit finds each of these mistakes.
func TestDependenceMutants(t *testing.T) {
	doors := dependentDoors()
	for _, name := range slices.Sorted(maps.Keys(doors)) { // in order: they share their dice
		m := doors[name]
		trial := realTrial(t, m.mechanism)
		f := must(looked(audit.DefaultDependenceTest(), answersOf(m.open, trial, 25)))
		t.Logf("%s: %.2f, %s", name, f.Share, f.By)
		if !f.Dependent {
			t.Errorf("%s is not found: the nearest is %.2f, %s", name, f.Share, f.By)
		}
	}
}

// TestAuditSeesRuns: if runs repeat the noise of the run before, the lower bound on ε exceeds the
// claim too: two numbers have the same noise, only one of them moves between neighbours, and their
// difference shows which neighbour it was. On honest noise the bound stays below the claim.
func TestAuditSeesRuns(t *testing.T) {
	trial := realTrial(t, "k-norm")
	fresh := seededDice(4)
	secrets := [2]*secret{}
	for side, v := range trial.Data {
		secrets[side] = &secret{values: v, bound: trial.Bound}
	}
	// the same distance, but every other run moves
	for j := range secrets[1].values[:realNumbers/2] {
		if j/widestRun%2 == 0 {
			secrets[1].values[j] = 0
		}
	}
	for name, draw := range map[string]func(*secret, Mechanism, dice) []int64{
		"honest": func(s *secret, m Mechanism, d dice) []int64 { return drawOf(m, s.values, s.bound, d) }, "kept runs": keptRuns,
	} {
		f := audited(t, 300, 0, func(n int) []float64 {
			return answerOf(draw(secrets[n], trial.Mechanism, fresh), nil)
		})
		t.Logf("%s: claims %.3f, shows %.3f by %s", name, trial.Claim.Epsilon, f.Epsilon, f.Event)
		if f.Exceeds(trial.Claim.Epsilon) != (name == "kept runs") {
			t.Errorf("%s: claims %.3f, shows %.3f by %s", name, trial.Claim.Epsilon, f.Epsilon,
				f.Event)
		}
	}
}

// TestAuditReal: no mechanism reveals more than its proof allows at its real calibration. Samples
// cannot see a move of all numbers at once, nor δ = 10⁻⁶: TestDrawIsTrials computes the laws
// instead, and TestNoiseIsIndependent tests dependence. The bound of fewer than 300 samples is
// below every claim, so k-norm and dirichlet, whose draws are slow, are left to long tests. False
// alarms: 1e-12 for each of 8.
func TestAuditReal(t *testing.T) {
	many, some := testlevel.N(t, 800, 3000), testlevel.N(t, 300, 500)
	samples := map[string]int{"discrete-laplace": many, "randomised-response": many,
		"zero-sum-laplace": many}
	for _, trial := range must(RealTrials()) {
		name := trial.Mechanism.Name()
		if (name == "k-norm" || name == "dirichlet") && !testlevel.Long() {
			continue
		}
		a := audit.Default()
		a.Samples, a.Delta, a.FalseAlarm = cmp.Or(samples[name], some), trial.Claim.Delta, 1e-12
		f := must(a.Run(audit.IntegerDraw(trial.Draws(system{}))))
		t.Logf("%-20s %-52s claims %.3f at δ = %.0e, shows %.3f by %s", trial.Mechanism.Name(), trial.Pair, trial.Claim.Epsilon, trial.Claim.Delta, f.Epsilon, f.Event)
		if f.Exceeds(trial.Claim.Epsilon) {
			t.Errorf("%s, %s: ε is at least %.3f by %s, its proof says %.3f", trial.Mechanism.Name(), trial.Pair, f.Epsilon, f.Event, trial.Claim.Epsilon)
		}
	}
}

// TestDependenceFalseAlarms: on honest noise, 150 audits with a false-alarm rate of 0.2 raise 30
// alarms on average at most; 75 or more have probability below 1e-14 (binomial tail).
func TestDependenceFalseAlarms(t *testing.T) {
	fresh := seededDice(31)
	raised := 0
	trials := []Trial{realTrial(t, "discrete-laplace"), realTrial(t, "randomised-response"),
		realTrial(t, "zero-sum-laplace")}
	for k := range 150 {
		trial := trials[k%3]
		open := func() door {
			return mistaken(func(_ string, s *secret, m Mechanism) []int64 {
				return drawOf(m, s.values, s.bound, fresh)
			})
		}
		if must(looked(audit.DependenceTest{FalseAlarm: 0.2},
			answersOf(open, trial, 1))).Dependent {
			raised++
		}
	}
	t.Logf("%d of 150 audits raise an alarm at a false-alarm rate of 0.2", raised)
	if raised >= 75 {
		t.Errorf("%d of 150 audits of honest noise raise an alarm, 30 are allowed for", raised)
	}
}

// TestScoresHaveMeanZero checks the premise of audit.DependenceTest: over many answers the mean
// score of each number is 0, and no value comes more often than its stated chance. By Hoeffding's
// inequality, a mean of n scores in [−1,1] is beyond t with probability 2e^{−nt²/2}, a frequency
// with 2e^{−2nt²}: 5e-13 for each of 18.
func TestScoresHaveMeanZero(t *testing.T) {
	unknown := realTrial(t, "randomised-response")
	unknown.Data[0] = slices.Repeat([]int64{0, 3, -1}, realNumbers/3) // two of three have no label
	all := append(slices.Clone(realAnswers()), answersOf(opened, unknown, 12))
	for k, trial := range append(must(RealTrials()), unknown) {
		var sum, n float64
		often := map[int64]float64{}
		var chance float64
		for _, a := range all[k] {
			look := must(a.noise())
			chance = look.MaxProbability
			for j, s := range look.Score {
				sum, n = sum+s, n+1
				often[look.Numbers[j]]++
			}
		}
		if limit := hoeffding(n, 5e-13); sum/n > limit || -sum/n > limit {
			t.Errorf("%s: the mean score of %.0f numbers is %.4f, at most %.4f", trial.Mechanism.Name(), n, sum/n, limit)
		}
		most := 0.
		for _, k := range often {
			most = max(most, k/n)
		}
		if most > chance+hoeffding(n, 5e-13)/2 {
			t.Errorf("%s: a value has share %.4f, its chance is %.4f at most", trial.Mechanism.Name(), most, chance)
		}
		t.Logf("%-20s mean score %.4f of %.0f numbers; the likeliest value %.4f, at most %.4f", trial.Mechanism.Name(), sum/n, n, most, chance)
	}
}

// counted is a mistaken door whose random stream is seeded by a public counter.
func counted() door {
	counter := uint64(0)
	return mistaken(func(_ string, s *secret, m Mechanism) []int64 {
		counter++
		return addTo(s.values, noiseFor(s, m,
			newDice(rand.NewChaCha8([32]byte(binary.BigEndian.AppendUint64(make([]byte, 24),
				counter))))))
	})
}

// hoeffding returns the deviation that a mean of n numbers in [−1,1] exceeds with probability
// level.
func hoeffding(n, level float64) float64 { return math.Sqrt(2 * math.Log(2/level) / n) }
