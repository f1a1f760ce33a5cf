package public

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"caucus/dataset"
	"caucus/internal/yamlfile"
)

// KnownDataset is a public data set for experiments: schema, source and format of its files, which
// are not in this module.
type KnownDataset struct {
	Name       string `yaml:"-"`
	About      string `yaml:"about"`  // one line
	Source     string `yaml:"source"` // who made it and where to get it
	FileFormat string `yaml:"reader"` // "csv" or "idx"
	// Train and Test are the files of each part; for idx first images, then labels.
	Train  []KnownDatasetFile `yaml:"train"`
	Test   []KnownDatasetFile `yaml:"test"`
	Schema dataset.Schema     `yaml:"schema"`
	// BaseDataset names the known set from which this one takes every field that it does not set.
	BaseDataset string `yaml:"base"`
}

// KnownDatasetFile is one file as the set's makers publish it, packed or not.
type KnownDatasetFile struct {
	File string `yaml:"file"` // slash-separated, below the folder of data
	// Party fills the schema's party column if a file holds one party's records.
	Party string `yaml:"party"`
}

//go:embed known/*.yaml
var knownFiles embed.FS

// KnownDatasetNames lists the sets that LoadKnownDataset describes, sorted.
func KnownDatasetNames() []string {
	files, _ := fs.Glob(knownFiles, "known/*.yaml") // no error: the pattern is valid
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	slices.Sort(files)
	return files
}

// LoadKnownDataset reads a set's description, which this module contains. Known.Load then reads its
// files, which are elsewhere. The error for another name lists all names.
func LoadKnownDataset(name string) (KnownDataset, error) {
	if !slices.Contains(KnownDatasetNames(), name) {
		return KnownDataset{}, fmt.Errorf("load known set: there is no %q; choose one of %s", name, strings.Join(KnownDatasetNames(), ", "))
	}
	var k KnownDataset
	if err := k.read(name, 0); err != nil {
		return KnownDataset{}, fmt.Errorf("load known set %s: %w", name, err)
	}
	k.Name = name
	if err := k.Schema.Validate(); err != nil {
		return KnownDataset{}, fmt.Errorf("load known set %s: %w", name, err)
	}
	return k, nil
}

func (k *KnownDataset) read(name string, depth int) error {
	text, err := knownFiles.ReadFile("known/" + name + ".yaml")
	if err != nil {
		return err
	}
	var own KnownDataset
	if err := yamlfile.DecodeAll(bytes.NewReader(text), &own); err != nil {
		return err
	}
	if own.BaseDataset == "" {
		*k = own
		return nil
	}
	if depth > 3 {
		return errors.New("base leads in a circle")
	}
	if err := k.read(own.BaseDataset, depth+1); err != nil {
		return err
	}
	k.Schema.Label = dataset.Label{} // the label is replaced as a whole, never merged
	return yamlfile.DecodeAll(bytes.NewReader(text), k)
}

// HasTest reports whether the set's makers divided it into train and test.
func (k KnownDataset) HasTest() bool { return len(k.Test) > 0 }

// Load reads a part, "train" or "test", from a folder of data. It finds files with or without
// ".gz". The error for a missing file names the set's source.
func (k KnownDataset) Load(dir fs.FS, part string) (*dataset.Table, error) {
	var files []KnownDatasetFile
	switch part {
	case "train":
		files = k.Train
	case "test":
		files = k.Test
	default:
		return nil, fmt.Errorf("load %s: there is no part %q; choose train or test", k.Name, part)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("load %s: it has no %s part; split the train part", k.Name, part)
	}
	opened := make([]fs.File, len(files))
	for i, f := range files {
		file, err := openPacked(dir, f.File)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w; get it from %s", k.Name, err, k.Source)
		}
		defer file.Close()
		opened[i] = file
	}
	if k.FileFormat == "idx" {
		t, err := ReadIDX(opened[0], opened[1])
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", k.Name, err)
		}
		return t, nil
	}
	tables := make([]*dataset.Table, len(files))
	for i, f := range files {
		t, err := dataset.ReadCSV(opened[i], k.Schema.Format())
		if err != nil {
			return nil, fmt.Errorf("load %s: %s: %w", k.Name, f.File, err)
		}
		if f.Party != "" {
			t = t.With(k.Schema.Party, f.Party)
		}
		tables[i] = t
	}
	if len(tables) == 1 {
		return tables[0], nil
	}
	t, err := dataset.Concat(tables...)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", k.Name, err)
	}
	return t, nil
}

func openPacked(dir fs.FS, name string) (fs.File, error) {
	file, err := dir.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	other, packed := strings.CutSuffix(name, ".gz")
	if !packed {
		other = name + ".gz"
	}
	if file, err := dir.Open(other); err == nil {
		return file, nil
	}
	return nil, err
}
