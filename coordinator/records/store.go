package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// Store keeps everything but the ledger. One suite of tests checks every Store.
type Store interface {
	// Update runs fn in one exclusive transaction, and returns nil only once the writes survive a
	// crash of the machine. If fn fails, nothing of it remains. After an error of the commit the
	// writes may be stored or not, so read again before going on.
	Update(ctx context.Context, fn func(Tx) error) error
	// View runs fn on a snapshot; fn must not write. View and Update do not wait for each other.
	View(ctx context.Context, fn func(Tx) error) error
	// Scrub overwrites the bytes of deleted rows in files, as far as the store can.
	Scrub(ctx context.Context) error
	// Check finds damage in the files, as far as the store can.
	Check(ctx context.Context) error
	Close() error
}

// ErrNoRow is wrapped by what a look-up in Tx returns if there is no such row.
var ErrNoRow = errors.New("no such row")

// ErrDamagedSum refuses a running sum whose digest is another than when it was stored. The
// contributions in it are lost and must be sent again (Tx.MarkSumLost).
var ErrDamagedSum = fmt.Errorf("%w: the stored sum is not what was stored", protocol.ErrDamaged)

// Tx is one transaction on the store, for one goroutine, and ends with Update or View. A look-up
// without a row returns ErrNoRow.
type Tx interface {
	// Savepoint runs fn in a savepoint. If fn fails, its writes are undone, undone is its error,
	// and the transaction may go on. After err the transaction must end.
	Savepoint(fn func() error) (undone, err error)

	// Certificate finds a member's certificate by serial, or ErrNoRow.
	Certificate(serial string) (Certificate, error)
	// Invitation finds an invitation by its certificate's serial.
	Invitation(serial string) (Invitation, error)
	// Member returns a member's role, or ErrNoRow.
	Member(name string) (protocol.Role, error)
	// MemberIgnoringCase returns the member with this name, also if upper and lower case differ.
	MemberIgnoringCase(name string) (string, error)
	// Members lists all members by name, with their status at a time.
	Members(now time.Time) ([]admin.Member, error)
	AddMember(name string, role protocol.Role) error
	AddInvitation(Invitation) error
	Redeem(serial string, signingKey [32]byte, certificate []byte) error
	AddCertificate(Certificate) error
	// CertificatesValidAfter counts a member's certificates that are still valid after the time at.
	CertificatesValidAfter(name string, at time.Time) (int, error)
	// Revoke ends a member's certificates and invitations, and raises the revision.
	Revoke(name string) error
	// Revision counts the revocations.
	Revision() (int64, error)

	AddToken(Token) error
	// Token returns a token or ErrNoRow; Tokens lists all, newest first. Token.Used counts the
	// places that Join took.
	Token(id string) (Token, error)
	Tokens() ([]Token, error)
	// RevokeToken makes a token unusable, and raises the revision of the list of members.
	RevokeToken(id string) error
	// JoinedByToken returns the name and certificate that a key obtained with a token, or ErrNoRow.
	JoinedByToken(id string, signingKey [32]byte) (name string, certificate []byte, err error)
	// Join stores what JoinedByToken returns. A name and a key use up one place of the
	// token, however often they come.
	Join(id string, signingKey [32]byte, name string, certificate []byte) error
	// TokenOfMember returns the token by which a member joined, or ErrNoRow.
	TokenOfMember(name string) (id string, err error)
	// Replace separates a name from the token by which it joined, because another member has the
	// name now. TokenOfMember no longer returns the token. The token's place stays taken.
	Replace(name string) error
	SetTags(name string, l admin.Tags) error

	// PoolSize is a pool's size in bytes, or ErrNoRow.
	PoolSize(auxdata.Digest) (uint64, error)
	// Pool reads at most n bytes of a pool from an offset. At the pool's end it returns none.
	Pool(d auxdata.Digest, offset uint64, n int) ([]byte, error)
	AddPool(d auxdata.Digest, data []byte) error

	// Studies lists all, newest first, without plans.
	Studies() ([]Study, error)
	// Study returns a study with its plan, or ErrNoRow.
	Study(study.Hash) (Study, error)
	AddStudy(Study) error
	// RenameStudy gives a study another stored name. Its plan keeps its own.
	RenameStudy(h study.Hash, name string) error
	// AddForecast stores the operator's forecast of a study; Forecast is ErrNoRow if there is none.
	AddForecast(study.Hash, study.Signed) error
	Forecast(study.Hash) (study.Signed, error)
	// SetState changes a study's state. It fails with ErrNoRow unless the study is in the state
	// from. A final state also deletes ballots, sum and the key for carried answers.
	SetState(h study.Hash, from, s study.State, reason string) error
	AddRelease(study.Hash, Release) error
	Release(study.Hash) (Release, error)
	// AddAmendment stores a study's next amendment; Amendments returns all, in order.
	AddAmendment(h study.Hash, a study.Signed, number int) error
	Amendments(study.Hash) ([]study.Signed, error)
	// LedgerEntry is the highest ledger entry of all stored releases.
	LedgerEntry() (int64, error)

	// Received returns the digest of each party's contribution.
	Received(study.Hash) (map[study.PartyID]study.BodyDigest, error)
	// Contributions counts the received contributions, and those of them whose bytes are lost.
	Contributions(study.Hash) (received, lost int, err error)
	// Receipt returns a party's receipt, or ErrNoRow.
	Receipt(study.Hash, study.PartyID) (protocol.Receipt, error)
	AddContribution(r protocol.Receipt, body []byte) error
	// Decline records that a party takes no part. first is false if it was recorded before.
	Decline(study.Hash, study.PartyID) (first bool, err error)
	Declined(study.Hash) ([]study.PartyID, error)
	// UnsummedContributions returns up to n contributions that are neither in the sum nor lost, in
	// the order of their parties. It begins with the party that follows after. It returns fewer if
	// they are large, and none only at the end.
	UnsummedContributions(h study.Hash, after study.PartyID, n int) ([]Contribution, error)
	// Body returns a contribution's bytes. It returns ErrNoRow if they are in the sum, lost or
	// deleted.
	Body(study.Hash, study.PartyID) ([]byte, error)
	// MarkLost deletes the bodies of parties and stores when their loss was noticed.
	MarkLost(h study.Hash, parties []study.PartyID, noticed time.Time) error
	// MarkSumLost deletes the sum. The contributions in it are then lost.
	MarkSumLost(h study.Hash, noticed time.Time) error
	Lost(study.Hash) (map[study.PartyID]time.Time, error)
	Restore(h study.Hash, p study.PartyID, body []byte) error
	// DropContributions deletes contributions, lost ones too, and their receipts.
	DropContributions(h study.Hash, parties []study.PartyID) error
	// Sum is the stored sum and its number of contributions; nil and 0 if there is none. A sum that
	// changed on disk is ErrDamagedSum.
	Sum(study.Hash) (sum []byte, contributions int, err error)
	// SetSum stores a sum and deletes the bodies that were added to it.
	SetSum(h study.Hash, sum []byte, contributions int, folded []Contribution) error

	// SealKey returns a study's private key for answers, and the coordinator's signing key when it
	// was made, or ErrNoRow.
	SealKey(study.Hash) (private []byte, signer protocol.SignerKey, err error)
	SetSealKey(h study.Hash, private []byte, signer protocol.SignerKey) error
	// ReceiptKey is the key that encrypts a party's receipt, ErrNoRow if the party's answer was not
	// carried by file.
	ReceiptKey(study.Hash, study.PartyID) ([]byte, error)
	SetReceiptKey(h study.Hash, p study.PartyID, key []byte) error

	// AddHeadProof stores a testimony, once.
	AddHeadProof(HeadProof) error
	HeadProofs() ([]HeadProof, error)

	// LastTime is the last stored time, ErrNoRow if there is none.
	LastTime() (time.Time, error)
	SetLastTime(time.Time) error
}

