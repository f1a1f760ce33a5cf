package stated_test

import (
	"fmt"

	"caucus/study"
	"caucus/study/stated"
)

// A site reads what an operator states of a plan, and refuses the forecast of another plan.
func Example() {
	f := stated.Forecast{Looked: []float64{.8}, Shares: []float64{.7, .3}, Parties: 4, Records: 400,
		Gain: []float64{.03}, Helps: stated.Yes, Draws: 20, Majority: .7}
	document, err := stated.Statement{Plan: study.Hash{1}, AUC: .8, Forecast: &f}.Document()
	if err != nil {
		panic(err)
	}
	s, err := stated.Parse(document, study.Hash{1})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Words()[1])
	_, err = stated.Parse(document, study.Hash{2})
	fmt.Println("of another plan:", err != nil)
	// Output:
	// it helps: the release does better than one party alone
	// of another plan: true
}
