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
package protocol

//go:generate ./generate
