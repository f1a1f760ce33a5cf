package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// decided returns all that a site's own draft of a study decides: the exact numbers, and what is
// sent in clear beside them.
func decided(t *testing.T, r *rig, key byte) string {
	t.Helper()
	secret := bytes.Repeat([]byte{key}, sha256.Size)
	if err := protocol.WriteSecret(filepath.Join(r.Config.State, "shard.key"), secret); err != nil {
		t.Fatal(err)
	}
	a, p, ctx := r.agent(t), r.study.Plan, context.Background()
	defer a.Close()
	if _, err := r.Pool(ctx, r.study, a.site.PoolsDir); err != nil {
		t.Fatal(err)
	}
	task, err := a.site.Task(p)
	if err != nil {
		t.Fatal(err)
	}
	w := window{study: r.hash, plan: p, task: task, records: 60}
	w.span.PerShard = time.Hour
	var made study.Contribution
	if p.Noise.Shared() {
		in := a.site.Records(r.hash, p, 60, study.TakesBlocks(task, 60))
		if made.Requests, err = uploading.ExactRequests(task, in); err != nil {
			t.Fatal(err)
		}
	} else {
		draft := drafted(ctx, a.site, w)
		if made = draft.Contribution; made.Body == nil || draft.late != "" {
			t.Fatalf("no draft was made in time: %q", draft.late)
		}
	}
	var view bytes.Buffer
	fmt.Fprintln(&view, exactly(t, made.Requests))
	if made.Body == nil {
		return view.String()
	}
	ledger, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	published, err := study.ReleaseRequests(ctx, ledger, r.hash, made.Requests)
	if err != nil {
		t.Fatal(err)
	}
	body, err := made.Body(published)
	if err != nil {
		t.Fatal(err)
	}
	if p.Noise.SumsInClear() {
		body = body[sha256.Size:] // without the commitment, which follows from the key in each plan
	}
	for _, one := range published { // its numbers are noisy and end the body
		body = body[:len(body)-8*len(one.Values)-len(one.EntryHash)-8]
	}
	fmt.Fprintf(&view, "%x", body)
	return view.String()
}

// exactly returns what requests ask a ledger to release, before any noise.
func exactly(t *testing.T, requests []study.Request) (exact [][]int64) {
	t.Helper()
	for _, ask := range requests {
		none := privacy.NewSimulation(1)
		r, err := none.Release(t.Context(), ask.Output, ask.Sensitive, privacy.Unperturbed{})
		if err != nil {
			t.Fatal(err)
		}
		exact = append(exact, r.Values)
	}
	return exact
}

// TestPreviewIsWhatLeaves: a preview shows the numbers that a site's ledger is asked to release,
// from the same shards and by learners that draw the same.
func TestPreviewIsWhatLeaves(t *testing.T) {
	for name, change := range plans() {
		t.Run(name, func(t *testing.T) {
			r := visitsRig(t, change)
			a, p := r.agent(t), r.study.Plan
			if err := a.PollOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			shown, err := a.Values(t.Context(), r.hash)
			if err != nil {
				t.Fatal(err)
			}
			task, err := a.site.Task(p)
			if err != nil {
				t.Fatal(err)
			}
			w := window{study: r.hash, plan: p, task: task, records: 60}
			w.span.PerShard = time.Hour
			made := drafted(t.Context(), a.site, w).Contribution
			for i, exact := range exactly(t, made.Requests) {
				if !slices.Equal(shown[i].Values, exact) {
					t.Errorf("a preview shows\n%v, what leaves is\n%v", shown[i].Values, exact)
				}
			}
		})
	}
}

