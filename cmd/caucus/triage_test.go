package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// triageSchema is the schema of the triage records: three classes.
const triageSchema = `name: triage
label: {column: urgency, classes: [green, amber, red]}
features:
  - {column: age, kind: numeric, min: 18, max: 100}
  - {column: pulse, kind: numeric, min: 40, max: 180}
  - {column: pain, kind: numeric, min: 0, max: 10}
  - {column: arrival, kind: categorical, levels: [walked, ambulance]}
`

// triage writes triage.yaml, a pool without labels, test records, and the records of three wards
// and a fourth. Ward b has labels that are no class; ward c has one class only.
func triage(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "triage.yaml"), []byte(triageSchema),
		0o600); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, f := range []struct {
		name string
		rows int
	}{{"pool", 400}, {"test", 600}, {"a", 900}, {"b", 900}, {"c", 60}, {"d", 300}} {
		file, err := os.Create(filepath.Join(dir, "triage-"+f.name+".csv"))
		if err != nil {
			return err
		}
		out := csv.NewWriter(file)
		columns := []string{"age", "pulse", "pain", "arrival", "urgency"}
		if f.name == "pool" {
			columns = columns[:4]
		}
		out.Write(columns)
		for i := 0; i < f.rows; {
			age, pulse, pain, arrival := 18+rng.IntN(80), 50+rng.IntN(100), rng.IntN(11),
				[]string{"walked", "ambulance"}[rng.IntN(2)]
			need := 0.02*float64(age) + 0.04*float64(pulse) + 0.3*float64(pain) +
				0.3*rng.NormFloat64()
			if arrival == "ambulance" {
				need++
			}
			urgency := "green"
			if need > 8.2 {
				urgency = "red"
			} else if need > 6.6 {
				urgency = "amber"
			}
			switch {
			case f.name == "b" && i%100 == 7:
				urgency = "purple"
			case f.name == "c" && urgency != "green":
				continue
			}
			row := []string{fmt.Sprint(age), fmt.Sprint(pulse), fmt.Sprint(pain), arrival, urgency}
			out.Write(row[:len(columns)])
			i++
		}
		out.Flush()
		if err := out.Error(); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
