// Package server is the servers' half of package protocol: the certificate authority by which a
// coordinator knows its members, TLS as the coordinator answers it, the private keys that open
// answers and helpers' shares, and the keys that replicas hand to each other. Parties use none of
// it, so no agent contains it.
//
// It guarantees that whoever calls is the holder of a key that the authority certified, and that no
// private key leaves the machine that made it but the key of an invitation.
//
// Read authority.go first, then invitation.go, tls.go, sealing.go and replicas.go.
package server