// TestDraftsHaveATime: each classifier of a draft may take the time that the window has for one,
// also if it starts late because another was slow.
func TestDraftsHaveATime(t *testing.T) {
	r := visitsRig(t, plans()["classify by tally, unit record, noise site, 3 shards"])
	a := r.agent(t)
	if _, err := r.Pool(t.Context(), r.study, a.site.PoolsDir); err != nil {
		t.Fatal(err)
	}
	task, err := a.site.Task(r.study.Plan)
	if err != nil {
		t.Fatal(err)
	}
	w := window{study: r.hash, plan: r.study.Plan, task: task, records: 60}
	w.span.PerShard = -time.Second
	if d := drafted(t.Context(), a.site, w); d.late != "3 classifiers" || d.Body == nil {
		t.Errorf("without any time: %q, want 3 classifiers late", d.late)
	}
	synctest.Test(t, func(t *testing.T) {
		var l late
		within := l.within(t.Context(), time.Hour)
		for range 3 {
			began := time.Now()
			ctx, end := within()
			if ends, ok := ctx.Deadline(); !ok || ends.Sub(began) != time.Hour || ctx.Err() != nil {
				t.Errorf("a classifier has until %v, it begins at %v: %v", ends, began, ctx.Err())
			}
			time.Sleep(59 * time.Minute)
			end(false)
		}
	})
}

// TestLateHasTheSitesKey: a contribution of empty records, which replaces one that was not ready,
// is made under the site's key too. By a key that all know, the digest of its body would tell that
// a site was late.
func TestLateHasTheSitesKey(t *testing.T) {
	late := func(key byte, change func(*study.Proposal)) []byte {
		r := visitsRig(t, change)
		decided(t, r, key)
		a := r.agent(t)
		task, err := a.site.Task(r.study.Plan)
		if err != nil {
			t.Fatal(err)
		}
		w := window{study: r.hash, plan: r.study.Plan, task: task, records: 60}
		body, err := settle(t.Context(), a.site, w)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	for name, change := range plans() {
		if p := visitsRig(t, change).study.Plan; !p.Noise.SumsInClear() {
			continue
		}
		one, other := late(1, change), late(2, change)
		if bytes.Equal(one, other) || !bytes.Equal(one[sha256.Size:], other[sha256.Size:]) {
			t.Errorf("%s: two late sites send\n%x\n%x", name, one, other)
		}
	}
}

// TestSitesWithOneFile: sites with one file but other keys have other shards, sets and orders of
// sending, in every plan that has any, and take other records of a file with more than were
// declared. A site's draft is the same again.
func TestSitesWithOneFile(t *testing.T) {
	keyed := func(p study.Plan) bool {
		return p.Kind == "ratio" && p.Mechanism != "gaussian" || p.Kind == "labels" ||
			p.Kind == "evaluate" && p.Unit == privacy.Party ||
			p.Kind == "classify" && bytes.Contains(p.KindTerms, []byte(`"shards":3`))
	}
	// The names of patients are read under the site's key too, so one of two files has no names.
	nameless := strings.Replace(visitsYAML, "patient: patient\n", "", 1)
	both := func(name string, do func(t *testing.T, yaml string)) {
		t.Run(name, func(t *testing.T) { do(t, nameless) })
		t.Run(name+", patients are named", func(t *testing.T) { do(t, visitsYAML) })
	}
	for name, change := range plans() {
		both(name, func(t *testing.T, yaml string) {
			r := visitsRigOf(t, yaml, change)
			u := r.study.Plan.Unit
			differ := func(want bool, file string) {
				t.Helper()
				r.WriteFile(t, variantsOf(t, u, false)[file])
				first := decided(t, r, 1)
				if again := decided(t, r, 1); again != first {
					t.Errorf("%s: a site makes its contribution again otherwise", file)
				}
				ways := map[string]bool{first: true}
				for key := range byte(4) {
					ways[decided(t, r, key+2)] = true
				}
				if (len(ways) > 1) != want {
					t.Errorf("%s: 5 sites with one file differ in %d ways", file, len(ways))
				}
			}
			differ(keyed(r.study.Plan), "as declared")
			if r.study.Plan.Mechanism == "cross" || r.study.Plan.Kind == "describe" {
				differ(true, "twice as many")
			}
		})
	}
}
