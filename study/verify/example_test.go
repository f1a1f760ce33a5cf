package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
	"caucus/study/life"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// concluded is a study by sums up to its signed release, with the first party's own papers and the
// coordinator's ledger.
type concluded struct {
	release protocol.SignedRelease
	pool    *auxdata.Pool
	signer  *protocol.Signer
	site    evidence.Party
	ledger  []privacy.Line
}

func conclude() (c concluded) {
	ctx := context.Background()
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 300, Seed: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed := must(planning.ProposePlan(study.Proposal{
		Name: "readmission", Mechanism: "cross", Noise: study.NoiseCoordinator, Epsilon: 4, Records: 100, Map: dataset.Components{Project: 3},
		Roster: []study.PartyID{"north", "south"}, Deadline: time.Date(2030, 6, 30, 0, 0, 0, 0, time.UTC),
	}, schema.WithoutFormat(), table.Select(rows[:100])))
	plan, pool := proposed.Plan, proposed.Pool
	c.pool, c.signer = pool, must(protocol.NewSigner())
	task := must(results.NewTask(plan, pool))
	s := life.New(plan, proposed.Hash)
	must(s.Step(life.StudyOpened{}))
	sum := must(task.NewSum())
	charges := must(task.Charges(0))
	for i, party := range plan.Roster {
		records, _, err := schema.EncodeLabelled(table.Select(rows[100*(i+1) : 100*(i+2)]))
		if err != nil {
			panic(err)
		}
		own := privacy.NewMemoryJournal()
		ledger := must(privacy.Open(own, privacy.Config{}))
		if err := study.ChargeAll(ctx, ledger, s.Hash, charges); err != nil {
			panic(err)
		}
		contribution := must(task.Contribute(study.NewInputs(records, []byte{byte(i)})))
		body := must(contribution.Body(nil)) // the coordinator adds the noise
		if err := sum.Add(body); err != nil {
			panic(err)
		}
		must(s.Step(life.ContributionReceived{Party: party, Plan: s.Hash,
			Body: sha256.Sum256(body)}))
		if i == 0 {
			receipt := must(protocol.Receipt{Plan: s.Hash, Party: party, Body: sha256.Sum256(body),
				Size: len(body)}.Sign(c.signer))
			c.site = evidence.Party{Party: party,
				Keys: must(protocol.FollowKeys(c.signer.Key(), nil)), Receipt: &receipt,
				Upload: body, Ledger: ledgerOf(linesOf(own))}
		}
	}
	must(s.Step(life.SumDone{Contributions: len(s.Received)}))
	central := privacy.NewMemoryJournal()
	release := must(life.Conclude(ctx, s, task, study.Contributions{Sum: sum},
		must(privacy.Open(central, privacy.Config{}))))
	release.Plan, release.Software = proposed.Canonical, "example"
	c.release, c.ledger = sign(c.signer, release), linesOf(central)
	return c
}

func sign(signer *protocol.Signer, r study.Release) protocol.SignedRelease {
	document := must(json.Marshal(r))
	return must(protocol.ReadRelease(must(json.Marshal(protocol.SignedRelease{
		Document: document, Signature: signer.Sign(protocol.ReleaseDocument, document), Signer: signer.Key(),
	}))))
}

func linesOf(j privacy.Journal) (lines []privacy.Line) {
	must(privacy.VerifyEach(context.Background(), j, func(l privacy.Line) error {
		lines = append(lines, l)
		return nil
	}))
	return lines
}

// A party believes nobody: with the coordinator's key, the public pool and its own papers, it makes
// the whole release again.
func ExampleRelease() {
	c := conclude()
	known := verify.VerifierInputs{Pool: c.pool, KeysFrom: "from the invitation", Party: &c.site}
	found := verify.Release(c.release, known)
	fmt.Println("fails:", evidence.AnyFails(found))
	for _, f := range found {
		if f.Subject == "receipt" || f.Subject == "release" || f.Subject == "charge" {
			fmt.Println(f.Verdict, f.Subject)
		}
	}

	changed := c.release.Release
	changed.Parties = 200
	for _, f := range verify.Release(sign(c.signer, changed), known) {
		if f.Verdict == evidence.Fails {
			fmt.Println(f.Subject+":", f.Text)
		}
	}
	// Output:
	// fails: false
	// holds release
	// holds receipt
	// holds charge
	// parties: the manifest says M = 200, but names 2 parties that contributed
}
