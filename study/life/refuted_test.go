package life

import (
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/study"
)

// TestRefuted: contributions that both servers refuse are dropped from a sealed study, once. The
// study fails if too few are left. In any other state nothing happens.
func TestRefuted(t *testing.T) {
	p := study.Plan{Name: "s", Roster: []study.PartyID{"a", "b", "c"}, Minimum: 2,
		Deadline: time.Unix(1e9, 0)}
	h := study.Hash{1}
	sealed := func() *Study {
		s := New(p, h)
		for _, e := range []Event{StudyOpened{}, ContributionReceived{"a", h, study.BodyDigest{1}},
			ContributionReceived{"b", h, study.BodyDigest{2}}, ProofsRefuted{[]study.PartyID{"a"}},
			ContributionReceived{"c", h, study.BodyDigest{3}}} {
			if _, err := s.Step(e); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	s := sealed()
	if s.State != study.Sealed || len(s.Received) != 3 {
		t.Fatalf("it is %s with %d contributions: refused while it was open", s.State, len(s.Received))
	}
	effects, err := s.Step(ProofsRefuted{[]study.PartyID{"b", "nobody"}})
	if err != nil || s.State != study.Sealed || len(s.Received) != 2 {
		t.Fatalf("it is %s with %d contributions, %v", s.State, len(s.Received), err)
	}
	if drop, ok := effects[0].(DropContributions); !ok ||
		!slices.Equal(drop.Parties, []study.PartyID{"b"}) {
		t.Errorf("the effects are %v", effects)
	}
	if effects, err = s.Step(ProofsRefuted{[]study.PartyID{"b", "nobody"}}); err != nil ||
		len(effects) != 0 {
		t.Errorf("told again: %v, %v", effects, err)
	}
	if _, err := s.Step(SumDone{2}); err != nil || s.State != study.Summed {
		t.Errorf("it is %s, %v", s.State, err)
	}
	s = sealed()
	if _, err := s.Step(ProofsRefuted{[]study.PartyID{"a", "b"}}); err != nil ||
		s.State != study.Failed || !strings.Contains(s.Reason, "both servers refused what 2 sent") {
		t.Errorf("it is %s: %s, %v", s.State, s.Reason, err)
	}
}
