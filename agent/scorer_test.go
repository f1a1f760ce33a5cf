//go:build !windows

package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"caucus/agent/site"
	"caucus/privacy"
	"caucus/study"
)

// scoredRig is a site that scores its records by one line of shell, in a study of whole parties.
func scoredRig(dir, line string) *rig {
	r := rigIn(dir, func(p *study.Proposal) {
		p.Kind, p.Unit, p.Noise, p.Mechanism = "evaluate", privacy.Party, study.NoiseCoordinator,
			"laplace"
		p.KindTerms = []byte(`{"program":true,"per_party":100,"bins":4}`)
	})
	r.Config.Scorer = site.Program{Command: []string{"/bin/sh", "-c", line, "score"},
		Timeout: 20 * time.Second}
	r.Config.Policy.Kinds, r.Config.Policy.Mechanisms,
		r.Config.Policy.Learners = []string{"evaluate"}, []string{"laplace"}, []string{"any"}
	r.Config.Policy.TotalLimit[privacy.Party] = privacy.Budget{Epsilon: 2, Delta: 1e-5}
	delete(r.Config.Policy.TotalLimit, privacy.Record)
	delete(r.Config.Policy.StudyLimit, privacy.Record)
	return r
}

// TestScorerFails: whatever a program does, messages come at the same moments, a body of the same
// size is sent, and log and audit log have the same length; a failing program leaves all records
// without a score, and the reason is in the study's folder. The test sets the clock.
func TestScorerFails(t *testing.T) {
	const none = `tail -n +2 "$1" | while read line; do echo 0.5; done`
	var moments []string
	var unscored []byte
	var long, size int
	for _, c := range []struct {
		line  string
		fails bool
	}{
		{none + `; exit 4`, true},
		{none, false},
		{`grep 97.53 "$1" >&2; exit 1`, true}, // its message holds a record
		{`echo 0.5`, true},
		{none + ` | sed '2s/.*/nan/'`, true},
		{none + ` | sed '$s/.*/1.5/'`, true},
		{`cat "$1"`, true},
		{`sleep 0.3; ` + none, false},
		{`kill -9 $$`, true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := scoredRig(dir, c.line)
			r.Config.Poll = 150 * time.Millisecond
			a, h := r.heard(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := a.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if len(r.bodies) != 1 {
				t.Fatalf("%s: %d uploads; log:\n%s", c.line, len(r.bodies), r.Log)
			}
			note, _ := a.site.Studies.Folder(r.hash).Read(site.FileVoteFailure)
			if (note != nil) != c.fails {
				t.Errorf("%s: noted %q", c.line, note)
			}
			audit, err := os.ReadFile(filepath.Join(r.Config.State, "audit.log"))
			if err != nil {
				t.Fatal(err)
			}
			told := r.Log.String() + string(audit)
			if strings.Contains(told, planted) {
				t.Errorf("%s: a log holds a record:\n%s", c.line, told)
			}
			if moments == nil {
				moments, unscored, long, size = h.s.all, r.bodies[0], strings.Count(told,
					"\n"), len(r.bodies[0])
			}
			if got := strings.Count(told, "\n"); got != long {
				t.Errorf("%s: %d lines of logs, want %d:\n%s", c.line, got, long, told)
			}
			if !slices.Equal(h.s.all, moments) {
				t.Errorf("%s: heard %v, want %v", c.line, h.s.all, moments)
			}
			if len(r.bodies[0]) != size ||
				slices.Equal(numbersOf(r.bodies[0]), numbersOf(unscored)) != c.fails {
				t.Errorf("%s: a body of %d bytes, want %d; all without a score %v", c.line, len(r.bodies[0]), size, !c.fails)
			}
		})
	}
}

// TestScorerNamed: a site without a program, or whose policy allows none, refuses a study that
// needs one, and is told why.
func TestScorerNamed(t *testing.T) {
	for says, change := range map[string]func(*rig){
		"none is named: write scorer":  func(r *rig) { r.Config.Scorer = site.Program{} },
		`learner "any" is not allowed`: func(r *rig) { r.Config.Policy.Learners = nil },
	} {
		r := scoredRig(t.TempDir(), "true")
		change(r)
		a := r.agent(t)
		if err := a.PollOnce(context.Background()); err != nil {
			t.Fatal(err)
		}
		review, _, err := a.Preview(context.Background(), "illness")
		if err != nil || review.Allowed ||
			!strings.Contains(strings.Join(review.Objections, "; "), says) || len(r.bodies) > 0 ||
			len(a.preparation.queue) > 0 {
			t.Errorf("objections %q, want %q: %v", review.Objections, says, err)
		}
	}
	for text, says := range map[string]string{
		"scorer: {timeout: 4s}\n":                "name the program",
		"scorer: {command: [x], timeout: 2ms}\n": "100ms to 24h",
		"scorer: {comand: [x]}\n":                `do you mean "command"`,
	} {
		if _, err := site.ParseConfig([]byte("state: s\n" + text)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
