package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"caucus/aggregator/helper"
	"caucus/coordinator/folder"
	"caucus/internal/testlevel"
	"caucus/protocol"
	"caucus/study"
)

const countingAgent = `
state: state-%[1]s
poll: 100ms
least_window: 500ms
data: {ward: {file: %[1]s.csv, schema: schema.yaml}}
policy:
  kinds: [describe]
  mechanisms: [laplace]
  noise: [aggregators, coordinator]
  study: {record: {epsilon: 30, delta: 0}}
  total: {record: {epsilon: 64, delta: 1e-6}}
  approval: policy
  helper: {name: trust, signing: %[2]s, sealing: %[3]s}
`

const countingStudy = `
kind: describe
schema: schema.yaml
pool: pool.csv
epsilon: 30
mechanism: laplace
where: age >= 60
describe: {count: true}
records: 70
minimum: 4
closes_in: 10m
`

// TestTwoServersSum, with real daemons, coordinator, helper and four sites: two servers release the
// same sum as one coordinator, and the same sum as a count in the files. At ε = 30 a count has
// discrete Laplace noise of scale 1/30, which is not 0 with probability 2/(e³⁰ + 1) < 2e-13. There
// are three draws, so the test fails wrongly with probability below 6e-13.
func TestTwoServersSum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := hospitals(dir)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must := patiently(ctx, t, dir)
	port, err := testlevel.FreePort()
	check(err)
	second, err := testlevel.FreePort()
	check(err)
	must("coordinator", "init", "--dir", "coordinator", "--address", "127.0.0.1:"+port, "--listen",
		"127.0.0.1:"+port)
	var named folder.HelperReport
	check(json.Unmarshal(must("helper", "keys", "--dir", "coordinator", "--json"), &named))
	var pins helper.Pins
	check(json.Unmarshal(must("helper", "init", "--dir", "helper", "--listen", "127.0.0.1:"+second,
		"--coordinator", named.Key.String(), "--json"), &pins))
	must("helper", "keys", "--dir", "coordinator", "--address", "127.0.0.1:"+second, "--key",
		pins.Signing.String())
	policy := filepath.Join(dir, "helper", helper.ConfigFile)
	text, err := os.ReadFile(policy)
	check(err)
	check(os.WriteFile(policy, bytes.Replace(text, []byte("record: {epsilon: 1,"),
		[]byte("record: {epsilon: 30,"), 1), 0o600))

	var wg sync.WaitGroup
	running, stop := context.WithCancel(ctx)
	defer wg.Wait()
	defer stop()
	start := func(args ...string) {
		cmd := caucus(running, dir, args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		wg.Go(func() {
			if err := cmd.Run(); running.Err() == nil {
				t.Errorf("%v ended: %v\n%s", args, err, &said)
			}
		})
	}
	start("helper", "run", "--dir", "helper")
	start("coordinator", "run", "--dir", "coordinator")
	// exactly the declared number: more would be cut, differently in each study
	want, records := 0, 70
	for _, name := range []string{"hospital-a", "hospital-b", "hospital-c", "hospital-d"} {
		file := filepath.Join(dir, name+".csv")
		text, err := os.ReadFile(file)
		check(err)
		lines := strings.SplitAfter(string(text), "\n")[:records+1]
		check(os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
		age := -1
		for i, column := range strings.Split(strings.TrimSpace(lines[0]), ",") {
			if column == "age" {
				age = i
			}
		}
		for _, line := range lines[1:] {
			if years, err := strconv.ParseFloat(strings.Split(line, ",")[age], 64); err == nil &&
				years >= 60 {
				want++
			}
		}
		config := name + ".yaml"
		check(os.WriteFile(filepath.Join(dir, config),
			fmt.Appendf(nil, countingAgent, name, pins.Signing, pins.Sealing), 0o600))
		check(os.WriteFile(filepath.Join(dir, name+".invitation"), must("party", "invite", name),
			0o600))
		must("agent", "enrol", "--config", config, "--invitation", name+".invitation")
		must("agent", "source", "declare", "ward", "--yes", "--config", config)
		start("agent", "run", "--config", config)
	}
	if want < 10 {
		t.Fatalf("%d records match: too few to tell anything", want)
	}
	noises := []string{string(study.NoiseAggregators), string(study.NoiseCoordinator)}
	for _, noise := range noises {
		check(os.WriteFile(filepath.Join(dir, noise+".yaml"), []byte("name: "+noise+countingStudy),
			0o600))
		must("study", "create", noise+".yaml", "--noise", noise)
		must("study", "open", noise)
	}
	for _, noise := range noises {
		must("study", "wait", noise)
		signed, err := protocol.ReadRelease(must("study", "result", noise, "--json"))
		check(err)
		var counted struct {
			Body struct {
				Records int64
				Inside  struct{ Noisy float64 }
			}
		}
		result, err := json.Marshal(signed.Release.Result)
		check(err)
		check(json.Unmarshal(result, &counted))
		if got := counted.Body; got.Inside.Noisy != float64(want) ||
			got.Records != int64(4*records) || signed.Release.Parties != 4 {
			t.Errorf("noise: %s: %g of %d records match, want %d of %d", noise, got.Inside.Noisy, got.Records, want, 4*records)
		}
	}
}
