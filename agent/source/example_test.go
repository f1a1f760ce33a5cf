package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"caucus/agent/source"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// A person declares a file once; a study gets as many records as were declared, whatever
// becomes of the file.
func Example() {
	dir, err := os.MkdirTemp("", "source")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file, schema := filepath.Join(dir, "ward.csv"), filepath.Join(dir, "schema.yaml")
	const meaning = "label: {column: ill, classes: [\"no\", \"yes\"]}\nfeatures: [{column: age, kind: numeric, min: 0, max: 100}]\n"
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	write(schema, meaning)
	write(file, "age,ill\n"+strings.Repeat("30,no\n", 123))
	sources := source.Sources{Dir: dir, Named: map[string]source.Source{"ward": {File: file, Schema: schema}}, Now: time.Now}
	report, err := sources.Declare("ward", false, func(d *source.Declaration) error { d.By = "alice"; return nil })
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Found, "records were found,", report.Declared.Records, "declared")

	write(file, "something else")
	asked, err := dataset.ParseSchema(strings.NewReader(meaning))
	if err != nil {
		panic(err)
	}
	records, _, unread := sources.Records(study.Plan{Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Delta: 1e-6, Schema: asked}, report.Declared.Records, []byte("key"))
	fmt.Println("a study gets", records.Len(), "records, and the site knows why they are empty:", unread != nil)
	// Output:
	// 123 records were found, 120 declared
	// a study gets 120 records, and the site knows why they are empty: true
}
