// Package members is about who may call a coordinator, and how much. It is for the
// coordinator, all of whose calls pass its Gate, and for operators, who invite and
// revoke by its Registrar.
//
// It guarantees that
//
//   - who calls is known by the certificate of the connection alone;
//   - one that was revoked gets no connection, its calls under way end, and no
//     transaction that began before writes for it (Certificates.Within);
//   - who may call, and how much, is decided on a call's header, before a byte of its
//     message is read: nobody fills memory, log or disk, and no member takes what is
//     another's; an invitation and a join token are counted by themselves;
//   - a certificate is stored before it leaves, and the same key gets the same one
//     again, so an answer that was lost costs nothing;
//   - a name is one member's: a join token gives nobody the name of who is there.
//
// certificates.go says whose certificates hold; gate.go lets calls in, over the
// connections of connections.go, the messages of stream.go and the bodies of uploads.go;
// the Registrar is in invitations.go, tokens.go and enrolment.go.
package members
