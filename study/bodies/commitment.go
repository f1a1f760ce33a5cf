package bodies

import (
	"crypto/hmac"
	"crypto/sha256"

	"caucus/study"
)

// A body in clear that is added up begins with a commitment: 32 bytes that follow from the site's
// key and the plan, and that nobody else can guess. The coordinator keeps the SHA-256 of each body
// for ever, in its store and in the signed receipt, and forgets the body itself once the body is
// added up.
//
// Proof note. Let K be the site's key, P the plan's hash, B the exact numbers.
//   - Hiding. Who has the digest SHA-256(HMAC(K,"commitment\0"‖P) ‖ B), but neither K nor a body,
//     cannot test a guess of B: the first half of the hashed bytes is uniform to that reader, since
//     HMAC-SHA256 is a random function to everyone without K. Testing one guess means guessing 256
//     bits. This holds for each reader of the store who comes after the body is gone, and while the
//     body is encrypted (records.StudyKeys).
//   - Binding. The commitment is hashed in front of B and has a fixed length, so two bodies with
//     one digest are a collision of SHA-256. Receipts and repair stay as they are.
//   - Deterministic. A body that was lost and is made again has the same commitment, so equal
//     numbers give equal bytes and the first receipt.
//   - One commitment serves one plan, and a site sends one body a plan. Sites with different keys,
//     and plans of one site, have independent commitments; other uses of the key (package keyed)
//     hash other words.
//   - The bytes carry nothing but K and P, and are dropped when a body is parsed: no sum, release
//     or ledger line depends on them other than by the digest.
//   - A dishonest site can write any 32 bytes. It harms its own numbers' secrecy alone.
//
// Bodies that a site noised itself have no commitment: they are public, and free bytes would be a
// covert channel. Kept bodies have none: their order follows from their digests (study.Bodies).
const commitmentSize = sha256.Size

// committed reports whether a plan's bodies begin with a commitment.
func committed(p study.Plan) bool { return p.Noise.SumsInClear() && p.Form >= study.FormCommitted }

// ClearBody makes the body of a party whose numbers leave without noise. siteKey is the site's own
// secret (study.Inputs.ShardKey).
func (s Task) ClearBody(vector []int64, weight int64, siteKey []byte) ([]byte, error) {
	clear, err := s.Statistic.AppendClear(vector, weight)
	if err != nil || !committed(s.Plan()) {
		return clear, err
	}
	plan := s.Hash()
	mac := hmac.New(sha256.New, siteKey)
	mac.Write([]byte("commitment\x00"))
	mac.Write(plan[:])
	return append(mac.Sum(nil), clear...), nil
}
