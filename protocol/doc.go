// Package protocol defines the messages, documents and files that daemons and operators exchange:
// the proto and its generated code (pb), identities in certificates, mutual TLS, invitations,
// signatures, chunked transfer, and errors that keep their meaning across the wire.
//
// It guarantees:
//
//   - Both ends of every connection are authenticated over TLS 1.3, by the identity in the verified
//     certificate, never by an identity in a message.
//   - A private key is made where it is used and never travels. The only exception is an
//     invitation's key, which serves for one enrolment.
//   - A transfer returns all data or an error. Plans, pools, receipts and releases are checked
//     against their hash and against the coordinator's signature over their stored bytes.
//   - A body is no larger than its receiver allows, and a message to the coordinator no larger than
//     MaxMessage.
//   - Simulated plans are refused, and so are plans whose δ would allow publishing a unit.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except that files of part 2 use each other, and so do
// those of part 6.
//
//  1. errors.go, line.go, chunk.go: failures, a connection, pieces.
//  2. Identities: identity.go, privatekey.go, signature.go, succession.go. tls.go is between them.
//  3. Plans: plan.go.
//  4. Signed documents: receipt.go, notice.go, release.go, aggregated.go (two servers),
//     helperline.go, shown.go (proves how far a ledger had come), addresses.go (of replicas).
//  5. Two servers: sealing.go (encryption of a helper's share), keycode.go (codes of keys).
//  6. Calls: client.go, partystatus.go, pool.go. Joining: invitation.go, token.go.
//  7. Carried files: carried.go (the format), answer.go (from parties), pack.go (to parties),
//     courier.go (what a party keeps), carriedenrolment.go (joining).
package protocol

//go:generate ./generate
