package shares

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// FuzzPrepare: no part makes a server panic. If both servers accept, they hold the vector that was
// split.
func FuzzPrepare(f *testing.F) {
	form := BallotForm(3, 3, 1)
	v := drawn(form, rand.New(rand.NewPCG(1, 1)))
	parts := must(form.Split(testContext, v, seeded(1)))
	f.Add(parts[0], parts[1])
	f.Add(parts[1], parts[0])
	f.Add([]byte{}, bytes.Repeat([]byte{0xff}, form.PartSize(Helper)))
	f.Fuzz(func(t *testing.T, coordinator, helper []byte) {
		out, errs := both(form, testKey, twice(testContext), Parts{coordinator, helper})
		for r, err := range errs {
			if err != nil && !errors.Is(err, ErrPart) && !errors.Is(err, ErrProof) {
				t.Errorf("the %v says %v", Role(r), err)
			}
		}
		if (errs[0] == nil) != (errs[1] == nil) {
			t.Errorf("one server accepts what the other refuses: %v", errs)
		}
		if errs == [2]error{} {
			got := must(Combine(must(out[0].Residues()), must(out[1].Residues())))
			if _, ok := form.measure(got); !ok {
				t.Errorf("%v was accepted, which is not of the form", got)
			}
		}
	})
}

// FuzzFinish: only the other server's own message gives a share.
func FuzzFinish(f *testing.F) {
	form := BallotForm(3, 3, 1)
	parts := must(form.Split(testContext, drawn(form, rand.New(rand.NewPCG(1, 1))), seeded(1)))
	honest := must(form.Prepare(testKey, testContext, Helper, parts[1])).Message()
	f.Add(honest)
	f.Add(honest[:7])
	f.Add(append(bytes.Clone(honest[:digestSize]), make([]byte, len(honest)-digestSize)...))
	f.Fuzz(func(t *testing.T, message []byte) {
		_, err := must(form.Prepare(testKey, testContext, Coordinator, parts[0])).Finish(message)
		if (err == nil) != bytes.Equal(message, honest) {
			t.Errorf("a message that is the helper's: %v; Finish says %v", bytes.Equal(message, honest), err)
		}
	})
}

// FuzzParseShare: a parsed share is written as the same bytes.
func FuzzParseShare(f *testing.F) {
	form := BallotForm(2, 2, 1)
	f.Add(make([]byte, form.ShareSize()))
	f.Add(bytes.Repeat([]byte{0xff}, form.ShareSize()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := form.ParseShare(data)
		if err == nil && !bytes.Equal(must(s.MarshalBinary()), data) {
			t.Errorf("%x is read as %v", data, s)
		}
	})
}
