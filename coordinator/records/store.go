package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Store keeps everything but the ledger. One suite of tests holds for every
// Store.
type Store interface {
	// Update runs fn in one exclusive transaction. If fn fails, or anything
	// before the commit does, nothing of fn remains and the error is returned.
	// It returns nil only once what fn wrote survives a crash of the machine.
	// If it returns an error after its commit began, what fn wrote may or may
	// not be there: read again before going on.
	Update(ctx context.Context, fn func(Tx) error) error
	// View runs fn on a snapshot; fn must not write. It does not wait for
	// Update, nor Update for it.
	View(ctx context.Context, fn func(Tx) error) error
	// Scrub overwrites what deleted rows leave behind in files, as far as the
	// store can.
	Scrub(ctx context.Context) error
	// Check finds what is damaged in the files, as far as the store can.
	Check(ctx context.Context) error
	Close() error
}

// ErrNone is returned by a Tx for what is not there.
var ErrNone = errors.New("no such row")

// ErrDamagedSum: a sum was damaged where it was stored.
var ErrDamagedSum = fmt.Errorf("%w: the stored sum is not what was stored", protocol.ErrDamaged)

// Tx is one transaction: who there is, which studies, what was contributed.
type Tx interface {
	memberTx
	tokenTx
	poolTx
	studyTx
	contributionTx
	courierTx
	witnessTx
	clockTx
	// Try runs fn in a savepoint. What fn fails with is undone, and the
	// transaction may go on; err says that it may not.
	Try(fn func() error) (undone, err error)
}

// clockTx is about the last time that was known.
type clockTx interface {
	// Clock is ErrNone where none was stored.
	Clock() (time.Time, error)
	SetClock(time.Time) error
}

// witnessTx is about what callers showed that the ledger lacks.
type witnessTx interface {
	// AddWitnessed keeps it; the same again is no error.
	AddWitnessed(Testimony) error
	Witnessed() ([]Testimony, error)
}

// memberTx is about parties and operators and what they may call with.
type memberTx interface {
	// Certificate finds a member's certificate by serial, ErrNone if none.
	Certificate(serial string) (Certificate, error)
	// Invitation finds an invitation by its certificate's serial.
	Invitation(serial string) (Invitation, error)
	// Member gives a member's role, ErrNone if there is none of that name.
	Member(name string) (protocol.Role, error)
	// Namesake gives the name of the member that has it, or one that differs from
	// it in case only.
	Namesake(name string) (string, error)
	// Members lists all, by name. Their status is of a moment.
	Members(now time.Time) ([]protocol.Member, error)
	AddMember(name string, role protocol.Role) error
	AddInvitation(Invitation) error
	// Redeem keeps what an invitation got.
	Redeem(serial string, signingKey [32]byte, certificate []byte) error
	AddCertificate(Certificate) error
	// Outlasting is how many certificates of a member are good after a moment.
	Outlasting(name string, at time.Time) (int, error)
	// Revoke ends a member's certificates and invitations, and raises the
	// revision.
	Revoke(name string) error
	// Revision is how many revocations there were.
	Revision() (int64, error)
}

// tokenTx is about join tokens and who came by them.
type tokenTx interface {
	AddToken(Token) error
	// Token is ErrNone where there is none of that name; Tokens lists all, newest
	// first. Used counts the places that Join took.
	Token(id string) (Token, error)
	Tokens() ([]Token, error)
	// RevokeToken ends a token, and raises the revision.
	RevokeToken(id string) error
	// Joined finds what a key got by a token, ErrNone if it has not joined.
	Joined(id string, signingKey [32]byte) (name string, certificate []byte, err error)
	// Join keeps it: a name and a key take one place each, once.
	Join(id string, signingKey [32]byte, name string, certificate []byte) error
	// Came is the token by which a member came, ErrNone for who came by none.
	Came(name string) (id string, err error)
	// Replace says that a member is not who came by a token under its name: Came knows
	// it no more. The place stays taken.
	Replace(name string) error
	// SetTags replaces a member's tags.
	SetTags(name string, l protocol.Tags) error
}

type Certificate struct {
	Serial  string
	Name    string
	Role    protocol.Role // of the member
	Expires time.Time
	Revoked bool
}

type Invitation struct {
	Serial  string
	Name    string
	Role    protocol.Role // of the member
	Expires time.Time
	Revoked bool
	// Certificate, DER, is nil until SigningKey redeemed the invitation.
	SigningKey  [32]byte
	Certificate []byte
}

// Token is a join token as the store knows it.
type Token struct {
	ID      string
	Serial  string // of its certificate
	Prefix  string
	Tags    protocol.Tags
	Quota   int
	Used    int // places of the quota that are taken
	Created time.Time
	Expires time.Time
	By      string
	Revoked bool
}

