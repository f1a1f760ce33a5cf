package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"caucus/aggregator"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// With noise by aggregators what leaves is in two shares, and the helper's is sealed to it. A
// party has nothing from the helper but one document, its acceptance, which the coordinator
// passes on.
//
// Proof note. Claim: whatever the coordinator passes on, this site charges and sends only
// where the helper of its policy agreed to this very plan under the noise that this site
// computes, with a key to seal to that the policy pins.
//   - The acceptance is checked under the pins whenever something follows from it: before the
//     ledger is charged (aggregator.CheckAcceptance), and before the first byte leaves
//     (aggregator.CheckPins: the noise does not change). What lies in the study's folder is
//     what the coordinator said, and is believed no more than that.
//   - What is sealed to the helper opens under its own plan, party and other share only
//     (protocol.ShareBinding), so that an upload for one study is worth nothing in another.
//   - One upload is made, and is on the disk before it leaves, as any is: two uploads of one
//     record under one verify key, or one under two, would be two views of it.
//   - Nothing of it hangs on a record: the acceptance is asked for and checked before the
//     window, sizes follow from the plan and the declared number of records
//     (shares.Form.PartSize), and shares are made and sealed within the window, whose length
//     counts them (aggregator.Steps).

// keepHelper keeps what the coordinator passed on of the helper, unchecked.
func (d dossier) keepHelper(s protocol.Study) error {
	if !s.Plan.Noise.Shared() || s.Helper.Document == nil || d.has(fileUpload) {
		return nil
	}
	return d.writeJSON(fileHelper, s.Helper)
}

// helper is what was kept; empty where nothing was.
func (d dossier) helper() (a aggregator.Signed, err error) {
	b, err := d.read(fileHelper)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		return a, fmt.Errorf("read the helper's acceptance: %w", err)
	}
	return a, nil
}

// agreement is what this site makes its shares of a study under, empty where the plan has no
// helper; why says why there is none. What is kept is tried first, then the coordinator is
// asked again.
func (a *Agent) agreement(ctx context.Context, d dossier, t study.Task) (under aggregator.Agreement, why, err error) {
	if !t.Plan().Noise.Shared() {
		return under, nil, nil
	}
	pins := a.state.config.Policy.Helper.pins()
	if kept, err := d.helper(); err == nil {
		if under, err := aggregator.CheckAcceptance(t, kept, pins, a.link.Keys()); err == nil {
			return under, nil, nil
		}
	}
	s, err := a.fetch(ctx, t.Hash())
	if err != nil {
		return under, nil, err
	}
	under, why = aggregator.CheckAcceptance(t, aggregator.Signed(s.Helper), pins, a.link.Keys())
	if why != nil {
		return under, why, nil
	}
	if err := d.keepHelper(s); err != nil {
		return under, nil, err
	}
	a.done("acceptance stored")
	return under, nil, nil
}

// helperWords says which helper this site's policy names, and whether it agreed to a study as
// far as this folder knows; "" where the plan has none.
func (s *state) helperWords(d dossier, t study.Task) (words string, agreed bool) {
	helper := s.config.Policy.Helper
	if !t.Plan().Noise.Shared() || !helper.named() {
		return "", false
	}
	kept, err := d.helper()
	if err == nil {
		_, err = aggregator.CheckAcceptance(t, kept, helper.pins(), s.coordinator)
	}
	switch {
	case err != nil && d.has(fileUpload):
		return fmt.Sprintf("%s: what this site made was sealed to an earlier helper's key: %v", helper.words(), err), false
	case err != nil:
		return fmt.Sprintf("%s: nothing is charged or sent before it agreed; as far as this site was told: %v", helper.words(), err), false
	}
	return helper.words() + ": it agreed to this plan and to its noise, and signed that", true
}

// sealedOtherwise says why a finished upload is not for the helper that the policy names now:
// its keys were changed there since, as after the helper's files were put back. What was sealed
// to the earlier key the helper opens no more, and somebody else perhaps does.
func (a *Agent) sealedOtherwise(d dossier, h study.Hash) error {
	p, err := d.plan()
	if err != nil || !p.Noise.Shared() {
		return err
	}
	kept, err := d.helper()
	if err == nil {
		_, err = aggregator.CheckPins(h, kept, a.state.config.Policy.Helper.pins(), a.link.Keys())
	}
	return err
}

// contribution is what a party sends for a study, before its noise where it adds any: the
// task's own, or two shares of it, sealed.
func (s *state) contribution(w window, in study.Inputs) (study.Contribution, error) {
	if !w.plan.Noise.Shared() {
		return w.task.Contribute(in)
	}
	body, err := aggregator.Contribute(w.task, s.party, in, w.helper)
	return study.Contribution{Body: func([]privacy.Published) ([]byte, error) { return body, nil }}, err
}
