package shares

// The probability that a false proof passes, from the circuit that circl evaluates and the three
// elements that the servers compare. TestSoundness checks the degrees against circl, and
// TestFalseProofs counts false proofs in a field of 97 elements.
//
// Let x be the m = Cells·Bits elements that the two shares add up to, some of them not bits, and dⱼ
// = xⱼ(xⱼ−1), some of them not 0. They are cut into c = ⌈m/k⌉ calls of k = ⌊√m⌋; zeros, which are
// bits, fill up the last call.
//
//  1. The circuit. V(r) = Σᵢ Σⱼ rᵢʲ·d₍ᵢₖ₊ⱼ₎, i over calls, j = 1..k: powers of one random element
//     per call. No monomial occurs twice, so V is not the zero polynomial, and its total degree is
//     at most k. For r uniform in 𝔽ᶜ it is 0 with probability at most k/p (Schwartz, Zippel). r is
//     a hash of what the party chose, including seeds, nonce and shares. Each new choice needs a
//     new hash, so after h hashes some r that the party has seen gives 0 with probability at most
//     h·k/p. The servers hash too, so a party cannot send an r.
//  2. The proof, if V(r) ≠ 0. Let n be the power of two above c. Each of the 2k wires is a
//     polynomial of degree below n, through a seed and its values at the calls, all fixed by the
//     shares and r. The calls' products at a point are G(w), G(a,b) = Σ aⱼbⱼ, of degree at most
//     2(n−1). The party sends a polynomial q of that degree for G(w), and the servers compare Σᵢ
//     q(αⁱ), over the calls, with 0. If q = G(w), this sum is V(r) ≠ 0, and the contribution is
//     refused. Otherwise q − G(w) has at most 2(n−1) roots. It is queried at a point t that the key
//     determines: to the party t is uniform over the p − n elements that are not roots of unity of
//     order n (those are refused). So q passes with probability at most 2(n−1)/(p−n).
//
// Together h·k/p + 2(n−1)/(p−n). Check bounds m by 2²², so k ≤ 2¹¹, c < 2¹², n ≤ 2¹², and p−n >
// 2¹²⁷: below (h·2¹¹ + 2¹³)/2¹²⁷. If M parties of a study lie, each has its own nonce and context,
// hence its own t. The servers' replies about one tell nothing about the others, and each is
// queried once under a key. So the probability that any of them passes is at most M times as large.
// The hash is treated as a random function.
//
// The check of rows has its own term, 1/p (rows.go). A party that cheats on both passes with at
// most the smaller probability.

// calls returns c of the proof above, the circuit's number of calls, and n (order), the power of
// two above c.
func (c circuit) calls() (calls, order uint) {
	calls = (c.cells*c.bits + c.chunk - 1) / c.chunk
	for order = 1; order <= calls; order *= 2 {
	}
	return calls, order
}

// proof returns the number of elements in a proof: seeds of 2·chunk wires, and a polynomial of
// degree 2·(n−1).
func (c circuit) proof() uint {
	_, n := c.calls()
	return 2*c.chunk + 2*(n-1) + 1
}
