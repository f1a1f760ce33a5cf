//go:build !windows

package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/agent/site"
	"caucus/aggregation"
	"caucus/privacy"
	"caucus/study"
)

// chosenByParties is a study at unit party that leaves the classifier to each party.
func chosenByParties(p *study.Proposal) {
	p.Unit, p.Mechanism, p.Noise = privacy.Party, "tally", study.NoiseCoordinator
	p.KindTerms = []byte(`{"learner":"any"}`)
}

// ownRig is a site that votes by one line of shell.
func ownRig(t *testing.T, dir, line string) *rig {
	t.Helper()
	r := rigIn(dir, chosenByParties)
	r.Config.Learner.Command = []string{"/bin/sh", "-c", line, "vote"}
	r.Config.Learner.Timeout = 20 * time.Second
	r.Config.Policy.Learners = []string{"any"}
	r.Config.Policy.TotalLimit[privacy.Party] = privacy.Budget{Epsilon: 2, Delta: 1e-5}
	delete(r.Config.Policy.TotalLimit, privacy.Record)
	delete(r.Config.Policy.StudyLimit, privacy.Record)
	return r
}

// numbersOf returns the exact numbers of a body, which follow the commitment to them (package
// bodies).
func numbersOf(body []byte) []byte { return body[sha256.Size:] }

// ballotOf returns the ballot sent, a vote for each row of the pool.
func ballotOf(t *testing.T, r *rig) []int64 {
	t.Helper()
	if len(r.bodies) != 1 {
		t.Fatalf("%d uploads, want 1; log:\n%s", len(r.bodies), r.Log)
	}
	b, err := aggregation.ParseBallot(numbersOf(r.bodies[0]), 60, 2)
	if err != nil {
		t.Fatal(err)
	}
	tally := aggregation.NewTally(60, 2)
	if err := tally.Add(b); err != nil {
		t.Fatal(err)
	}
	return tally.Vector()
}

// TestOwnClassifierVotes: the program's answer is the site's ballot: yes for rows with (i·7) mod
// 100 above 49.
func TestOwnClassifierVotes(t *testing.T) {
	r := ownRig(t, t.TempDir(), `
		[ "$(wc -l < "$1")" = 62 ] || exit 1
		tail -n +2 "$2" | while IFS=, read age sex; do if [ "$age" -gt 49 ]; then echo yes; else echo no; fi; done`)
	a := r.agent(t)
	if err := a.PollOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	if span := a.preparation.queue[0].span; span.PerShard < 20*time.Second ||
		span.Prepare < span.PerShard {
		t.Errorf("the window is %+v, the program may take 20 s", span)
	}
	a.SendCharged(context.Background())
	for i, v := range ballotOf(t, r) {
		want := int64(0)
		if (i*7)%100 > 49 {
			want = 1
		}
		if v != want {
			t.Fatalf("row %d: %d votes for yes, want %d", i, v, want)
		}
	}
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil || len(review.Problems) > 0 ||
		!strings.Contains(review.Learner, "this site's own program") {
		t.Errorf("learner %q, problems %q: %v", review.Learner, review.Problems, err)
	}
	if left, err := os.ReadDir(filepath.Join(r.Config.State, "scratch")); err != nil ||
		len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestOwnClassifierFails: whatever the program does, messages come at the same moments, a valid
// ballot of the same size is sent, and log and audit log are the same; the reason is in the study's
// folder, for the site. The test sets the clock.
func TestOwnClassifierFails(t *testing.T) {
	const votes = `tail -n +2 "$2" | while read line; do echo no; done`
	var heardFirst []string
	var first map[string]string
	for line, fails := range map[string]bool{
		votes:                         false,
		votes + `; exit 4`:            true,
		`grep 97.53 "$1" >&2; exit 1`: true, // its message holds a record
		`echo yes`:                    true,
		`cat "$1"`:                    true,
		`sleep 0.4; ` + votes:         false,
		`kill -9 $$`:                  true,
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := ownRig(t, dir, line)
			r.Config.Poll = 150 * time.Millisecond
			a, h := r.heard(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := a.Run(ctx); err != nil {
				t.Fatal(err)
			}
			d := a.site.Studies.Folder(r.hash)
			note, _ := d.Read(site.FileVoteFailure)
			if (note != nil) != fails {
				t.Errorf("%s: noted %q", line, note)
			}
			for i, v := range ballotOf(t, r) {
				if v != 0 {
					t.Fatalf("%s: row %d has another vote than the constant", line, i)
				}
			}
			audit, err := os.ReadFile(filepath.Join(r.Config.State, "audit.log"))
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]string{"log": r.Log.String(), "audit log": string(audit),
				"body": fmt.Sprintf("%x", r.bodies[0])}
			if first == nil {
				first, heardFirst = told, h.s.all
			}
			for what, text := range told {
				if strings.Contains(text, planted) {
					t.Errorf("%s: the %s holds a record:\n%s", line, what, text)
				}
				if got, want := withoutPaths(text, dir), first[what]; what != "log" &&
					got != want && len(got) != len(want) {
					t.Errorf("%s: another %s:\n%s\n%s", line, what, got, want)
				}
				if n, want := strings.Count(text, "\n"), strings.Count(first[what],
					"\n"); n != want {
					t.Errorf("%s: %d lines of %s, want %d:\n%s", line, n, what, want, text)
				}
			}
			if !slices.Equal(h.s.all, heardFirst) {
				t.Errorf("%s is heard at other times:\n%q\n%q", line, h.s.all, heardFirst)
			}
		})
	}
}

func withoutPaths(text, dir string) string { return strings.ReplaceAll(text, dir, "") }

// TestOwnClassifierIsShown: a preview's values run the program, and report its errors.
func TestOwnClassifierIsShown(t *testing.T) {
	r := ownRig(t, t.TempDir(), `echo it cannot >&2; exit 2`)
	a := r.agent(t)
	if _, _, err := a.Preview(context.Background(), "illness"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Values(context.Background(), r.hash); err == nil ||
		!strings.Contains(err.Error(), "it cannot") {
		t.Errorf("values of a broken program: %v", err)
	}
}

// TestAnyNeedsThePolicy: a plan that leaves the classifier to the site is refused unless the policy
// names any; a site may then choose a built-in one.
func TestAnyNeedsThePolicy(t *testing.T) {
	r := ownRig(t, t.TempDir(), "true")
	r.Config.Policy.Learners = []string{"softmax", "forest"}
	a := r.agent(t)
	round(t, a)
	if r.declined == 0 || len(r.bodies) > 0 {
		t.Errorf("declined %d times, sent %d", r.declined, len(r.bodies))
	}
	r = ownRig(t, t.TempDir(), "")
	r.Config.Learner = site.Learner{Name: "cart"}
	a = r.agent(t)
	round(t, a)
	if v := ballotOf(t, r); !slices.Contains(v, 1) || !slices.Contains(v, 0) {
		t.Errorf("a tree's ballot is constant: %v", v)
	}
}

// TestScratchIsTidied: a program's files from an agent that was killed are removed at the next
// start.
func TestScratchIsTidied(t *testing.T) {
	r := ownRig(t, t.TempDir(), "true")
	left := filepath.Join(r.Config.State, "scratch", "voter-1")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
}
