// Package shares hides contributions from both servers. An integer vector is split into two shares,
// one for the coordinator and one for a helper run by another organisation, with a proof that the
// vector has a public form. One share alone is uniformly random. Each server sums its shares; the
// two sums add up exactly to the sum of the vectors.
//
// The proof is Prio3SumVec of draft-irtf-cfrg-vdaf by github.com/cloudflare/circl (Boneh et al.,
// "Zero-knowledge proofs on secret-shared data via fully linear PCPs", 2019): each cell is an
// integer of a given number of bits. A further check covers each row of ballots of more than two
// classes (proof in rows.go). A contribution goes through these steps:
//
//	parts, err := form.Split(context, vector, rand.Reader)  // the party: one part for each server
//	p, err := form.Prepare(key, context, role, part)        // each server, once under one key
//	share, err := p.Finish(other)                           // each server, with the other's message
//	err = sum.Add(share)                                    // each server; then noise, on the sum
//
// # What it guarantees
//
//   - Secrecy: neither server learns anything about an honest party's vector except its form. This
//     holds whatever the other parties do and even if the server deviates from the protocol,
//     provided it prepares each part once, under one key that the party's random numbers do not
//     depend on. The sizes of parts, messages and shares follow from the form alone.
//   - Soundness: if both servers follow the protocol, Finish returns a share only of a vector of
//     the form. A party that computes h hashes while making a false proof passes with probability
//     at most (h·2¹¹ + 2¹³)/2¹²⁷, which is 2⁻⁵² for h = 2⁶⁴ (derived in soundness.go; for the check
//     of rows see rows.go). Finish returns no share for parts of another party or study, for cut or
//     swapped parts, and for a part that only one server received.
//   - Exactness: VectorForm.Check proves that sums do not wrap for any number of parties that a
//     plan allows, so order and grouping change nothing.
//
// # What its caller must do
//
//   - Draw the key after the servers committed to it and before any part is seen, fresh for each
//     study. No party may know it.
//   - Prepare each (plan, party) once. Preparing the same part under a second key reveals something
//     about the party's vector; under the same key it gives the same message.
//   - Carry each part only to its server, and messages over a channel that both servers
//     authenticate.
//   - Add noise to a sum before it leaves its server: both sums together are the sum of the
//     vectors.
//
// A server that deviates from the protocol can spoil the sum or have a party refused. Versions that
// implement different drafts need not interoperate.
package shares
