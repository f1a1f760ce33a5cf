// Package members decides who may call a coordinator, and how much. All calls pass its CallGate;
// operators invite and revoke through its Registrar.
//
// It guarantees:
//
//   - A caller's identity is the certificate of its connection, and nothing else.
//   - A revoked certificate gets no connection, and its open calls end. No transaction that began
//     before the revocation writes for it (Certificates.CheckInTransaction).
//   - Permissions and limits are checked on a call's header, before a byte of its message is read.
//     So nobody fills memory, log or disk, and no member uses another's share. Invitations and join
//     tokens have their own limits.
//   - A certificate is stored before it is sent, and the same key gets the same certificate again,
//     so a lost reply does no harm.
//   - A name belongs to one member: a join token gives nobody an existing member's name.
//
// certificates.go decides which certificates are valid. gate.go admits calls, with the connections
// of connections.go, the messages of stream.go and the bodies of uploads.go. The Registrar is in
// invitations.go, tokens.go and enrolment.go.
package members
