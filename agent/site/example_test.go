package site_test

import (
	"fmt"

	"caucus/agent/site"
	"caucus/privacy"
)

// A site's configuration states in a few lines what it allows; an error names the line.
func Example() {
	const text = `
state: state
data: {ward: {file: ward.csv, schema: schema.yaml}}
policy:
  kinds: [classify]
  mechanisms: [cross]
  noise: [site]
  study: {record: {epsilon: 1, delta: 1e-6}}
  total: {record: {epsilon: 5, delta: 1e-5}}
  minimum_parties: 3
`
	c, err := site.ParseConfig([]byte(text))
	if err != nil {
		panic(err)
	}
	fmt.Println("in all, for each record: epsilon", c.Policy.TotalLimit[privacy.Record].Epsilon,
		"approved by a", c.Policy.Approval)
	_, err = site.ParseConfig([]byte(text + "  minimum_partys: 5\n"))
	fmt.Println(err)
	// Output:
	// in all, for each record: epsilon 5 approved by a person
	// line 11: policy: unknown key "minimum_partys": do you mean "minimum_parties"?
}
