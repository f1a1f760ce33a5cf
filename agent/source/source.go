package source

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"go.yaml.in/yaml/v3"

	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/internal/yamlfile"
)

// Source is one set of records of a site.
type Source struct {
	// File is delimited text (one line is one record), packed with gzip or zstd
	// or not, an Excel workbook or Parquet (one row is one record). What it is
	// its first bytes say when a person declares it.
	File string `yaml:"file"`
	// Schema is the site's own schema file: what the columns mean. A plan is held
	// against it, never against the file.
	Schema string `yaml:"schema"`
	// Mapping says how the file is written, and what of it each column of the
	// schema is. Without it the file has the schema's columns and is written as
	// the schema says.
	Mapping MappingSource `yaml:"mapping"`
	// Expected is what a person would find normal in the file.
	Expected `yaml:",inline"`
	// Redeclare is "daily" where the file is written anew as records come in, so
	// that nobody is to declare it again for that. It is for text.
	Redeclare string `yaml:"redeclare"`
}

// RedeclareDaily is what Source.Redeclare may say.
const RedeclareDaily = "daily"

// MappingSource is a mapping that is written in the configuration, or the name of
// a file that holds one, which several sources and sites may share.
type MappingSource struct {
	File   string
	Inline mapping.Mapping
}

// UnmarshalYAML takes a text for the name of a file.
func (m *MappingSource) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.File = n.Value
		return nil
	}
	return yamlfile.DecodeNode(n, &m.Inline)
}

// read is the mapping.
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

// Validate says which field is wrong and what to do.
func (s Source) Validate() error {
	if s.File == "" {
		return errors.New("file: name the file of its records")
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

// Below puts the files of a source in a folder, where they have no place of their own.
func (s Source) Below(folder string) Source {
	s.File, s.Schema, s.Mapping.File = yamlfile.Below(folder, s.File), yamlfile.Below(folder, s.Schema), yamlfile.Below(folder, s.Mapping.File)
	return s
}

func readSchema(path string) (dataset.Schema, error) {
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

// sameSchema says whether two schemas read and mean the same.
func sameSchema(a, b dataset.Schema) bool {
	return len(a.Within(b)) == 0 && len(b.Within(a)) == 0 && reflect.DeepEqual(a.Format(), b.Format())
}
