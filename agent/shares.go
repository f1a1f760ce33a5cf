package agent

import (
	"context"

	"caucus/agent/site"
	"caucus/aggregator/uploading"
	"caucus/protocol"
	"caucus/study"
)

// If aggregators add the noise, an upload consists of two shares, and one of them is encrypted to
// the helper. A party gets one document from the helper, its acceptance of the plan. The
// coordinator passes the document on.
//
// Proof note. Claim: whatever document the coordinator passes on, this site charges and sends only
// if the helper that its policy names agreed to exactly this plan, with the noise that this site
// computes, and with an encryption key that the policy pins, or whose code with the signing key is
// the policy's (uploading.Pins).
//   - The acceptance is checked against the pins at every use: before the ledger is charged
//     (uploading.CheckAcceptance), and before the first byte leaves (uploading.CheckPins, because
//     the noise does not change). The copy in the study's folder came from the coordinator, and is
//     trusted no more than the coordinator.
//   - A share encrypted to the helper opens only with the same plan, party and other share
//     (protocol.ShareBinding). So an upload for one study is useless in another.
//   - Only one upload is made, and it is on the disk before it leaves. Two uploads of one record,
//     under one verify key or two, would be two views of the record.
//   - Nothing here depends on a record. The acceptance is fetched and checked before the window.
//     Sizes follow from the plan and the declared number of records (shares.VectorForm.PartSize).
//     Shares are made and encrypted within the window, whose length includes the time for that
//     (uploading.ContributeSteps).

// agreement returns the agreement under which this site makes its shares, empty if the plan has no
// helper. It tries the stored acceptance first, then asks the coordinator again. why says why there
// is no agreement.
func (a *Agent) agreement(ctx context.Context, d site.StudyFolder,
	t study.Task) (under uploading.Agreement, why, err error) {
	if !t.Plan().Noise.Shared() {
		return under, nil, nil
	}
	pins := a.site.Config.Policy.Helper.Pins()
	if kept, err := d.Helper(); err == nil {
		if under, err := uploading.CheckAcceptance(t, kept, pins, a.link.Keys()); err == nil {
			return under, nil, nil
		}
	}
	s, err := a.fetch(ctx, t.Hash())
	if err != nil {
		return under, nil, err
	}
	under, why = uploading.CheckAcceptance(t, protocol.Signed(s.Helper), pins, a.link.Keys())
	if why != nil {
		return under, why, nil
	}
	if err := d.WriteHelperAcceptance(s); err != nil {
		return under, nil, err
	}
	a.done("acceptance stored")
	return under, nil, nil
}

// sealedOtherwise returns an error if a finished upload is not encrypted to the helper that the
// policy names now. This happens, for example, after the helper's files were restored from a backup
// and the policy's keys changed. The helper cannot open a share encrypted to its earlier key, but
// somebody else perhaps can.
func (a *Agent) sealedOtherwise(d site.StudyFolder, h study.Hash) error {
	p, err := d.Plan()
	if err != nil || !p.Noise.Shared() {
		return err
	}
	kept, err := d.Helper()
	if err == nil {
		_, err = uploading.CheckPins(h, kept, a.site.Config.Policy.Helper.Pins(), a.link.Keys())
	}
	return err
}
