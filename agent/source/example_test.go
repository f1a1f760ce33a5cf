package source_test

import (
	"context"
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

// A person declares a file once; a study then gets the declared number of records, whatever happens
// to the file.
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
	write(file, "age,ill\n"+strings.Repeat("30,no\n", 1237))
	sources := source.Sources{Dir: dir, Imports: filepath.Join(dir, "imports"),
		Key:   []byte("the site's secret"),
		Named: map[string]source.Source{"ward": {File: file, Schema: schema}}, Now: time.Now}
	report, err := sources.Declare(context.Background(), "ward", source.How{},
		func(d *source.Declaration) error {
			d.By = "alice"
			return nil
		})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Found, "records were found,", report.Declared.Records, "declared")

	write(file, "something else")
	asked, err := dataset.ParseSchema(strings.NewReader(meaning))
	if err != nil {
		panic(err)
	}
	in, _, _ := sources.Records(study.Plan{Kind: "classify", Mechanism: "cross",
		Unit: privacy.Record, Delta: 1e-6, Schema: asked}, report.Declared.Records, false)
	fmt.Println("a study gets", in.Records.Len(), "records, whatever became of the file")
	// Output:
	// 1237 records were found, 1230 declared
	// a study gets 1230 records, whatever became of the file
}
