package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/study"
)

var (
	// ErrToBeCarried says that the answer is a file to carry, and that nothing was sent. A later
	// file confirms the answer's arrival.
	ErrToBeCarried = errors.New("carried by file")
	// ErrOlderFile says that a newer file about the same study was read before.
	ErrOlderFile = errors.New("older than what was read before")
)

// CourierOptions name a courier's files.
type CourierOptions struct {
	// AnswerFile is the file for the answer; empty means that no answer is written.
	AnswerFile string
	// Notice and Answer return the paths of a study's newest notice, and of its first answer, which
	// is secret.
	Notice, Answer func(study.Hash) string
	// NewestSignedFile is as in DialOptions.
	NewestSignedFile string
	// Now is this machine's clock; nil is the system's.
	Now func() time.Time
	// OnEffect, if not nil, is called after each effect is durable.
	OnEffect func(effect string)
}

// Courier does a Client's work with carried files. It reads one pack and writes one answer.
type Courier struct {
	opened
	id                Identity
	party             study.PartyID
	options           CourierOptions
	memory            *memory
	answers, declined bool // answers: the answer was written; declined: the answer is a refusal
}

// OpenCourier reads a pack as one party and checks all signatures. It refuses one older than a pack
// read before.
func OpenCourier(file []byte, id Identity, o CourierOptions) (*Courier, error) {
	if o.OnEffect == nil {
		o.OnEffect = func(string) {}
	}
	o.Now = clock.Clock{Now: o.Now}.Complete().Now
	caller, err := id.Caller()
	if err != nil {
		return nil, fmt.Errorf("read %s: identity: %w", PackFile, err)
	}
	keys, err := id.Keys()
	if err != nil {
		return nil, fmt.Errorf("read %s: identity: %w", PackFile, err)
	}
	p, err := decodePack(file)
	if err != nil {
		return nil, err
	}
	c := &Courier{id: id, party: study.PartyID(caller.Name), options: o}
	if c.opened, err = openPack(p, keys, c.party); err != nil {
		return nil, err
	}
	if c.memory, err = openMemory(o.NewestSignedFile, c.keys); err != nil {
		return nil, fmt.Errorf("read %s: %w", PackFile, err)
	}
	// fail now, before the ledger is charged
	if c.CanAnswer() && c.study.State == study.Open && c.keyless() {
		return nil, fmt.Errorf("read %s: %w", PackFile, errNoKey)
	}
	return c, c.keepNotice()
}

// errNoKey is a fault of the file. The study itself stays open to this party, which may answer by
// another file.
var errNoKey = fmt.Errorf("%w: there is no key to seal an answer to: a carrier took it out, or this is a receipt: ask the operator for a new one (caucus study pack)", ErrDamaged)

func (c *Courier) keyless() bool { return c.sealKey == nil || len(c.notice.SealKey) == 0 }

func (c *Courier) noticeFile() string { return c.options.Notice(c.notice.Plan) }
func (c *Courier) answerFile() string { return c.options.Answer(c.notice.Plan) }

// farAhead is how far a notice's time may be ahead of this machine's clock. A notice from further
// ahead is not stored. The agent's ledger has the same limit for dates (MaxYearSkew in
// agent/site).
const farAhead = time.Hour

// keepNotice stores the pack's notice, and refuses a notice that is older than the stored one.
func (c *Courier) keepNotice() error {
	var held Signed
	text, err := os.ReadFile(c.noticeFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read what was carried before: %w", err)
	default:
		var before Notice
		if err := json.Unmarshal(text, &held); err != nil {
			return fmt.Errorf("read %s: %w", c.noticeFile(), err)
		}
		if err := decodeNotice(held.Document, &before); err != nil {
			return fmt.Errorf("read %s: %w", c.noticeFile(), err)
		}
		if c.notice.At.Before(before.At) {
			return fmt.Errorf("read %s: %w: it was made on %s, and one of %s was read here: ask the operator for a new one",
				PackFile, ErrOlderFile, c.notice.At.Format(time.RFC3339),
				before.At.Format(time.RFC3339))
		}
		if bytes.Equal(held.Document, c.signed.Document) {
			return nil
		}
	}
	if c.notice.aheadOf(c.options.Now()) > farAhead {
		return nil // a notice dated by a wrong clock must not make all later notices too old
	}
	if text, err = json.Marshal(c.signed.Signed); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.noticeFile()), 0o700); err != nil {
		return err
	}
	if err := WriteSecret(c.noticeFile(), append(text, '\n')); err != nil {
		return fmt.Errorf("keep notice: %w", err)
	}
	c.options.OnEffect("notice stored")
	return nil
}

