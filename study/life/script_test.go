package life

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/study"
)

var update = flag.Bool("update", false, "rewrite the expected output of testdata/*.txt; read the diff")

// TestScripts plays testdata/*.txt through the machine. Each block of a script is a command, a line
// "----" and the expected output; blank lines separate blocks.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var s *Study
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
				var comment []string
				lines := strings.Split(block, "\n")
				for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
					comment, lines = append(comment, lines[0]), lines[1:]
				}
				command, want, _ := strings.Cut(strings.Join(lines, "\n"), "\n----")
				got := play(&s, strings.Fields(command))
				if i > 0 {
					out.WriteString("\n")
				}
				for _, c := range comment {
					out.WriteString(c + "\n")
				}
				if command == "" {
					continue
				}
				fmt.Fprintf(&out, "%s\n----\n%s\n", command, got)
				if !*update && strings.TrimSpace(want) != got {
					t.Errorf("%s\nhave:\n%s\nwant:\n%s", command, got, strings.TrimSpace(want))
				}
			}
			if *update {
				if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func play(s **Study, words []string) string {
	digest := func(text string) study.BodyDigest { return sha256.Sum256([]byte(text)) }
	event := Event(nil)
	switch words[0] {
	case "study": // study parties=N minimum=M [floor=F] [share=S]
		p := study.Plan{Name: "script", Unit: privacy.Record, Epsilon: 1, Delta: 1e-6,
			Deadline: scriptDay(1)}
		n := 0
		fmt.Sscanf(words[1], "parties=%d", &n)
		fmt.Sscanf(words[2], "minimum=%d", &p.Minimum)
		for _, w := range words[3:] {
			share := 0.0
			fmt.Sscanf(w, "floor=%d", &p.Floor)
			if fmt.Sscanf(w, "share=%g", &share); share > 0 {
				p.Seal = &study.SealRule{Share: share}
			}
		}
		for i := range n {
			p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("p%d", i+1)))
		}
		*s = New(p, study.HashOf([]byte("plan")))
		return string((*s).State)
	case "restart":
		old := *s
		*s = Restore(old.Plan, old.Hash, old.Snapshot)
		return describe((*s).Resume(), nil, *s)
	case "open":
		event = StudyOpened{}
	case "contribute": // contribute PARTY [BODY] [PLAN]
		body, plan := words[1], "plan"
		if len(words) > 2 {
			body = words[2]
		}
		if len(words) > 3 {
			plan = words[3]
		}
		event = ContributionReceived{Party: study.PartyID(words[1]), Body: digest(body),
			Plan: study.HashOf([]byte(plan))}
	case "return": // return PARTY: resend the lost bytes
		event = ContributionReturned{Party: study.PartyID(words[1])}
	case "deadline":
		event = DeadlinePassed{}
	case "share":
		event = QuietTimePassed{}
	case "close":
		event = StudyClosed{}
	case "extend": // extend DAY [minimum=M] [share=S] [charged] [reopens]
		e, day, a := (*s).Ending(), 0, StudyAmended{}
		fmt.Sscan(words[1], &day)
		e.Deadline = scriptDay(day)
		reopens := (*s).State == study.Failed
		for _, w := range words[2:] {
			share := 0.0
			fmt.Sscanf(w, "minimum=%d", &e.Minimum)
			if fmt.Sscanf(w, "share=%g", &share); share > 0 {
				e.Seal = &study.SealRule{Share: share}
			}
			a.Charged = a.Charged || w == "charged"
			reopens = reopens || w == "reopens"
		}
		document, err := (*s).Chain.Next(e, reopens, scriptDay(0), privacy.Head{})
		if err != nil {
			return "error: " + err.Error()
		}
		a.Document = document
		event = a
	case "folded":
		n := 0
		fmt.Sscan(words[1], &n)
		event = SumDone{n}
	case "reseal": // reseal PARTY...: their contributions stay lost
		var without []study.PartyID
		for _, w := range words[1:] {
			without = append(without, study.PartyID(w))
		}
		event = SealedWithoutLost{without}
	case "lose-sum":
		event = SumLost{}
	case "released":
		event = ReleaseDone{}
	case "cancel":
		event = StudyCancelled{Reason: strings.Join(words[1:], " ")}
	default:
		return "unknown command " + words[0]
	}
	effects, err := (*s).Step(event)
	return describe(effects, err, *s)
}

func scriptDay(n int) time.Time { return time.Date(2026, 1, 1+n, 12, 0, 0, 0, time.UTC) }

func describe(effects []Effect, err error, s *Study) string {
	if err != nil {
		for _, sentinel := range []error{study.ErrNotOpen, study.ErrNotEnrolled,
			study.ErrDifferentPlan,
			study.ErrDifferentUpload} {
			if errors.Is(err, sentinel) {
				return "error: " + sentinel.Error()
			}
		}
		return "error: " + err.Error()
	}
	var out []string
	for _, e := range effects {
		switch e := e.(type) {
		case StoreContribution:
			out = append(out, "store contribution of "+string(e.Party))
		case RestoreContribution:
			out = append(out, "restore contribution of "+string(e.Party))
		case DropContributions:
			out = append(out, fmt.Sprint("drop contributions of ", e.Parties))
		case StoreAmendment:
			out = append(out, fmt.Sprintf("store amendment %d: %s", s.Chain.Len(),
				s.Ending().Words(len(s.Plan.Roster))))
		case SendReceipt:
			out = append(out, "receipt to "+string(e.Party))
		case StoreState:
			text := "store state " + string(e.State)
			if e.Reason != "" {
				text += ": " + e.Reason
			}
			out = append(out, text)
		case FoldSum:
			out = append(out, fmt.Sprintf("fold %d", e.Contributions))
		case MakeRelease:
			contributed, missing := s.Contributors()
			out = append(out, fmt.Sprintf("release %d: contributed %v, missing %v", e.Contributions,
				contributed, missing))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "\n")
}
