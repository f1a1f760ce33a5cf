package testsite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/kinds/planning"
)

// PlantedValue is a value that occurs only in the ward's records, in no plan and no pool.
const PlantedValue = "97.53"

// SchemaYAML is the ward's schema, of the columns age, sex and ill.
const SchemaYAML = `
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: sex, kind: categorical, levels: [f, m]}
`

// Site is a site that was never enrolled, with one source "ward" of 61 records, and the study
// "illness" of three parties, of which this one is "site".
type Site struct {
	Config    site.Config
	Log       *bytes.Buffer
	StudyPlan planning.PreparedPlan // the study
}

// New makes a site below a folder. change alters the study's proposal; nil leaves it. Every process
// that calls New alike makes the same study and records. It panics where that fails.
func New(dir, schemaYAML string, change func(*study.Proposal)) *Site {
	schema := must(dataset.ParseSchema(strings.NewReader(schemaYAML)))
	var rows, pool strings.Builder
	rows.WriteString("age,sex,ill\n")
	pool.WriteString("age,sex\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "%d,%s,%s\n", i, []string{"f", "m"}[i%2], []string{"no", "yes"}[i/30])
		fmt.Fprintf(&pool, "%d,%s\n", (i*7)%100, []string{"f", "m"}[i%2])
	}
	fmt.Fprintf(&rows, "%s,martian,yes\n", PlantedValue) // odd cells never stop an agent
	file, own := filepath.Join(dir, "records.csv"), filepath.Join(dir, "schema.yaml")
	must(0, os.WriteFile(file, []byte(rows.String()), 0o600))
	must(0, os.WriteFile(own, []byte(SchemaYAML), 0o600))
	delta := 1e-6
	p := study.Proposal{
		Name: "illness", Purpose: "a test", SourceName: "ward",
		Roster: []study.PartyID{"other", "site", "third"}, Epsilon: 1, Delta: &delta,
		Deadline: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), Seed: 1, Minimum: 2, Records: 60,
	}
	if change != nil {
		change(&p)
	}
	asked, _, err := planning.DraftPlan(p, schema,
		must(dataset.ReadCSV(strings.NewReader(pool.String()), dataset.Format{})))
	must(0, err)
	s := &Site{Log: new(bytes.Buffer), StudyPlan: asked, Config: site.DefaultConfig()}
	s.Config.State = filepath.Join(dir, "state")
	// most tests write the file anew
	s.Config.Data = map[string]source.Source{"ward": {File: file, Schema: own,
		Redeclare: source.RedeclareDaily}}
	s.Config.Policy = policy.Policy{
		Kinds: []string{"classify"}, Mechanisms: []string{"cross", "tally"},
		Noise: []study.Noise{study.NoiseSite, study.NoiseCoordinator},
		StudyLimit: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6},
			privacy.Party: {Epsilon: 1, Delta: 1e-6}},
		TotalLimit:     map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 2, Delta: 1e-5}},
		MinimumParties: 2, Approval: policy.ApproveByPolicy,
	}
	s.Config.Log = slog.New(slog.NewTextHandler(s.Log, nil))
	must(0, s.Declare())
	return s
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Declare declares each source with its present file, as a person does.
func (s *Site) Declare() error {
	all := s.Config.Sources()
	if err := os.MkdirAll(all.Dir, 0o700); err != nil {
		return err
	}
	for name := range s.Config.Data {
		_, err := all.Declare(context.Background(), name, source.DeclareOptions{Vouch: true},
			func(d *source.Declaration) error {
				d.By = "tester"
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes the ward's file anew.
func (s *Site) WriteFile(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(s.Config.Data["ward"].File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Import imports the ward once, instead of reading it anew for each study.
func (s *Site) Import(t testing.TB) {
	t.Helper()
	ward := s.Config.Data["ward"]
	ward.Redeclare = ""
	s.Config.Data["ward"] = ward
	if err := s.Declare(); err != nil {
		t.Fatal(err)
	}
}

// SetMapping gives the ward a mapping.
func (s *Site) SetMapping(m source.MappingSource) {
	ward := s.Config.Data["ward"]
	ward.Mapping = m
	s.Config.Data["ward"] = ward
}

// Enrol writes an identity of this site's into the state folder, from a coordinator that nobody
// runs. begins is the certificate's first day.
func (s *Site) Enrol(t testing.TB, begins time.Time) (protocol.Identity, *protocol.Signer) {
	t.Helper()
	id, signer := Certified(t, protocol.RoleParty, begins)
	if err := os.MkdirAll(s.Config.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := id.Save(site.IdentityFile(s.Config)); err != nil {
		t.Fatal(err)
	}
	return id, signer
}

// Certified is an identity of "site" in a role, and the signer of its coordinator.
func Certified(t testing.TB, role protocol.Role, begins time.Time) (protocol.Identity,
	*protocol.Signer) {
	t.Helper()
	authority, err := server.NewAuthority(begins)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueFirstOperator("127.0.0.1:1",
		protocol.Caller{Name: "site", Role: role},
		signer.Key(), begins)
	if err != nil {
		t.Fatal(err)
	}
	return id, signer
}

// Open opens the state folder until the test ends.
func (s *Site) Open(t testing.TB) *site.Site {
	t.Helper()
	s.Config.Clock = s.Config.Clock.Complete()
	opened, err := site.Open(s.Config, "site")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}

// StorePlan writes the study's plan and pool into the state folder, as an agent that has fetched
// them.
func (s *Site) StorePlan(t testing.TB, at *site.Site) site.StudyFolder {
	t.Helper()
	d := at.Studies.Folder(s.StudyPlan.Hash)
	for path, err := range map[string]error{
		d.Dir:       d.Write(site.FilePlan, s.StudyPlan.Canonical),
		at.PoolsDir: os.WriteFile(at.PoolFile(s.StudyPlan.Plan.Pool), s.StudyPlan.PoolBytes, 0o600),
	} {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return d
}
