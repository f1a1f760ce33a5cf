package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent"
	"caucus/privacy"
	"caucus/study"
)

// TestRatioByDaemons: an agent refuses exact features until its policy grants
// the columns; then three agents publish sets with private counts, and the
// release, checked and read by caucus ratio, estimates a file's class ratios.
func TestRatioByDaemons(t *testing.T) {
	n := newNetwork(t, nil)
	schema, err := readSchema(filepath.Join(n.dir, "schema.yaml"))
	n.check(err)
	s := studyFile{Schema: filepath.Join(n.dir, "schema.yaml"), Pool: filepath.Join(n.dir, "pool.csv")}
	parties := []study.PartyID{"hospital-a", "hospital-b", "hospital-c"}
	s.Proposal = study.Proposal{
		Name: "ratios", Kind: "ratio", Roster: parties, Minimum: 3, Deadline: time.Now().Add(time.Hour),
		Epsilon: 1, Ratio: &study.RatioTerms{Fourier: 100},
	}
	made, err := s.propose()
	n.check(err)
	var configs []agent.Config
	for _, p := range parties {
		c := n.enrol(string(p))
		limit := map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 3, Delta: 1e-5}}
		c.Policy = agent.Policy{
			Kinds: []string{"ratio"}, Mechanisms: []string{"auto", "gaussian-zcdp"}, Noise: []string{study.NoiseSite},
			Study: limit, Total: limit, MinimumParties: 2, Approval: agent.ApproveByPolicy,
		}
		if got := c.Policy.Objections(made.Plan); !slices.ContainsFunc(got, func(o string) bool { return strings.Contains(o, "leave in clear") }) {
			t.Errorf("without a grant the policy says %v", got)
		}
		c.Policy.ClearColumns = schema.FeatureColumns()
		if got := c.Policy.Objections(made.Plan); len(got) > 0 {
			t.Errorf("with a grant the policy says %v", got)
		}
		configs = append(configs, c)
	}
	n.check(n.operator.UploadPool(n.ctx, made.Plan.Pool, made.PoolBytes))
	_, err = n.operator.CreateStudy(n.ctx, made.Canonical)
	n.check(err)
	_, err = n.operator.Open(n.ctx, made.Hash.String())
	n.check(err)
	for _, c := range configs {
		n.run(c)
	}
	r := n.wait(made.Hash)
	if r.Parties != 3 || r.Result.Ratio == nil || len(r.Result.Ratio.Sets) != 3 || len(r.Costs) != 1 || r.Costs[0].Mechanism != "zero-sum-laplace" {
		t.Fatalf("release %+v", r)
	}
	text, err := json.Marshal(r)
	n.check(err)
	release, plot := filepath.Join(n.dir, "release.json"), filepath.Join(n.dir, "plot.svg")
	n.check(os.WriteFile(release, text, 0o600))
	var out, errs bytes.Buffer
	code := Main(context.Background(), []string{"ratio", "--release", release, "--data", filepath.Join(n.dir, "hospital-a.csv"), "--plot", plot, "--json"}, &out, &errs)
	if r.Result.Ratio.Model == nil { // the hospitals' shares happen to be alike
		if code != 1 || !strings.Contains(errs.String(), "support no estimate") {
			t.Errorf("exit %d, %s", code, &errs)
		}
		return
	}
	var doc ratioEstimate
	if code != 0 || json.Unmarshal(out.Bytes(), &doc) != nil || len(doc.Classes) != len(schema.Classes()) || doc.Assumption == "" {
		t.Fatalf("exit %d: %s\n%s", code, &out, &errs)
	}
	sum := 0.
	for _, c := range doc.Classes {
		sum += c.Share
		if c.Low > c.Share || c.Share > c.High {
			t.Errorf("class %+v", c)
		}
	}
	if sum < .999999 || sum > 1.000001 {
		t.Errorf("shares sum to %g", sum)
	}
	if svg, err := os.ReadFile(plot); err != nil || !bytes.HasPrefix(svg, []byte("<svg")) {
		t.Errorf("plot: %v %.40s", err, svg)
	}
	out.Reset()
	if code := Main(context.Background(), []string{"ratio", "--release", release, "--data", filepath.Join(n.dir, "hospital-a.csv")}, &out, &errs); code != 0 || !strings.Contains(out.String(), "assumes") {
		t.Errorf("exit %d: %s", code, &out)
	}
	if strings.Contains(n.log.String(), planted) {
		t.Error("a record was logged")
	}
}