// CanAnswer reports whether an answer can be written: a folder for it is given, and the file is no
// receipt.
func (c *Courier) CanAnswer() bool { return c.options.AnswerFile != "" && c.signed.receipt == nil }

// Answered reports whether an answer was written, and whether it declines.
func (c *Courier) Answered() (wrote, declined bool) { return c.answers, c.declined }

// StudyOfFile returns the file's study without the errors that the calls of a connection have.
func (c *Courier) StudyOfFile() Study { return c.study }

// Studies lists the pack's study. Skew shows only whether the coordinator's clock is ahead. Whether
// it is behind cannot be known, because files take time.
func (c *Courier) Studies(context.Context) (Listing, error) {
	l := Listing{Studies: []Summary{c.study.Summary}, Skew: c.notice.aheadOf(c.options.Now()),
		HelperRestored: c.memory.helperBack()}
	shown := ShownHead{NoticeDocument, c.signed.Document, c.signed.Signature}
	// A file about another study may be older than the stored document, and that is no fault.
	if _, before := c.memory.newest(); before.Sequence != c.notice.Ledger.Sequence {
		l.StoreError = c.memory.keep(shown, c.notice.Ledger, c.keys)
	} else if before.Hash != c.notice.Ledger.Hash && before.Sequence > 0 {
		l.CoordinatorRestored = fmt.Errorf("the coordinator signed two different entries %d of its ledger: it was put back to an older state and went on", before.Sequence)
	}
	return l, nil
}

// Study returns the study of the file, whatever reference is asked for, and never fails: opening
// the file has checked the plan.
func (c *Courier) Study(context.Context, string) (Study, error) { return c.study, nil }

// Pool returns the pool, and stores it in folder like Client.Pool.
func (c *Courier) Pool(_ context.Context, s Study, folder string) ([]byte, error) {
	whole := filepath.Join(folder, "pool-"+s.Plan.Pool.String()+".csv")
	if folder != "" {
		if data, err := os.ReadFile(whole); err == nil && sha256.Sum256(data) == s.Plan.Pool {
			return data, nil
		}
	}
	if c.pool == nil {
		return nil, fmt.Errorf("%w: the pool of study %s is not in this file: ask the operator for one that caucus study pack made", ErrNotFound, s.Name)
	}
	if folder == "" {
		return c.pool, nil
	}
	return c.pool, WriteSecret(whole, c.pool)
}

type keptAnswer struct {
	// Body is the SHA-256 of the answer's content, and Certificate that of the signer's
	// certificate.
	Body        keyDigest `json:"body"`
	SealKey     keyDigest `json:"seal_key"`
	Certificate keyDigest `json:"certificate"`
	// ReceiptKeys decrypt the receipt, newest last. There is one for each answer that was written,
	// because any of them may have reached the coordinator.
	ReceiptKeys [][]byte `json:"receipt_keys"`
	File        []byte   `json:"file"`
}

// mostReceiptKeys bounds the stored keys. A new key is needed only for a resumed study or a new
// certificate.
const mostReceiptKeys = 16

func (c *Courier) kept() (*keptAnswer, error) {
	text, err := os.ReadFile(c.answerFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var k keptAnswer
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer that was written before: %w", err)
	}
	return &k, nil
}

