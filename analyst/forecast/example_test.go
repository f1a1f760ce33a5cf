package forecast_test

import (
	"context"
	"fmt"

	"caucus/analyst/forecast"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// Forecast a study of a hundred small parties before anybody agrees to it, from public inputs
// alone.
func Example() {
	c := dataset.DefaultHospitalConfig()
	c.Records = 300
	table, schema := dataset.Hospitals(c)
	p := study.Proposal{Name: "x", Unit: privacy.Party, Mechanism: "means", Epsilon: 1, Records: 24, KindTerms: []byte(`{"class_shares":[0.7,0.3]}`), Map: dataset.Components{Project: 5}}
	for i := range 500 {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("practice-%d", i)))
	}
	made, err := kinds.Propose(p, schema, table)
	if err != nil {
		panic(err)
	}
	f, err := forecast.Draw(context.Background(), made.Plan, made.Pool,
		forecast.Public{Size: made.Size, AUC: .85}, forecast.Options{Draws: 3})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Helps, f.Released.Accuracy.Mean > f.Alone.Accuracy.Mean, f.Majority)
	// Output: yes true 0.7
}
