// Package shares is about contributions that nobody sees: an integer vector is split
// into two shares, one for the coordinator and one for a helper run by another
// organisation, with a proof that it is of a public form. One share alone is uniformly
// random. Each server sums the shares it holds; the two sums add up to the sum of the
// vectors, to the integer.
//
// It is for the two servers, for parties, and for researchers who want the split alone.
// The proof is Prio3SumVec of draft-irtf-cfrg-vdaf by github.com/cloudflare/circl (Boneh
// et al., "Zero-knowledge proofs on secret-shared data via fully linear PCPs", 2019): each
// cell is a number of so many bits. Ballots of more than two classes are checked further,
// row by row (rows.go has the argument). The order of a contribution:
//
//	parts, err := form.Split(context, vector, rand.Reader)  // the party: one part for each server
//	p, err := form.Prepare(key, context, role, part)        // each server, once under one key
//	share, err := p.Finish(other)                           // each server, with the other's message
//	err = sum.Add(share)                                    // each server; then noise, on the sum
//
// # What it guarantees
//
//   - Of one honest party's vector neither server learns anything beyond its form, whatever
//     the other parties do and whether or not it follows the protocol itself, if it
//     prepares each part once, under one key that the party's random numbers do not depend
//     on. The sizes of parts, messages and shares follow from the form alone.
//   - Where both servers follow the protocol, Finish gives a share only of a vector of the
//     form. A party that computes h hashes while it makes a false proof passes with a chance
//     of at most (h·2¹¹ + 2¹³)/2¹²⁷, 2⁻⁵² for 2⁶⁴ of them (soundness.go derives it). For the
//     check of rows see rows.go.
//     A part of another party, of another study, a part that was cut or swapped, or that
//     only one server got, gives no share.
//   - Sums are exact: Form.Check proves that no number of parties that a plan allows
//     makes them wrap, so order and grouping change nothing.
//
// # What its caller must do
//
//   - Draw the key after the servers committed to it and before any part is seen, fresh for
//     each study, and tell no party.
//   - Prepare each (plan, party) once. The same part asked under a second key tells about the
//     party's vector; asked again under the same key it gives the same message.
//   - Carry each part to its server only, and messages over a channel that both servers
//     authenticate.
//   - Add noise to a sum before it leaves its server: a sum of shares together with the
//     other's is the sum of the vectors.
//
// A server that does not follow the protocol can spoil the sum or have a party refused.
// It promises no interoperability between drafts of the proof.
package shares
