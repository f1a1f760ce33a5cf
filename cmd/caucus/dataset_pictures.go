package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"caucus/dataset"
)

// pictureFiles holds the flags of dataset pictures.
type pictureFiles struct {
	archive, part, images, labels, out, schema string
	classes                                    []string
}

// pictureTable is the JSON document of dataset pictures.
type pictureTable struct {
	Pictures int      `json:"pictures"`
	Columns  int      `json:"pixel_columns"`
	Classes  []string `json:"classes"`
	Out      string   `json:"out"`
	Schema   string   `json:"schema"`
}

func newDatasetPictures(c *console) *cobra.Command {
	var p pictureFiles
	cmd := &cobra.Command{
		Use:   "pictures",
		Short: "Turn pictures into a CSV file and its schema",
		Long: `Read labelled pictures of one size and write them as CSV, a column a pixel and
colour, with the schema that goes with it. Pictures are JPEG files in a tar
archive (.gz or not), one folder a class, or IDX files as of MNIST.`,
		Example: `  tar czf animals.tar.gz -C animals cat dog
  caucus dataset pictures --archive animals.tar.gz --classes cat,dog --out animals.csv --schema animals.yaml
  caucus dataset pictures --images images-idx3-ubyte.gz --labels labels-idx1-ubyte.gz --classes 0,1 --out digits.csv --schema digits.yaml`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return p.run(c) },
	}
	f := cmd.Flags()
	f.StringVar(&p.archive, "archive", "", "tar archive of JPEG files, CLASS/NAME.jpg")
	f.StringVar(&p.part, "part", "", "folder of the archive that holds the class folders, such as train")
	f.StringVar(&p.images, "images", "", "IDX file of images")
	f.StringVar(&p.labels, "labels", "", "IDX file of their labels")
	reads(f, "archive", "images", "labels")
	f.StringSliceVar(&p.classes, "classes", nil, "the classes, in order")
	f.StringVar(&p.out, "out", "", "CSV file to write")
	writes(f, "out", ".csv")
	f.StringVar(&p.schema, "schema", "", "schema file to write")
	writes(f, "schema", ".yaml", ".yml")
	return cmd
}

func (p pictureFiles) run(c *console) error {
	switch {
	case (p.archive == "") == (p.images == ""):
		return usagef("give --archive FILE, or --images FILE and --labels FILE")
	case p.images != "" && p.labels == "":
		return usagef("--images needs --labels FILE")
	case len(p.classes) < 2:
		return usagef("--classes: name at least two, as in --classes cat,dog")
	case p.out == "" || p.schema == "":
		return usagef("say where to write: --out FILE.csv and --schema FILE.yaml")
	}
	table, err := p.read()
	if err != nil {
		return err
	}
	pixels := len(table.Columns()) - 1
	schema := dataset.Schema{
		Label:    dataset.Label{Column: "label", Classes: p.classes},
		Features: []dataset.Feature{{Columns: []string{fmt.Sprintf("p0..p%d", pixels-1)}, Kind: dataset.Numeric, Max: 255}},
	}
	if err := schema.Validate(); err != nil {
		return err
	}
	text, err := schema.YAML()
	if err != nil {
		return err
	}
	if err := c.writeText(p.schema, text); err != nil {
		return err
	}
	if err := c.write(p.out, table.WriteCSV); err != nil {
		return err
	}
	doc := pictureTable{table.Rows(), pixels, p.classes, p.out, p.schema}
	return c.print(doc, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s of %d pixels and colours in classes %s\ntry: caucus simulate labels --train %s --schema %s --pictures HEIGHTxWIDTHxCOLOURS\n",
			counted(doc.Pictures, "pictures"), doc.Columns, strings.Join(doc.Classes, ", "), p.out, p.schema)
		return err
	})
}

func (p pictureFiles) read() (*dataset.Table, error) {
	if p.archive != "" {
		file, err := os.Open(p.archive)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		t, err := dataset.ReadJPEGs(file, p.part, p.classes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.archive, err)
		}
		return t, nil
	}
	images, err := os.Open(p.images)
	if err != nil {
		return nil, err
	}
	defer images.Close()
	labels, err := os.Open(p.labels)
	if err != nil {
		return nil, err
	}
	defer labels.Close()
	t, err := dataset.ReadIDX(images, labels)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", p.images, p.labels, err)
	}
	return t, nil
}

// parsePictures reads "32x32x3": height, width and colours.
func parsePictures(text string) (*dataset.Pictures, error) {
	var p dataset.Pictures
	var rest string
	n, _ := fmt.Sscanf(strings.ToLower(text)+" .", "%dx%dx%d %s", &p.Height, &p.Width, &p.Channels, &rest)
	if n != 4 || rest != "." || p.Height < 1 || p.Width < 1 || p.Channels < 1 {
		return nil, usagef("--pictures %q: give height, width and colours, such as 32x32x3 or 28x28x1", text)
	}
	return &p, nil
}
