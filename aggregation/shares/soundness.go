package shares

// How often a false proof passes, counted from the circuit that circl evaluates and the
// three elements that the servers compare; TestSoundness holds the degrees to circl, and
// TestFalseProofs counts them out in a field of 97 elements.
//
// Let x be the m = Cells·Bits elements that the two shares add up to, some of them no bit,
// and dⱼ = xⱼ(xⱼ−1), of which some is not 0. They are cut into c = ⌈m/k⌉ calls of k = ⌊√m⌋;
// the last is filled up with zeros, which are bits.
//
//  1. The circuit. V(r) = Σᵢ Σⱼ rᵢʲ·d₍ᵢₖ₊ⱼ₎, i over calls, j = 1..k: one random element a
//     call, and its powers. No monomial comes twice, so V is not the zero polynomial, and its
//     total degree is at most k. For r uniform in 𝔽ᶜ it is 0 with probability at most k/p
//     (Schwartz, Zippel). r is a hash of what the party chose, seeds, nonce and shares
//     included; for each choice it must hash again, so after h hashes some r that it has seen
//     gives 0 with probability at most h·k/p. The servers hash too, so a party cannot send an r.
//  2. The proof, where V(r) ≠ 0. Let n be the power of two above c. Each of the 2k wires is a
//     polynomial of degree below n, through a seed and its values at the calls, all of them
//     fixed by the shares and r; the calls' products at a point are G(w), G(a,b) = Σ aⱼbⱼ, of
//     degree at most 2(n−1). The party sends a polynomial q of that degree instead, and
//     the servers compare Σᵢ q(αⁱ), over the calls, with 0. If q = G(w) that sum is V(r) ≠ 0,
//     and the contribution is refused. Else q − G(w) has at most 2(n−1) roots, and it is asked
//     at a t that follows from the key: for the party uniform over the p − n elements that are
//     no root of unity of order n (those are refused). It passes with probability at most
//     2(n−1)/(p−n).
//
// Together h·k/p + 2(n−1)/(p−n). Check bounds m by 2²², so k ≤ 2¹¹, c < 2¹², n ≤ 2¹², and
// p−n > 2¹²⁷: below (h·2¹¹ + 2¹³)/2¹²⁷. Of a study with M parties that lie each has its own
// nonce and context, so a t of its own, and what the servers said of one tells nothing of
// another's; each is asked once under a key. The chance that any of them passes is at most M
// times as large. What a hash that is not a random function would add is not in it.
//
// The check of rows has its own term, 1/p (rows.go); a party that is wrong in both passes
// with at most the smaller.

// calls is the number of the circuit's multiplications, and order the power of two above: n.
func (c circuit) calls() (calls, order uint) {
	calls = (c.cells*c.bits + c.chunk - 1) / c.chunk
	for order = 1; order <= calls; order *= 2 {
	}
	return calls, order
}

// proof is the number of the proof's elements: seeds of two wires of each of chunk products, and a
// polynomial of degree 2·(n−1).
func (c circuit) proof() uint {
	_, n := c.calls()
	return 2*c.chunk + 2*(n-1) + 1
}
