package source

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"caucus/dataset"
	"caucus/dataset/database"
	"caucus/dataset/mapping"
	"caucus/internal/yamlfile"
)

// Source is one set of records of a site.
type Source struct {
	// File is delimited text, plain or compressed with gzip or zstd, an Excel workbook or Parquet.
	// Its first bytes decide which, when a person declares the source. A record is one row; in text
	// it is one line, or several if a quoted cell has line breaks.
	File string `yaml:"file"`
	// Query reads the records from a database in place of a file. It runs only when a person
	// declares the source, drafts a mapping for it, or checks it before it is declared.
	Query database.Query `yaml:"query"`
	// Schema is the site's own schema file. A plan is compared with the schema, never with the
	// data.
	Schema string `yaml:"schema"`
	// Mapping says how the file is written, and how each column of the schema is made. Without a
	// mapping, the file has the schema's columns, written as the schema says.
	Mapping MappingSource `yaml:"mapping"`
	// Expected has the limits within which the file is normal.
	Expected `yaml:",inline"`
	// Redeclare is "daily" if the file is written again as records come in, so that nobody has to
	// declare it each time. It works for text only.
	Redeclare string `yaml:"redeclare"`
}

// RedeclareDaily is the only value of Source.Redeclare except "".
const RedeclareDaily = "daily"

// MappingSource is a mapping in the configuration, or the name of a mapping's file, which several
// sources and sites may share.
type MappingSource struct {
	File   string
	Inline mapping.Mapping
}

// UnmarshalYAML reads a text as the name of a file.
func (m *MappingSource) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.File = n.Value
		return nil
	}
	return yamlfile.DecodeNode(n, &m.Inline)
}

func (m MappingSource) read() (mapping.Mapping, error) {
	if m.File == "" {
		return m.Inline, nil
	}
	file, err := os.Open(m.File)
	if err != nil {
		return mapping.Mapping{}, err
	}
	defer file.Close()
	read, err := mapping.Parse(file)
	if err != nil {
		return mapping.Mapping{}, fmt.Errorf("%s: %w", m.File, err)
	}
	return read, nil
}

// Validate returns an error that names the wrong field and says what to do.
func (s Source) Validate() error {
	switch {
	case s.File == "" && !s.queries():
		return errors.New("file: name the file of its records, or a query for them")
	case s.File != "" && s.queries():
		return errors.New("file: it has a query as well: keep one of the two")
	case s.queries() && s.Redeclare != "":
		return errors.New("redeclare: a query is run by a person alone, who looks at what came of it: leave redeclare out")
	case s.queries():
		if err := s.Query.Validate(); err != nil {
			return fmt.Errorf("query: %w", err)
		}
	}
	if s.Schema == "" {
		return errors.New("schema: name the schema file, which says how the file is read and what its columns mean: draft one with caucus dataset schema")
	}
	if err := s.Expected.validate(); err != nil {
		return err
	}
	if r := s.Redeclare; r != "" && r != RedeclareDaily {
		return fmt.Errorf("redeclare: %q: write daily, or leave it out", r)
	}
	if err := s.Mapping.Inline.Validate(); err != nil {
		return fmt.Errorf("mapping: %w", err)
	}
	return nil
}

func (s Source) queries() bool { return s.Query != database.Query{} }

// RelativeTo makes a source's relative paths relative to a folder.
func (s Source) RelativeTo(folder string) Source {
	s.File, s.Schema, s.Mapping.File = yamlfile.ResolvePath(folder, s.File),
		yamlfile.ResolvePath(folder,
			s.Schema), yamlfile.ResolvePath(folder, s.Mapping.File)
	s.Query = s.Query.RelativeTo(folder)
	return s
}

// ReadSchema reads and checks a schema's YAML file.
func ReadSchema(path string) (dataset.Schema, error) {
	file, err := os.Open(path)
	if err != nil {
		return dataset.Schema{}, err
	}
	defer file.Close()
	s, err := dataset.ParseSchema(file)
	if err != nil {
		return dataset.Schema{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Sources are a site's sources with their declarations. Each declaration is a file in a folder.
type Sources struct {
	Dir     string // folder of declarations, which exists
	Imports string // folder of imports, which hold records and are in no backup
	Key     []byte // the site's secret key for patients, parties and the order of records
	ByName  map[string]Source
	Now     func() time.Time
}

func (s Sources) declarationFile(name string) string {
	return filepath.Join(s.Dir, url.PathEscape(name)+".json")
}

// Fraction is a part of a whole, from 0 to 1. People write 5% or 0.05.
type Fraction float64

// UnmarshalText reads 5%, or 0.05, and refuses what is below 0 or above 1.
func (f *Fraction) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%q is no share: write 5%%, or 0.05", text)
	}
	*f = Fraction(v)
	return nil
}

// String returns a percentage with three digits, such as 5%.
func (f Fraction) String() string { return fmt.Sprintf("%.3g%%", 100*float64(f)) }

// Expected says what is normal in a source's file. A file beyond these limits cannot be declared,
// and a preview of a study reports it. During a study Expected decides nothing, because that would
// reveal something about the records.
type Expected struct {
	// Unreadable is the largest share of cells that are no number, no known level or no text,
	// including the cells of malformed lines. The default is a quarter. Missing cells do not count.
	// For a single column the limit is a half, or this share if it is larger.
	Unreadable *Fraction `yaml:"unreadable"`
	// Unlabelled is the largest share of records without a known label. The default is a half.
	Unlabelled *Fraction `yaml:"unlabelled"`
	// Clamped is the largest share of a column's numbers that are outside the schema's bounds, and
	// so count as the bound: more are likely in another unit. The default is a fifth.
	Clamped *Fraction `yaml:"clamped"`
	// Records are the least and the largest number of records in the file.
	Records []int `yaml:"records"`
}

// Default shares. A file beyond them does not match its schema, or is almost useless.
const (
	usualUnreadable Fraction = 0.25
	usualUnlabelled Fraction = 0.5
	usualClamped    Fraction = 0.2
	// With more than half of a column unreadable, the column's format is not the declared one.
	usualColumn Fraction = 0.5
)

func (e Expected) validate() error {
	if len(e.Records) != 0 && (len(e.Records) != 2 || e.Records[0] < 0 ||
		e.Records[1] < e.Records[0]) {
		return fmt.Errorf("records: write the fewest and the most, such as [1000, 100000]")
	}
	return nil
}
