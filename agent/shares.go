package agent

import (
	"context"

	"caucus/agent/site"
	"caucus/aggregator"
	"caucus/study"
)

// With noise by aggregators an upload consists of two shares, and the helper's share is sealed to it. A
// party gets one document from the helper, its acceptance, which the coordinator passes on.
//
// Proof note. Claim: whatever the coordinator passes on, this site charges and sends only if the helper
// of its policy agreed to this very plan, under the noise that this site computes, with a sealing key
// that the policy pins.
//   - The acceptance is checked against the pins at every use: before the ledger is charged
//     (aggregator.CheckAcceptance), and before the first byte leaves (aggregator.CheckPins: the noise
//     does not change). The copy in the study's folder came from the coordinator, and is believed no
//     more than it.
//   - A share sealed to the helper opens only with the same plan, party and other share
//     (protocol.ShareBinding), so an upload for one study has no use in another.
//   - One upload is made, and it is on the disk before it leaves, as always: two uploads of one record,
//     under one verify key or under two, would be two views of the record.
//   - Nothing here depends on a record: the acceptance is fetched and checked before the window, sizes
//     follow from the plan and the declared number of records (shares.Form.PartSize), and shares are
//     made and sealed within the window, whose length counts them (aggregator.Steps).

// agreement returns the agreement under which this site makes its shares, empty if the plan has no
// helper; why says why there is none. It tries the stored acceptance, then asks the coordinator again.
func (a *Agent) agreement(ctx context.Context, d site.Dossier, t study.Task) (under aggregator.Agreement, why, err error) {
	if !t.Plan().Noise.Shared() {
		return under, nil, nil
	}
	pins := a.site.Config.Policy.Helper.Pins()
	if kept, err := d.Helper(); err == nil {
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
	if err := d.KeepHelper(s); err != nil {
		return under, nil, err
	}
	a.done("acceptance stored")
	return under, nil, nil
}

// sealedOtherwise returns an error if a finished upload is not sealed to the helper that the policy names now, for
// example because the helper's files were restored to an older state and the policy's keys changed. That helper
// cannot open a share sealed to the earlier key, and perhaps somebody else can.
func (a *Agent) sealedOtherwise(d site.Dossier, h study.Hash) error {
	p, err := d.Plan()
	if err != nil || !p.Noise.Shared() {
		return err
	}
	kept, err := d.Helper()
	if err == nil {
		_, err = aggregator.CheckPins(h, kept, a.site.Config.Policy.Helper.Pins(), a.link.Keys())
	}
	return err
}
