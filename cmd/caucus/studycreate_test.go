package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
)

// TestExampleStudy: the example of the deploy room is one that study create
// reads and makes a useful plan of.
func TestExampleStudy(t *testing.T) {
	s, err := readStudyFile("../../deploy/examples/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.Unit != privacy.Record || s.ClosesIn == 0 || s.Map.Project == 0 {
		t.Errorf("study file: %+v", s)
	}
	t.Setenv("CAUCUS_DATA", "") // the example is about the generated hospitals
	dir := t.TempDir()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	s.Pool = filepath.Join(dir, "pool.csv")
	for i := range 50 { // a dozen sites of so many records do as well alone
		s.Roster = append(s.Roster, study.PartyID(fmt.Sprintf("site-%d", i)))
	}
	if _, err := quiet().propose(s); err != nil {
		t.Fatal(err)
	}
}

func TestStudyFileTypo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(path, []byte("name: x\nepsilom: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readStudyFile(path); err == nil || !strings.Contains(err.Error(), "epsilom") {
		t.Errorf("error %v, want one that names the key", err)
	}
}
