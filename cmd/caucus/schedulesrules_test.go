package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"caucus/auxdata"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// rules checks the results of a schedule on the disks.
func (f *federated) rules() {
	ctx, t := context.Background(), f.t
	answers := map[string]map[string]bool{} // by study
	contributed := map[string][]study.PartyID{}
	for _, d := range f.agents {
		releases, err := filepath.Glob(filepath.Join(f.folder(d), "studies", "*", "release.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range releases {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			signed, err := protocol.ReadRelease(text)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			r := signed.Release
			plan, _, err := protocol.ParsePlan(r.Plan)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if answers[plan.Name] == nil {
				answers[plan.Name] = map[string]bool{}
				f.counts["releases"]++
			}
			answer := r.Sum
			if len(r.Published) > 0 {
				answer = r.Published[0]
			}
			answers[plan.Name][string(answer)] = true
			contributed[plan.Name] = r.Contributed
			f.sumOf(plan, r)
		}
	}
	for name, all := range answers {
		if len(all) > 1 {
			t.Errorf("study %s has %d releases", name, len(all))
		}
	}
	entries := f.ledger("coordinator")
	if draws := len(entries); draws > 1 || draws == 1 && answers["tally"] == nil &&
		len(f.restored) == 0 {
		t.Errorf("the coordinator's ledger has %d releases, agents have %d", draws, len(answers["tally"]))
	}
	for _, d := range f.agents {
		f.agent(ctx, d, contributed)
	}
}

// ledger returns the charges in a folder's ledger, and checks the ledger's chain.
func (f *federated) ledger(name string) (lines []privacy.Line) {
	j, err := journal.OpenSQLite(filepath.Join(f.dir, name, folder.LedgerFile))
	if err != nil {
		f.t.Fatal(err)
	}
	defer j.Close()
	_, err = privacy.VerifyEach(context.Background(), j, func(l privacy.Line) error {
		if l.Kind == privacy.KindRelease || l.Kind == privacy.KindCharge ||
			l.Kind == privacy.KindReservation {
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		f.t.Errorf("the ledger of %s: %v", name, err)
	}
	return lines
}

// agent checks an agent: it paid once for each study that counts it; each of its receipts was
// counted; and the coordinator's signed documents that it holds are in the coordinator's ledger.
func (f *federated) agent(ctx context.Context, d *daemon, contributed map[string][]study.PartyID) {
	party := study.PartyID(d.name[len("state-"):])
	charges := len(f.ledger(d.name))
	counts := 0
	for _, parties := range contributed {
		if slices.Contains(parties, party) {
			counts++
		}
	}
	if charges < counts || charges > 2 {
		f.t.Errorf("%s was charged %d times, and is in %d releases", party, charges, counts)
	}
	if len(f.restored) > 0 {
		return
	}
	receipts, _ := filepath.Glob(filepath.Join(f.folder(d), "studies", "*", "receipt.json"))
	// a contribution to a reopened study may not be sent again
	if len(receipts) != counts && !(len(f.reopened) > 0 && len(receipts) > counts) {
		f.t.Errorf("%s has %d receipts, and is in %d releases", party, len(receipts), counts)
	}
	f.counts["receipts, each counted once"] += counts
	text, err := os.ReadFile(filepath.Join(f.folder(d), "coordinator.json"))
	var shown protocol.ShownHead
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	if err != nil {
		f.t.Errorf("what %s shows: %v", party, err)
		return
	}
	evidence, err := folder.ReadEvidence(ctx, filepath.Join(f.dir, "coordinator"))
	if err != nil {
		f.t.Errorf("the coordinator's folder: %v", err)
		return
	}
	head, err := shown.Head(evidence.Keys)
	if err != nil {
		f.t.Errorf("what %s shows: %v", party, err)
		return
	}
	j, err := journal.OpenSQLite(filepath.Join(f.dir, "coordinator", folder.LedgerFile))
	if err != nil {
		f.t.Fatal(err)
	}
	defer j.Close()
	chain, err := privacy.VerifyEach(ctx, j, func(privacy.Line) error { return nil })
	if err == nil {
		_, err = chain.CheckHead(head)
	}
	if err != nil {
		f.t.Errorf("%s witnesses against the coordinator: %v", party, err)
	}
}

// sumOf checks that the public sum of a release, with noise at the sites, adds up each
// contributor's upload once.
func (f *federated) sumOf(plan study.Plan, r study.Release) {
	if len(r.Sum) == 0 || len(f.restored) > 0 {
		return
	}
	sum, err := f.gathering(plan)
	if err != nil {
		f.t.Error(err)
		return
	}
	for _, p := range r.Contributed {
		body, err := os.ReadFile(filepath.Join(f.dir, "state-"+string(p), "studies",
			r.PlanHash.String(), "upload"))
		if err == nil {
			err = sum.Add(body)
		}
		if err != nil {
			f.t.Errorf("the upload of %s: %v", p, err)
		}
	}
	if b, err := sum.Contributions().MarshalBinary(); err != nil || !bytes.Equal(b, r.Sum) {
		f.t.Errorf("study %s: the sum is not each upload once (%v)", plan.Name, err)
	}
}

// gathering returns an empty Accumulator for a plan, on the pool that an agent stores.
func (f *federated) gathering(p study.Plan) (*study.Accumulator, error) {
	var table *dataset.Table
	kept, err := filepath.Glob(filepath.Join(f.dir, "state-*", "pools", "*"))
	for _, path := range kept {
		if file, _ := os.ReadFile(path); table == nil {
			table, _ = auxdata.ReadCSV(file, p.Pool)
		}
	}
	if table == nil {
		return nil, fmt.Errorf("no agent keeps pool %s: %v", p.Pool, err)
	}
	made, _, err := auxdata.New(p.Schema, p.Map, table)
	if err != nil {
		return nil, err
	}
	task, err := kinds.NewTask(p, made)
	if err != nil {
		return nil, err
	}
	return study.NewAccumulator(task)
}
