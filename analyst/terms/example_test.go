package terms_test

import (
	"fmt"

	"caucus/analyst/terms"
	"caucus/internal/yamlfile"
)

// A study file, with one term replaced on the command line.
func Example() {
	file, err := yamlfile.Parse("readmission.yaml", []byte("name: readmission\nepsilon: 1\nmap: {project: 5}\n"))
	if err != nil {
		panic(err)
	}
	s, err := terms.Read(file, ".", "",
		terms.Setting{Name: "epsilon", Value: "0.5", Typed: "--epsilon 0.5"})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Kind, s.Name, s.Epsilon, s.Map.Project)
	fmt.Println(s.Replaced[0])
	_, err = terms.Find(s.Kind, "estimator")
	fmt.Println(err)
	// Output:
	// classify readmission 0.5 5
	// --epsilon 0.5 replaces epsilon of the study file
	// estimator is a term of ratio studies; this one is of kind classify
}
