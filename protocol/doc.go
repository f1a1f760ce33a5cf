// Package protocol is about what is said between the daemons and operators, by
// whom, and within which limits: the proto and its generated code (pb), who a
// certificate says its holder is, mutual TLS, invitations, signatures, chunked
// transfer, errors that keep their meaning across the wire.
//
// It is for the daemons and the command line. It guarantees that
//
//   - both ends of every connection are authenticated, over TLS 1.3; identity
//     is the verified certificate's, never a message's;
//   - a private key is made where it is used and does not travel; the key of an
//     invitation does, and is good for one enrolment;
//   - what a transfer returns is whole: every chunk is in place and checked,
//     and plans, pools, receipts and releases are checked against their hash
//     and the coordinator's signature over their stored bytes;
//   - a body is never larger than its receiver said it may be, and no message to
//     the coordinator larger than MaxMessage;
//   - simulated plans, and plans whose δ would allow giving a unit away, do not
//     pass.
//
// It decides nothing else.
//
// # In which order to read it
//
// No file uses what a later one declares, but parts 2 and 6 each have a circle.
//
//  1. errors.go, line.go, chunk.go: failures, a connection, pieces.
//  2. Who is who, a circle: identity.go, signature.go, authority.go,
//     succession.go. tls.go is between them, pinned.go between servers.
//  3. Names and plans: tags.go, plan.go.
//  4. Signed documents: receipt.go, notice.go, release.go, aggregated.go (two
//     servers), helperline.go, shown.go (how far a ledger was).
//  5. sealing.go: what a helper's share is sealed with.
//  6. Calls: client.go and partystatus.go, a circle; administration.go,
//     amendment.go, pool.go. Joining: invitation.go, token.go.
//  7. By file: carried.go (its form), answer.go (from parties), pack.go (to
//     them), courier.go (its memory), carriedenrolment.go (joining).
package protocol

//go:generate ./generate
