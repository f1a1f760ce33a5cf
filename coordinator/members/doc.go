// Package members decides who may call a coordinator, and how much. All calls pass its Gate; operators
// invite and revoke through its Registrar.
//
// It guarantees:
//
//   - A caller's identity is the certificate of its connection, nothing else.
//   - A revoked certificate gets no connection, its calls under way end, and no transaction that began
//     before writes for it (Certificates.Within).
//   - Permissions and limits are checked on a call's header, before a byte of its message is read. So
//     nobody fills memory, log or disk, and no member takes another's share. Invitations and join tokens
//     have limits of their own.
//   - A certificate is stored before it leaves, and the same key gets the same one again, so a lost
//     reply costs nothing.
//   - A name belongs to one member: a join token gives nobody an existing member's name.
//
// certificates.go says which certificates hold. gate.go lets calls in, over the connections of
// connections.go, the messages of stream.go and the bodies of uploads.go. The Registrar is in
// invitations.go, tokens.go and enrolment.go.
package members
