package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/analyst/terms"
	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/study"
)

// TestExampleStudy: study create reads the example in deploy, and makes a useful plan from it.
func TestExampleStudy(t *testing.T) {
	s, err := readStudyFile("../../deploy/examples/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.Unit != privacy.Record || s.ClosesIn == 0 || s.Kind != "describe" || s.Parties == 0 {
		t.Errorf("study file: %+v", s)
	}
	t.Setenv("CAUCUS_DATA", "") // the example uses the generated hospitals
	dir := t.TempDir()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	s.Pool = filepath.Join(dir, "pool.csv")
	for i := range s.Parties {
		s.Roster = append(s.Roster, study.PartyID(fmt.Sprintf("site-%d", i)))
	}
	if made, err := propose(quiet(), s); err != nil || made.Warning != "" {
		t.Fatal(err, made.Warning)
	}
}

// TestStudyFileKeys: an unknown key is an error that names the key. If the key is a term of the
// kind, the error says where it belongs. A kind takes no terms of another kind.
func TestStudyFileKeys(t *testing.T) {
	for text, says := range map[string]string{
		"name: x\nepsilom: 2\n":                                    `line 2: unknown key "epsilom": do you mean "epsilon"?`,
		"name: x\ntilt: true\n":                                    `line 2: tilt: it stands below classify: {tilt: …}`,
		"kind: classify\nshards: 3\n":                              `line 2: shards: it stands below classify: {shards: …}`,
		"class_shares: [.7, .3]\nname: x\n":                        `line 1: class_shares: it stands below classify: {class_shares: …}`,
		"name: x\nclassify: {shard: 3}\n":                          `unknown key "shard": do you mean "shards"?`,
		"kind: describe\nshards: 3\n":                              `unknown key "shards"`,
		"kind: describe\nclassify: {shards: 3}\n":                  `classify: these are terms of a classify study; this one is of kind describe`,
		"kind: describe\ndescribe: {bins: 5, shards: 1}\n":         `unknown key "shards"`,
		"kind: labels\nlabels: {class_shares: [.5, .5]}\n":         `unknown key "class_shares"`,
		"name: x\nclassify: {tilt: true, shards: 4, bound: tight}": "",
		"name: x\nclassify:\n":                                     "",
	} {
		path := filepath.Join(t.TempDir(), "study.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readStudyFile(path); (err == nil) != (says == "") || err != nil &&
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", text, err, says)
		}
	}
}

// readStudyFile reads a study file without a command line.
func readStudyFile(name string) (terms.Study, error) {
	file, err := yamlfile.Read(name)
	if err != nil {
		return terms.Study{}, fmt.Errorf("read study file: %w", err)
	}
	s, err := terms.Read(file, filepath.Dir(name), "")
	if err != nil {
		return s, fmt.Errorf("read study file: %w", err)
	}
	return s, nil
}
