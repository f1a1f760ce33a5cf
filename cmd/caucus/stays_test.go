package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/aggregator/helper"
	"caucus/analyst/terms"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// stayers are the studies of TestWhatStays: each kind with each place of noise that the kind has.
var stayers = []string{
	"{kind: classify, mechanism: cross, noise: site}",
	"{kind: classify, mechanism: cross, noise: coordinator}",
	"{kind: classify, mechanism: cross, noise: aggregators}",
	"{kind: classify, mechanism: tally, unit: party, noise: coordinator}",
	"{kind: classify, mechanism: tally, noise: coordinator, classify: {shards: 3}}",
	"{kind: describe, noise: site}", "{kind: describe, noise: coordinator}", "{kind: describe, noise: aggregators}",
	"{kind: evaluate, noise: site, evaluate: {model: model.yaml}}",
	"{kind: evaluate, noise: coordinator, evaluate: {model: model.yaml}}",
	"{kind: evaluate, noise: aggregators, evaluate: {model: model.yaml}}",
	"{kind: reweigh, noise: site}", "{kind: reweigh, noise: coordinator}", "{kind: reweigh, noise: aggregators}",
	"{kind: labels}", "{kind: ratio, ratio: {sets: party, features: noisy-embedding, fourier: 10}}",
	"{kind: describe, noise: coordinator, name: cancelled}",
}

// TestWhatStays: after studies of every kind with every place of noise, released and cancelled, the
// files on each machine are those that docs/what-stays.md names, tables and columns included. No
// file of coordinator or helper holds a site's exact numbers or their digest, except while the
// study is open.
func TestWhatStays(t *testing.T) {
	var second helper.Config
	var pins helper.Pins
	log := &lines{}
	n := newNetwork(t, func(c *folder.Config) {
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		made, err := folder.MakeHelper(c.Dir, "", "")
		must(err)
		dir := filepath.Join(filepath.Dir(c.Dir), "helper")
		pins, err = helper.Init(helper.InitOptions{Dir: dir, Listen: "127.0.0.1:0",
			Coordinator: made.Key.String()})
		must(err)
		second, err = helper.LoadConfig(dir)
		must(err)
		budget := map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 60, Delta: 1e-3}}
		second.Log, second.Policy.Study,
			second.Policy.MinimumParties = slog.New(slog.NewTextHandler(log, nil)), budget, 2
		server, err := helper.New(second)
		must(err)
		_, err = folder.MakeHelper(c.Dir, server.Addr(), pins.Signing.String())
		must(err)
		run, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- server.Run(run) }()
		t.Cleanup(func() { stop(); must(<-done) })
		again, err := folder.LoadConfig(filepath.Join(c.Dir, folder.ConfigFile))
		must(err)
		c.Helper = again.Helper
		c.Limits.Rate, c.Limits.Burst = 1e6, 1e6
	})
	roster := []study.PartyID{"hospital-a", "hospital-b"}
	budget := map[privacy.Unit]privacy.Budget{}
	for _, u := range []privacy.Unit{privacy.Party, privacy.Record, privacy.Label} {
		budget[u] = privacy.Budget{Epsilon: 60, Delta: 1e-3}
	}
	schema, err := os.ReadFile(filepath.Join(n.dir, "schema.yaml"))
	n.check(err)
	meaning, err := dataset.ParseSchema(bytes.NewReader(schema))
	n.check(err)
	var agents []site.Config
	for _, name := range roster {
		c := n.enrol(string(name))
		c.Policy = policy.Policy{
			Kinds: kinds.Names(), Mechanisms: kinds.Mechanisms(), Noise: study.Noises(), StudyLimit: budget, TotalLimit: map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 60, Delta: 1e-3}},
			ClearColumns: meaning.FeatureColumns(), MinimumParties: 2, Approval: policy.ApproveByPolicy, Helper: policy.Helper{Name: "helper", Signing: pins.Signing, Sealing: pins.Sealing},
		}
		agents = append(agents, c)
	}
	n.enrol("hospital-c") // never runs, so the study on its roster stays open until it is cancelled
	var made []planning.PreparedPlan
	score := regexp.MustCompile(`column: (\w+), kind: numeric`).FindSubmatch(schema)
	if score == nil {
		score = regexp.MustCompile(`column: (\w+)\n\s+kind: numeric`).FindSubmatch(schema)
	}
	n.check(os.WriteFile(filepath.Join(n.dir, "model.yaml"),
		fmt.Appendf(nil, "coefficients: {%s: 0.05}", score[1]), 0o600))
	for i, text := range stayers {
		file, err := yamlfile.Parse("study.yaml", []byte(text))
		n.check(err)
		s, err := terms.Read(file, n.dir, "", nil...)
		n.check(err)
		name := fmt.Sprintf("study-%02d", i)
		parties := roster
		if s.Name == "cancelled" {
			name, parties = s.Name, append(slices.Clone(roster), "hospital-c")
		}
		s.Name = name
		s.Schema, s.Pool, s.Roster, s.Minimum = filepath.Join(n.dir,
			"schema.yaml"), filepath.Join(n.dir, "pool.csv"), parties, 2
		s.Records, s.Epsilon, s.Deadline = 70, 2, time.Now().Add(time.Hour)
		p, err := propose(quiet(), s)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		made = append(made, p)
		n.start(p)
	}
	for _, c := range agents {
		n.run(c)
	}
	var cancelled study.Hash
	for _, p := range made {
		if p.Plan.Name == "cancelled" {
			cancelled = p.Hash
			continue
		}
		n.wait(p.Hash)
	}
	clear := n.clearUploads(made, agents)
	if want := 2 * 7; len(clear) != want { // of the studies with noise at the coordinator
		t.Fatalf("%d uploads in clear, want %d", len(clear), want)
	}
	if len(n.holding(clear)) == 0 {
		t.Error("the open study's numbers are found nowhere: the test finds nothing")
	}
	_, err = n.operator.CancelStudy(n.ctx, cancelled.String(), "the protocol was amended")
	n.check(err)
	var in []string
	for until :=
		time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if in = n.holding(clear); len(in) == 0 {
			break // overwriting follows the last state
		}
	}
	if len(in) > 0 {
		t.Errorf("%v hold exact numbers of a site, or confirm a guess of them", in)
	}
	page, err := os.ReadFile("../../docs/what-stays.md")
	n.check(err)
	var said []string
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `([^`]+)` \\|").FindAllSubmatch(page, -1) {
		said = append(said, string(row[1])+" "+string(row[2]))
	}
	if meaning.Patient == "" { // so that no import has a table of patients
		said = slices.DeleteFunc(said, func(row string) bool {
			return row == "imports ward,ID.patients"
		})
	}
	code, err := os.ReadFile("../../agent/site/studyfolder.go")
	n.check(err)
	for _, file := range regexp.MustCompile(`(?m)^\t[Ff]ile\w+ += "([^"]+)"`).FindAllSubmatch(code, -1) {
		if !bytes.Contains(page, append([]byte("`studies/HASH/"), file[1]...)) {
			t.Errorf("docs/what-stays.md does not say what this tells: studies/HASH/%s", file[1])
		}
	}
	// A machine hears of an end some time after it.
	var untold, gone []string
	for until :=
		time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		left := n.left()
		without := func(all, these []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(row string) bool {
				return slices.Contains(these, row)
			})
		}
		if untold, gone = without(left, said), without(said, left); len(untold)+len(gone) == 0 {
			break
		}
	}
	for _, row := range untold {
		t.Errorf("docs/what-stays.md does not say what this tells: %s", row)
	}
	for _, row := range gone {
		t.Errorf("docs/what-stays.md names what no machine has: %s", row)
	}
}

