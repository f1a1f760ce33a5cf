//go:build unix

package health_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/agent/health"
	"caucus/agent/source"
	"caucus/internal/testsite"
	"caucus/protocol"
)

// TestCheckSaysWhatToWrite: for a file that could not be declared, check says what a person can
// write to change that.
func TestCheckSaysWhatToWrite(t *testing.T) {
	r := testsite.New(t.TempDir(), testsite.SchemaYAML, nil)
	r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,weiblich,no\n", 60))
	a := r.Open(t)
	os.RemoveAll(a.Sources.Dir)
	all := fmt.Sprint(health.CheckSources(a.Sources, true))
	if !strings.Contains(all, "50% of the cells") || !strings.Contains(all, `60 cells "weiblich" are not a level of sex: add levels:`) {
		t.Errorf("check says %s", all)
	}
}

// TestCheckSources: check reports what a person has to do about a source before any study needs it.
func TestCheckSources(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*testing.T, *testsite.Site)
		source   health.Status
		says     string
		mapping  health.Status
		unread   health.Status // without opening files
		declared bool
	}{
		"as declared": {nil, health.OK, "as it was then: 61 records", health.OK, health.OK, true},
		"changed": {func(t *testing.T, r *testsite.Site) {
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 70))
		},
			health.OK, "written anew since: 70 records", health.OK, health.OK, true},
		"import, changed": {func(t *testing.T, r *testsite.Site) {
			r.Import(t)
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 70))
		}, health.Warning, "the file changed since it was imported", health.OK, health.OK, true},
		"import, gone": {func(t *testing.T, r *testsite.Site) {
			r.Import(t)
			os.Remove(r.Config.Data["ward"].File)
		}, health.OK, "as it was then: 61 records", health.OK, health.OK, true},
		"import damaged": {func(t *testing.T, r *testsite.Site) {
			r.Import(t)
			tables, _ := filepath.Glob(filepath.Join(r.Config.Sources().Imports, "*.table"))
			b, err := os.ReadFile(tables[0])
			if b[len(b)-9]++; err != nil || os.WriteFile(tables[0], b, 0o600) != nil {
				t.Fatal(err)
			}
		}, health.Problem, "the import is damaged: declare the source again", health.OK, health.OK,
			true},
		"import lost": {func(t *testing.T, r *testsite.Site) {
			r.Import(t)
			os.RemoveAll(r.Config.Sources().Imports)
		}, health.Problem, "its import is gone, as after a restored backup: caucus agent source declare ward", health.OK, health.Problem, true},
		"fewer": {func(t *testing.T, r *testsite.Site) {
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 7))
		},
			health.Warning, "the file has 7: the others are empty", health.OK, health.OK, true},
		"garbage": {func(t *testing.T, r *testsite.Site) {
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("x,y,z\n", 70))
		},
			health.Problem, "cannot be read as what the schema says", health.OK, health.OK, true},
		"other columns": {func(t *testing.T, r *testsite.Site) {
			r.WriteFile(t,
				"age,sex\n30,f\n")
		},
			health.Problem, "not those that were declared", health.OK, health.OK, true},
		"gone": {func(t *testing.T, r *testsite.Site) { os.Remove(r.Config.Data["ward"].File) },
			health.Problem, "no such file", health.OK, health.Problem, true},
		"undeclared": {func(t *testing.T, r *testsite.Site) {
			os.RemoveAll(filepath.Join(r.Config.State, "sources"))
		},
			health.Problem, "no study can use it yet: a person has to declare it first: caucus agent source declare ward", health.OK, health.Problem, false},
		"undeclared garbage": {func(t *testing.T, r *testsite.Site) {
			os.RemoveAll(filepath.Join(r.Config.State, "sources"))
			r.WriteFile(t, "age,sex,ill\n"+strings.Repeat("x,y,z\n", 70))
		}, health.Problem, "cannot be read as what the schema says", health.OK, health.Problem,
			false},
		"mapping gone": {func(t *testing.T, r *testsite.Site) {
			r.SetMapping(source.MappingSource{File: "nowhere.yaml"})
		},
			health.Problem, "nowhere.yaml", health.Problem, health.Problem, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := testsite.New(t.TempDir(), testsite.SchemaYAML, nil)
			if test.change != nil {
				test.change(t, r)
			}
			got := health.CheckSources(r.Config.Sources(), true)
			if len(got) != 2 || got[0].Status != test.source ||
				!strings.Contains(got[0].Text, test.says) || got[1].Status != test.mapping {
				t.Errorf("%+v, want %s and %q, and %s", got, test.source, test.says, test.mapping)
			}
			if got := health.CheckSources(r.Config.Sources(), false); got[0].Status != test.unread {
				t.Errorf("without a look into it: %+v, want %s", got[0], test.unread)
			}
			if strings.Contains(fmt.Sprint(got), testsite.PlantedValue) {
				t.Errorf("a cell is shown: %+v", got)
			}
		})
	}
}

// TestStartLooksIntoNoFile: an agent's report at its start is the same for all content of its
// sources and opens no file: otherwise the moment of its first poll would reveal the time to read a
// file.
func TestStartLooksIntoNoFile(t *testing.T) {
	r := testsite.New(t.TempDir(), testsite.SchemaYAML, nil)
	pipe := r.Config.Data["ward"].File // a pipe: its reader is noticed, and waits
	if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	a := r.Open(t)
	id, _ := testsite.Certified(t, protocol.RoleParty, time.Now())
	done := make(chan []health.Result)
	go func() { done <- health.CheckLocal(context.Background(), a, id) }()
	var said []health.Result
	for said == nil {
		if isOpen(t, pipe) { // closed again, so that a reader ends
			t.Error("the file was opened")
		}
		select {
		case said = <-done:
		case <-time.After(time.Millisecond):
		}
	}
	for _, f := range said {
		if f.Status != health.OK {
			t.Errorf("%+v", f)
		}
	}
}

// isOpen reports whether somebody has a pipe open for reading.
func isOpen(t *testing.T, pipe string) bool {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return true
}