// poolTx is about the canonical bytes of pools.
type poolTx interface {
	// PoolSize is ErrNone if there is no such pool.
	PoolSize(auxdata.Digest) (uint64, error)
	// Pool reads at most n bytes of a pool from an offset; none at its end.
	Pool(d auxdata.Digest, offset uint64, n int) ([]byte, error)
	AddPool(d auxdata.Digest, data []byte) error
}

// studyTx is about studies and their releases.
type studyTx interface {
	// Studies lists all, newest first, without plans.
	Studies() ([]Study, error)
	// Study gives one with its plan, ErrNone if there is none.
	Study(study.Hash) (Study, error)
	AddStudy(Study) error
	// AddForecast keeps what the operator said that a study is worth; Forecast is ErrNone
	// where nothing was said.
	AddForecast(study.Hash, study.Signed) error
	Forecast(study.Hash) (study.Signed, error)
	// SetState also deletes ballots, sum and the key of carried answers where the state
	// is a last one.
	SetState(h study.Hash, s study.State, reason string) error
	AddRelease(study.Hash, Release) error
	Release(study.Hash) (Release, error)
	// AddAmendment keeps a study's next amendment; Amendments gives all, in order.
	AddAmendment(h study.Hash, a study.Signed, number int) error
	Amendments(study.Hash) ([]study.Signed, error)
	// LedgerEntry is the highest number of a ledger entry that AddRelease got.
	LedgerEntry() (int64, error)
}

type Study struct {
	Hash            study.Hash
	Name            string
	Plan, Signature []byte
	Created         time.Time
	State           study.State
	Reason          string
}

type Release struct {
	Document, Signature []byte
	LedgerEntry         int64
}

// contributionTx is about contributions and their sum.
type contributionTx interface {
	// Received gives the digest of each party's contribution.
	Received(study.Hash) (map[study.PartyID]study.BodyDigest, error)
	// Contributions is how many were received, and how many of them are lost.
	Contributions(study.Hash) (received, lost int, err error)
	// Receipt gives a party's receipt, ErrNone if it has not contributed.
	Receipt(study.Hash, study.PartyID) (protocol.Receipt, error)
	// AddContribution keeps a body and its receipt.
	AddContribution(r protocol.Receipt, body []byte) error
	// Decline keeps that a party takes no part, and says whether it had not said so
	// before.
	Decline(study.Hash, study.PartyID) (first bool, err error)
	// Declined are the parties that said so, by name.
	Declined(study.Hash) ([]study.PartyID, error)
	// Unfolded gives up to n contributions that are not in the sum nor lost, by
	// party, after one; fewer where they are large, none only at the end.
	Unfolded(h study.Hash, after study.PartyID, n int) ([]Contribution, error)
	// Body gives what a party contributed, ErrNone where the bytes are not here:
	// they are in the sum, lost, or deleted.
	Body(study.Hash, study.PartyID) ([]byte, error)
	// Lose forgets the bodies of parties, and keeps since when they are lost.
	Lose(h study.Hash, parties []study.PartyID, noticed time.Time) error
	// LoseSum forgets the sum, if there is one: all contributions whose bodies are
	// not there, because they were in it, are lost.
	LoseSum(h study.Hash, noticed time.Time) error
	Lost(study.Hash) (map[study.PartyID]time.Time, error)
	// Restore keeps the body of a contribution that was lost.
	Restore(h study.Hash, p study.PartyID, body []byte) error
	// Drop deletes contributions, lost or not, their receipts too.
	Drop(h study.Hash, parties []study.PartyID) error
	// Sum is the stored sum and how many contributions are in it; nil and 0 if
	// none. A sum that is not what was stored is ErrDamagedSum.
	Sum(study.Hash) (sum []byte, contributions int, err error)
	// SetSum stores a sum and forgets the bodies of those now in it.
	SetSum(h study.Hash, sum []byte, contributions int, folded []Contribution) error
}

// courierTx is about what is carried instead of sent.
type courierTx interface {
	// SealKey is a study's private key for answers, and the signer's key under which it
	// was made; ErrNone if there is none.
	SealKey(study.Hash) (private []byte, signer protocol.SignerKey, err error)
	// SetSealKey keeps another one in its place.
	SetSealKey(h study.Hash, private []byte, signer protocol.SignerKey) error
	// ReceiptKey is what a party's receipt is encrypted under, ErrNone if none of its
	// answers was carried here.
	ReceiptKey(study.Hash, study.PartyID) ([]byte, error)
	SetReceiptKey(h study.Hash, p study.PartyID, key []byte) error
}

type Contribution struct {
	Party  study.PartyID
	Digest study.BodyDigest
	Body   []byte
}

// Testimony is what was shown that the chain lacks.
type Testimony struct {
	Head  privacy.Head
	Shown protocol.Shown
	By    string
	At    time.Time
}
