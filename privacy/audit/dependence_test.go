package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// thrown returns uniform noise from −10 to 10.
func thrown(rng *rand.Rand, n int) Noise {
	out := Noise{Law: "a die", MaxProbability: 1. / 21, RunLength: 1}
	for range n {
		out.Numbers = append(out.Numbers, rng.Int64N(21)-10)
	}
	out.Score = signsOf(out.Numbers)
	return out
}

func signsOf(numbers []int64) []float64 {
	var out []float64
	for _, y := range numbers {
		out = append(out, float64(min(max(y, -1), 1)))
	}
	return out
}

// TestDependenceFinds: the audit finds noise that is dependent in each of these ways, and passes
// independent noise. Draws are seeded, so that no run misses a case by bad luck.
func TestDependenceFinds(t *testing.T) {
	const answers, length = 30, 60
	var before Noise
	for name, c := range map[string]struct {
		made func(rng *rand.Rand, k int) Noise
		want bool
	}{
		"independent":                {func(rng *rand.Rand, _ int) Noise { return thrown(rng, length) }, false},
		"answers of several lengths": {func(rng *rand.Rand, k int) Noise { return thrown(rng, k) }, false},
		"the answer before, moved": {func(rng *rand.Rand, k int) Noise {
			if k != 20 {
				before = thrown(rng, length)
				return before
			}
			n := thrown(rng, length)
			for j := range n.Numbers {
				n.Numbers[j] = before.Numbers[j] + 3
			}
			return n
		}, true},
		"a half that is the other turned round": {func(rng *rand.Rand, _ int) Noise {
			n := thrown(rng, length)
			for j := range length / 2 {
				n.Numbers[length/2+j] = -n.Numbers[j]
			}
			n.Score = signsOf(n.Numbers)
			return n
		}, true},
		"signs alone": {func(rng *rand.Rand, _ int) Noise {
			n := thrown(rng, length)
			for j := 1; j < length; j += 2 {
				n.Numbers[j] = max(n.Numbers[j], -n.Numbers[j]) * int64(n.Score[j-1])
			}
			n.Score = signsOf(n.Numbers)
			return n
		}, true},
		"sizes alone": {func(rng *rand.Rand, _ int) Noise {
			n := thrown(rng, length)
			for j := range n.Numbers {
				n.Numbers[j] *= int64(1 + j%length)
			}
			return n
		}, true},
	} {
		rng := rand.New(rand.NewPCG(8, 9))
		var all []Noise
		for k := range answers {
			all = append(all, c.made(rng, k))
		}
		f, err := DefaultDependenceTest().Run(all)
		if err != nil {
			t.Fatal(err)
		}
		if f.Dependent != c.want {
			t.Errorf("%s: dependent is %t, the nearest %.2f: %s", name, f.Dependent, f.Share, f.By)
		}
	}
}

// TestDependenceFalseAlarms: on independent noise, 150 audits with a false-alarm rate of 0.2 raise
// 30 alarms on average at most; 75 or more have probability below 1e-14 (binomial tail).
func TestDependenceFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	raised := 0
	for range 150 {
		var all []Noise
		for range 8 {
			all = append(all, thrown(rng, 40))
		}
		f, err := DependenceTest{FalseAlarm: 0.2}.Run(all)
		if err != nil {
			t.Fatal(err)
		}
		if f.Dependent {
			raised++
		}
	}
	t.Logf("%d of 150 audits raise an alarm at a false-alarm rate of 0.2", raised)
	if raised >= 75 {
		t.Errorf("%d of 150 audits of independent noise raise an alarm, 30 are allowed for", raised)
	}
}

// TestWordsUpToShiftAndSign: two words are the same if their differences are equal, or negated, and
// only then.
func TestWordsUpToShiftAndSign(t *testing.T) {
	word := []int64{4, 4, 1, 9, -3}
	for name, c := range map[string]struct {
		change func(int64) int64
		same   bool
	}{
		"itself":       {func(y int64) int64 { return y }, true},
		"moved":        {func(y int64) int64 { return y - 7 }, true},
		"turned round": {func(y int64) int64 { return -y }, true},
		"both":         {func(y int64) int64 { return 5 - y }, true},
		"doubled":      {func(y int64) int64 { return 2 * y }, false},
		"one changed":  {func(y int64) int64 { return max(y, -2) }, false},
	} {
		other := slices.Clone(word)
		for j, y := range other {
			other[j] = c.change(y)
		}
		if sameWord(word, other) != c.same || (wordOf(word) == wordOf(other)) != c.same {
			t.Errorf("%s: %v and %v: the same is %t, and so their hashes", name, word, other, sameWord(word, other))
		}
	}
}

func TestDependenceRefuses(t *testing.T) {
	good := thrown(rand.New(rand.NewPCG(1, 1)), 4)
	if _, err := (DependenceTest{}).Run([]Noise{good}); err == nil {
		t.Error("a false-alarm rate of 0 was accepted")
	}
	for name, change := range map[string]func(*Noise){
		"a score too few":   func(n *Noise) { n.Score = n.Score[1:] },
		"a score above 1":   func(n *Noise) { n.Score[2] = 1.5 },
		"a score of NaN":    func(n *Noise) { n.Score[2] = math.NaN() },
		"a chance of 0":     func(n *Noise) { n.MaxProbability = 0 },
		"a chance of NaN":   func(n *Noise) { n.MaxProbability = math.NaN() },
		"runs of less than": func(n *Noise) { n.RunLength = -1 },
	} {
		bad := good
		bad.Score = slices.Clone(good.Score)
		change(&bad)
		if _, err := DefaultDependenceTest().Run([]Noise{good, bad}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, answers := range map[string][]Noise{"no answers": nil,
		"empty answers": {{}, {RunLength: 1}}} {
		if f, err := DefaultDependenceTest().Run(answers); err != nil || f.Dependent ||
			f.Numbers != 0 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}