// clearUploads returns the exact numbers that sites sent, without their commitments: those of plans
// with noise at the coordinator.
func (n *network) clearUploads(made []planning.PreparedPlan, agents []site.Config) (all [][]byte) {
	n.t.Helper()
	for _, p := range made {
		for _, c := range agents {
			if !p.Plan.Noise.SumsInClear() {
				continue
			}
			upload := filepath.Join(c.State, "studies", p.Hash.String(), "upload")
			for _, err := os.Stat(upload); err != nil &&
				n.ctx.Err() == nil; _, err = os.Stat(upload) {
				time.Sleep(20 * time.Millisecond)
			}
			body, err := os.ReadFile(upload)
			n.check(err)
			all = append(all, body[sha256.Size:])
		}
	}
	return all
}

// files calls see with each file of coordinator, helper and agents but SQLite's own beside a
// database: machine and place below its folder, with HASH for the hash of a plan or pool and ID for
// an import's number.
func (n *network) files(see func(machine, name, path string)) {
	hash, id := regexp.MustCompile("[0-9a-f]{64}"), regexp.MustCompile("[0-9a-f]{16}")
	n.check(filepath.WalkDir(n.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(n.dir, path)
		machine, name, _ := strings.Cut(filepath.ToSlash(below), "/")
		if strings.HasPrefix(machine, "state-") {
			machine = map[bool]string{false: "agent",
				true: "imports"}[strings.HasSuffix(machine, "-imports")]
		}
		if name != "" && !strings.HasSuffix(name, "-shm") && !strings.HasSuffix(name, "-wal") {
			see(machine, id.ReplaceAllString(hash.ReplaceAllString(name, "HASH"), "ID"), path)
		}
		return err
	}))
}

// holding lists the files of coordinator and helper, and the log, that hold one of the texts or its
// SHA-256.
func (n *network) holding(texts [][]byte) (in []string) {
	var needles [][]byte
	for _, text := range texts {
		d := sha256.Sum256(text)
		needles = append(needles, text, d[:], []byte(hex.EncodeToString(d[:])),
			[]byte(base64.StdEncoding.EncodeToString(d[:])))
	}
	look := func(name string, content []byte) {
		if slices.ContainsFunc(needles, func(needle []byte) bool {
			return bytes.Contains(content, needle)
		}) {
			in = append(in, name)
		}
	}
	for _, machine := range []string{"coordinator", "helper"} {
		n.check(fs.WalkDir(os.DirFS(n.dir), machine,
			func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				content, err := os.ReadFile(filepath.Join(n.dir, path))
				if !errors.Is(err, fs.ErrNotExist) { // a file that was there for a moment
					n.check(err)
				}
				look(path, content)
				return nil
			}))
	}
	look("log", []byte(n.log.String()))
	return in
}

// left lists what the machines' disks contain: files and, for databases, tables with their columns.
func (n *network) left() (all []string) {
	n.files(func(machine, name, path string) {
		all = append(all, machine+" "+name)
		if !strings.HasSuffix(name, ".db") {
			return
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		n.check(err)
		defer db.Close()
		rows, err := db.QueryContext(n.ctx, `SELECT m.name || ' (' || (SELECT group_concat(name, ', ') FROM pragma_table_info(m.name)) || ')'
			FROM sqlite_schema m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'`)
		n.check(err)
		defer rows.Close()
		for rows.Next() {
			var table string
			n.check(rows.Scan(&table))
			all = append(all, machine+" "+name+": "+table)
		}
		n.check(rows.Err())
	})
	slices.Sort(all)
	return slices.Compact(all)
}
