package aggregator

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"caucus/protocol"
	"caucus/study"
)

// TestFull: a lying coordinator cannot have more studies accepted or stored than the helper's
// operator allows. Existing studies go on, and the refusal says what to do, without the number of
// the study, which the coordinator's operator named.
func TestFull(t *testing.T) {
	ctx := t.Context()
	tasks := []study.Task{taskOf(2, 2), taskOf(3, 2), taskOf(4, 2), taskOf(5, 2), taskOf(6, 2)}
	w := newWorld(t, tasks...)
	accept := func(i int) error {
		h := tasks[i].Hash()
		own := Acceptance{Plan: h, Role: "coordinator", Terms: must(study.TermsDigest(tasks[i])),
			Commitment: commitment(h, 0, half{byte(i)})}
		_, err := w.servers[1].Accept(ctx, h,
			must(protocol.SignJSON(w.signers[0], protocol.AcceptanceDocument, own)))
		return err
	}
	numbers := regexp.MustCompile(`[0-9a-f]{64}`)
	refuses := func(err error, key string) {
		t.Helper()
		told := asError(asStatus(err))
		if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), key) ||
			!errors.Is(told, protocol.ErrHelper) || !strings.Contains(told.Error(), key) ||
			numbers.MatchString(told.Error()) {
			t.Errorf("have %v, which travels as %v", err, told)
		}
	}
	w.servers[1].config.MaxOpen = 2
	w.opened(tasks[0].Hash())
	must(0, accept(1))
	refuses(accept(2), "max_open")
	must(0, accept(1)) // again
	must(0, w.servers[1].End(ctx, tasks[1].Hash()))
	must(0, accept(2))
	w.stop(1)
	must(0, w.start(1))
	w.servers[1].config.MaxOpen = 2
	refuses(accept(3), "max_open")
	w.servers[1].config.MaxOpen = 3
	must(0, accept(3))

	h := tasks[0].Hash()
	for i, p := range tasks[0].Plan().Roster {
		must(0, w.servers[0].Receive(ctx, h, p,
			uploadOf(tasks[0], p, votes(tasks[0], i, false), 1, w.under(tasks[0]))))
	}
	w.servers[1].config.MaxShares = 1
	_, err := w.servers[0].Advance(ctx, h, link{w})
	refuses(err, "max_shares")
	w.servers[1].config.MaxOpen = 9
	refuses(accept(4), "max_shares")
	w.servers[1].config.MaxShares = 1 << 30
	must(w.servers[0].Advance(ctx, h, link{w}))
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	if released := must(w.servers[0].Advance(ctx, h, link{w})); !released ||
		len(w.servers[1].open) != 2 {
		t.Errorf("released: %v; %d are open", released, len(w.servers[1].open))
	}
}
