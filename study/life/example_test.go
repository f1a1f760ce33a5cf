package life_test

import (
	"fmt"
	"time"

	"caucus/study"
	"caucus/study/life"
)

// A study seals once its whole roster has contributed.
func Example() {
	p := study.Plan{Name: "readmission", Roster: []study.PartyID{"a", "b"}, Minimum: 2,
		Deadline: time.Unix(1e9, 0)}
	h := study.HashOf([]byte("the plan's canonical bytes"))
	s := life.New(p, h)
	for _, e := range []life.Event{
		life.StudyOpened{},
		life.ContributionReceived{Party: "a", Plan: h, Body: study.BodyDigest{1}},
		life.ContributionReceived{Party: "b", Plan: h, Body: study.BodyDigest{2}},
	} {
		effects, err := s.Step(e)
		fmt.Println(s.State, len(effects), err)
	}
	_, err := s.Step(life.ContributionReceived{Party: "c", Plan: h})
	fmt.Println(err)
	// Output:
	// open 1 <nil>
	// open 2 <nil>
	// sealed 4 <nil>
	// contribute to study: the party is not on the study's roster: c
}