// Certificate is a member's certificate as issued: Serial is hexadecimal and unique, and expiry and
// revocation decide whether its calls are admitted.
type Certificate struct {
	Serial  string
	Name    string
	Role    protocol.Role
	Expires time.Time
	Revoked bool
}

// Invitation lets one newcomer enrol under Name and Role, once, until Expires.
type Invitation struct {
	Serial  string
	Name    string
	Role    protocol.Role
	Expires time.Time
	Revoked bool
	// Certificate is DER, nil until SigningKey redeemed the invitation.
	SigningKey  [32]byte
	Certificate []byte
}

// Token is a join token without its secret. Used counts the enrolments that it paid for, at most
// Quota; CreatedBy is the operator who made it.
type Token struct {
	ID        string
	Serial    string
	Prefix    string
	Tags      admin.Tags
	Quota     int
	Used      int
	Created   time.Time
	Expires   time.Time
	CreatedBy string
	Revoked   bool
}

// Study is a study's row. Plan is the canonical bytes that Hash names, Signature the coordinator's
// over them; lists leave both out. Reason says why it failed.
type Study struct {
	Hash            study.Hash
	Name            string
	Plan, Signature []byte
	Created         time.Time
	State           study.State
	Reason          string
}

// Release is a release's signed bytes, with the number of the coordinator's last ledger entry when
// it was made. A ledger that ends before this number was restored from a backup.
type Release struct {
	Document, Signature []byte
	LedgerEntry         int64
}

// Contribution is a party's body as received. Digest is the SHA-256 that its receipt names; a body
// that no longer has it was damaged.
type Contribution struct {
	Party  study.PartyID
	Digest study.BodyDigest
	Body   []byte
}

// HeadProof is a document that the caller ShownBy showed. It names a ledger entry that the ledger
// lacks.
type HeadProof struct {
	Head     privacy.Head
	Document protocol.ShownHead
	ShownBy  string
	ShownAt  time.Time
}
