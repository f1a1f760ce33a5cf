package shares

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
	"github.com/cloudflare/circl/vdaf/prio3/sumvec"
)

// Key is the verify key that both servers share and no party knows.
type Key [32]byte

// ErrProof is wrapped if a contribution fails the check of its proof.
var ErrProof = errors.New("contribution refused by its proof")

// Preparation is one server's part of checking a contribution. It follows from key, context, role
// and part, so it can be redone after a crash.
type Preparation struct {
	form    VectorForm
	role    Role
	vdaf    *sumvec.SumVec
	state   *sumvec.PrepState
	share   fp128.Vec
	message []byte
}

// Prepare reads a server's part and makes its message to the other server. Refusals wrap ErrPart,
// or ErrProof if the part was not made for this context and role.
func (vf VectorForm) Prepare(key Key, c ProofContext, r Role, part []byte) (*Preparation, error) {
	if err := vf.Check(1); err != nil {
		return nil, err
	}
	if r > Helper {
		return nil, fmt.Errorf("prepare contribution: there is no server %d", r)
	}
	if want := vf.PartSize(r); len(part) != want {
		return nil, fmt.Errorf("%w: the %v's has %d bytes, want %d: it is cut off or meant for another plan or server", ErrPart, r, len(part), want)
	}
	p := &Preparation{form: vf, role: r}
	var ours []byte
	var err error
	if p.vdaf, p.state, ours, err = vf.circuit(c).prepare(key, r, part); err != nil {
		return nil, err
	}
	if p.share, err = outputOf(p.vdaf, p.state); err != nil {
		return nil, err
	}
	given := vf.given(c, part)
	p.message = append(given[:], ours...)
	if vf.RowCells > 0 {
		check, err := vf.rowCheck(r, key, c, part[:nonceSize], p.share)
		if err != nil {
			return nil, err
		}
		b, err := check.MarshalBinary()
		if err != nil {
			return nil, err
		}
		p.message = append(p.message, b...)
	}
	return p, nil
}

// given is the digest of the data that both servers must have received identically: form, context,
// nonce and public share. With different nonces the servers would query the proof at two points,
// which proves nothing.
func (vf VectorForm) given(c ProofContext, part []byte) [digestSize]byte {
	b, err := json.Marshal(vf)
	if err != nil { // cannot happen: a VectorForm is five integers
		panic(err)
	}
	return sha256.Sum256(append(append(b, c[:]...), part[:headSize]...))
}

func (c circuit) prepare(key Key, r Role, part []byte) (*sumvec.SumVec, *sumvec.PrepState, []byte,
	error) {
	vdaf, err := c.open()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("prepare contribution: %w", err)
	}
	params := vdaf.Params()
	nonce := sumvec.Nonce(part[:nonceSize])
	var input sumvec.InputShare
	input.New(&params, uint(r))
	if err := input.UnmarshalBinary(part[headSize:]); err != nil {
		return nil, nil, nil, fmt.Errorf("%w: the %v's is no list of field elements", ErrPart, r)
	}
	verify := sumvec.VerifyKey(key)
	state, ours, err := vdaf.PrepInit(&verify, &nonce, uint8(r),
		sumvec.PublicShare(part[nonceSize:headSize]), input)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: the %v's share is not the one that was committed to: %w", ErrProof, r, err)
	}
	message, err := ours.MarshalBinary()
	return vdaf, state, message, err
}

// outputOf reads the output share from a state. Only Finish checks it.
func outputOf(vdaf *sumvec.SumVec, state *sumvec.PrepState) (fp128.Vec, error) {
	b, err := state.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("read output share: %w", err)
	}
	params := vdaf.Params()
	share := make(fp128.Vec, params.OutputLength())
	if err := share.UnmarshalBinary(b[:share.Size()]); err != nil {
		return nil, fmt.Errorf("read output share: %w", err)
	}
	return share, nil
}

// Message returns this server's message to the other server. Made under one key, it reveals nothing
// about an honest party's vector except its form.
func (p *Preparation) Message() []byte { return bytes.Clone(p.message) }

// Finish checks the whole proof with the other server's message and returns this server's share of
// the vector. Each server checks everything here, because circl's last step does not compare the
// proof.
func (p *Preparation) Finish(other []byte) (SecretShare, error) {
	if p.share == nil {
		return SecretShare{}, errors.New("finish preparation: it was finished before; prepare the part again")
	}
	if len(other) != len(p.message) {
		return SecretShare{}, fmt.Errorf("%w: the other server's message has %d bytes, want %d", ErrPart, len(other), len(p.message))
	}
	if !bytes.Equal(other[:digestSize], p.message[:digestSize]) {
		return SecretShare{}, fmt.Errorf("%w: the two servers were given another nonce or public share, or check another plan", ErrProof)
	}
	end := len(p.message)
	if p.form.RowCells > 0 {
		end -= fp128.Size
	}
	messages := [2][]byte{p.message, other}
	if p.role == Helper {
		messages = [2][]byte{other, p.message}
	}
	if p.form.RowCells > 0 {
		var sum fp128.Fp
		for _, m := range messages {
			var c fp128.Fp
			if err := c.UnmarshalBinary(m[end:]); err != nil {
				return SecretShare{}, fmt.Errorf("%w: the check of rows is no field element",
					ErrPart)
			}
			sum.AddAssign(&c)
		}
		if !sum.IsZero() {
			return SecretShare{}, fmt.Errorf("%w: a row does not add up to %d", ErrProof,
				p.form.RowTotal)
		}
	}
	if err := decide(p.vdaf, p.state,
		[2][]byte{messages[0][digestSize:end], messages[1][digestSize:end]}); err != nil {
		return SecretShare{}, err
	}
	out := SecretShare{p.share}
	p.share = nil // one preparation gives only one share
	if p.role == Coordinator && p.form.MinCell != 0 {
		var least fp128.Fp
		if err := least.SetUint64(uint64(-p.form.MinCell)); err != nil {
			return SecretShare{}, err
		}
		for j := range out.elements {
			out.elements[j].SubAssign(&least)
		}
	}
	return out, nil
}

func decide(vdaf *sumvec.SumVec, state *sumvec.PrepState, messages [2][]byte) error {
	params := vdaf.Params()
	both := make([]sumvec.PrepShare, len(messages))
	for r, m := range messages {
		both[r].New(&params)
		if err := both[r].UnmarshalBinary(m); err != nil {
			return fmt.Errorf("%w: the %v's message is no list of field elements", ErrPart, Role(r))
		}
	}
	message, err := vdaf.PrepSharesToPrep(both)
	if err != nil {
		return fmt.Errorf("%w: a cell is outside the range of the plan, or a share is not the party's", ErrProof)
	}
	if _, err := vdaf.PrepNext(state, message); err != nil { // this compares the joint randomness
		return fmt.Errorf("%w: the servers' shares belong to different contributions", ErrProof)
	}
	return nil
}
