package shares

import (
	"math/rand/v2"
	"testing"

	"caucus/internal/testlevel"
)

// TestSoundness: every form that passes Check has degrees within those of the proof in
// soundness.go, and circl's circuit has these degrees.
func TestSoundness(t *testing.T) {
	for m := 1; m <= maxProved; m++ {
		c := VectorForm{Cells: m, CellBits: 1}.circuit(ProofContext{})
		if calls, n := c.calls(); c.chunk > 1<<11 || n > 1<<12 || n <= calls || n > 2*calls ||
			calls*c.chunk < uint(m) {
			t.Fatalf("%d bits: chunk %d, %d calls, order %d", m, c.chunk, calls, n)
		}
	}
	for name, f := range forms() {
		c := f.circuit(ProofContext{})
		vdaf := must(c.open())
		params := vdaf.Params()
		calls, _ := c.calls()
		// One joint random element a call, an element of query randomness; the verifier gets the
		// output, both wires of each product, and the polynomial.
		if params.JointRandLength() != calls || params.QueryRandLength() != 2 ||
			params.ProofLength() != c.proof() || params.VerifierLength() != 2+2*c.chunk {
			t.Errorf("%s: circl's circuit is another: %+v, want %d calls of %d", name, params, calls, c.chunk)
		}
	}
}

// TestFalseProofs counts, in the field of 97 elements, for how many values of the joint randomness
// the circuit is 0 though a bit is wrong, and at how many points the best false proof passes: never
// more than the degrees allow, and as many for some.
func TestFalseProofs(t *testing.T) {
	const p, chunk, calls, order = 97, 3, 3, 4
	alpha := 22 // 22² = −1: of order 4
	power := func(x, e int) int {
		y := 1
		for range e {
			y = y * x % p
		}
		return y
	}
	if power(alpha, 2) != p-1 {
		t.Fatal("no root of unity")
	}
	circuit := func(x []int, r []int) (v int) {
		for i, bit := range x {
			v += power(r[i/chunk], i%chunk+1) * bit % p * (bit + p - 1) % p
		}
		return v % p
	}
	rng := rand.New(rand.NewPCG(4, 4))
	most := 0
	for try := range testlevel.N(t, 15, 60) {
		x := make([]int, chunk*calls)
		for i := range x {
			x[i] = rng.IntN(2)
		}
		for range 1 + try%3 {
			x[rng.IntN(len(x))] = 2 + rng.IntN(p-2)
		}
		passes := 0
		for r := range p * p * p {
			if circuit(x, []int{r % p, r / p % p, r / p / p}) == 0 {
				passes++
			}
		}
		if passes > chunk*p*p {
			t.Errorf("%v passes for %d of %d, at most %d should do", x, passes, p*p*p, chunk*p*p)
		}
		most = max(most, passes)
	}
	if most <= p*p { // a circuit linear in r could not be 0 so often
		t.Errorf("at most %d pass: the search is too weak to say anything", most)
	}
	// e = q − G(w) is any polynomial of degree 2(order−1) with the sum −V(r) ≠ 0 over the calls.
	// Count the points at which it passes.
	degree := 2 * (order - 1)
	most = 0
	for range 20_000 {
		e := []int{1 + rng.IntN(p-1)} // leading coefficient, then roots
		for range degree {
			root := rng.IntN(p)
			next := make([]int, len(e)+1)
			for i, c := range e {
				next[i] = (next[i] + c) % p
				next[i+1] = (next[i+1] + c*(p-root)) % p
			}
			e = next
		}
		at := func(z int) (v int) {
			for _, c := range e {
				v = (v*z + c) % p
			}
			return v
		}
		sum, passes := 0, 0
		for i := 1; i <= calls; i++ {
			sum += at(power(alpha, i))
		}
		for z := range p {
			if power(z, order) != 1 && at(z) == 0 {
				passes++
			}
		}
		if sum%p == 0 {
			continue // it is refused, or changes nothing
		}
		if passes > degree {
			t.Fatalf("a false proof passes at %d points, at most %d should do", passes, degree)
		}
		most = max(most, passes)
	}
	if most != degree {
		t.Errorf("the best false proof found passes at %d points, the bound of %d is not met", most, degree)
	}
}