// answer returns the answer's file. It stays the same under the same study key and certificate.
func (c *Courier) answer(a answered) ([]byte, error) {
	if c.keyless() {
		return nil, errNoKey
	}
	leaf, err := c.id.leaf()
	if err != nil {
		return nil, err
	}
	body, certificate := sha256.Sum256(a.Body), sha256.Sum256(leaf.Raw)
	had, err := c.kept()
	if err != nil {
		return nil, err
	}
	if had != nil && bytes.Equal(had.Body, body[:]) && bytes.Equal(had.SealKey, c.notice.SealKey) &&
		bytes.Equal(had.Certificate, certificate[:]) {
		return had.File, nil
	}
	var newest privacy.Head
	if a.Shown, newest = c.memory.newest(); a.Shown.Kind == "" || newest == c.notice.Ledger {
		// has the same ledger head, and names the run of the coordinator too
		a.Shown = ShownHead{NoticeDocument, c.signed.Document, c.signed.Signature}
	}
	k := keptAnswer{Body: body[:], SealKey: c.notice.SealKey, Certificate: certificate[:]}
	sealed, key, err := a.seal(c.sealKey, c.notice.Plan, string(c.party))
	if err != nil {
		return nil, err
	}
	if had != nil {
		k.ReceiptKeys = had.ReceiptKeys[max(0, len(had.ReceiptKeys)-mostReceiptKeys+1):]
	}
	k.ReceiptKeys = append(k.ReceiptKeys, key)
	if k.File, err = writeAnswer(c.id, c.notice.Plan, c.sealKey, sealed); err != nil {
		return nil, err
	}
	text, err := json.Marshal(k)
	if err == nil {
		err = WriteSecret(c.answerFile(), append(text, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("keep answer: %w", err)
	}
	c.options.OnEffect("answer sealed")
	return k.File, nil
}

func (c *Courier) carry(a answered) error {
	if c.options.AnswerFile == "" {
		return fmt.Errorf("%w: nothing was written, since no file was named for it", ErrToBeCarried)
	}
	file, err := c.answer(a)
	if err == nil {
		err = WriteCarriedFile(c.options.AnswerFile, AnswerFile, file)
	}
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	c.answers, c.declined = true, a.Body == nil
	c.options.OnEffect("answer written")
	return ErrToBeCarried
}

// Contribute returns the receipt, if the file has one. Otherwise it writes the answer, always the
// same bytes, and fails with ErrToBeCarried.
func (c *Courier) Contribute(_ context.Context, plan study.Hash, body []byte) (Receipt, error) {
	fail := func(err error) (Receipt, error) {
		return Receipt{}, fmt.Errorf("contribute to study %s: %w", plan, err)
	}
	if plan != c.notice.Plan {
		return fail(study.ErrDifferentPlan)
	}
	if c.signed.receipt == nil {
		return fail(c.carry(answered{Body: append([]byte{}, body...)}))
	}
	had, err := c.kept()
	if err == nil && had == nil {
		err = fmt.Errorf("%w: there is a receipt, and this site wrote no answer", ErrDamaged)
	}
	if err != nil {
		return fail(err)
	}
	signed, err := openReceipt(c.signed.receipt, had.ReceiptKeys, plan, c.party)
	if err != nil {
		return fail(err)
	}
	r, err := ParseReceipt(signed.Document, signed.Signature, c.keys)
	if err != nil {
		return fail(err)
	}
	// an error is ignored, as in Client.Contribute
	_ = c.memory.keep(ShownHead{ReceiptDocument, r.Document, r.Signature}, r.Ledger, c.keys)
	return r, nil
}

// Decline writes an answer that declines, and returns ErrToBeCarried.
func (c *Courier) Decline(context.Context, study.Hash) error { return c.carry(answered{}) }

// Leave is not done by file.
func (c *Courier) Leave(context.Context, string) error {
	return fmt.Errorf("%w: a site without a network leaves by its operator: caucus party revoke", ErrToBeCarried)
}

// Release reads the release from the file. It fails with ErrDenied for a party that the plan does
// not name as a reader, with ErrNotFound if the file has none, and with ErrDamaged if no known key
// signed it.
func (c *Courier) Release(context.Context, string) (SignedRelease, error) {
	if readers := c.study.Plan.Readers; len(readers) > 0 &&
		!slices.Contains(readers, string(c.party)) {
		return SignedRelease{}, fmt.Errorf("%w: the plan names who reads the release, and not %s", ErrDenied, c.party)
	}
	if c.release.Document == nil {
		return SignedRelease{}, fmt.Errorf("%w: the release of study %s is not in this file: ask the operator for one that caucus study pack made", ErrNotFound, c.study.Name)
	}
	r := SignedRelease{Document: c.release.Document, Signature: c.release.Signature,
		Signer: c.keys.Newest(), Successions: c.keys.Successions()}
	var err error
	if r.Release, err = ParseRelease(r.Document, r.Signature, c.keys); err != nil {
		return SignedRelease{}, err
	}
	_ = c.memory.keepHelper(r.Release, c.keys)
	for _, k := range append([]SignerKey{c.keys.first}, c.keys.after()...) {
		if r.Check(k) == nil {
			r.Signer = k
		}
	}
	return r, nil
}

// SetHeartbeat does nothing, because a file contains no heartbeat.
func (c *Courier) SetHeartbeat(Heartbeat) {}

// Keys returns the coordinator's keys, with those from the file.
func (c *Courier) Keys() Keys { return c.keys }

// Renew returns an error that explains how to renew by file.
func (c *Courier) Renew(context.Context) (Identity, error) {
	return Identity{}, errors.New("by file a certificate is renewed by enrolling again in the same folder: caucus agent enrol --request")
}

// Close does nothing: no connection is open and each file is written whole.
func (c *Courier) Close() error { return nil }

// HangUp does nothing, because a file is no connection that could tell when this site works.
func (c *Courier) HangUp() error { return nil }
