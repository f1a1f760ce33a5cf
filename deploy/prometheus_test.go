package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDashboardAndAlerts: every metric that a rule or a panel asks for is one that a
// daemon has. Prometheus' own tool reads and runs the rules, and reads each query
// of the dashboard, where it is installed.
func TestDashboardAndAlerts(t *testing.T) {
	known := map[string]bool{"up": true}
	for _, file := range []string{"../coordinator/watch/metrics.go",
		"../coordinator/members/counts.go", "../coordinator/watch/collector.go",
		"../coordinator/standing.go", "../coordinator/rival.go", "../agent/health/metrics.go",
		"../aggregator/helper/watched.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`"(caucus_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			known[name[1]] = true
		}
	}
	if len(known) < 15 {
		t.Fatalf("found only %d metrics", len(known))
	}
	queries := append(alerts(t), panels(t)...)
	if len(queries) < 20 {
		t.Fatalf("found only %d queries", len(queries))
	}
	asked := map[string]bool{}
	for _, q := range queries {
		for _, name := range regexp.MustCompile(`caucus_[a-z_]+`).FindAllString(q, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			asked[name] = true
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", q, name)
			}
		}
	}
	for _, name := range []string{"caucus_ledger_behind", "caucus_certificate_expiry_seconds",
		"caucus_budget_spent_epsilon", "caucus_refusals_total",
		"caucus_agent_studies", "caucus_agent_budget_spent_epsilon", "caucus_agent_ledger_behind", "caucus_agent_certificate_expiry_seconds", "caucus_agent_polls_total", "caucus_agent_refusals_total",
		"caucus_disk_free_bytes", "caucus_helper_out_of_reach", "caucus_helper_disk_free_bytes",
		"caucus_helper_behind", "caucus_replicas", "caucus_rival"} {
		if !asked[name] {
			t.Errorf("nobody looks at %s", name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the queries were not read by Prometheus (.ci/peers installs it)")
		return
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"},
		{"test", "rules", "alerts_test.yaml"}, {"check", "config", "prometheus.yaml"}} {
		tool := exec.Command(promtool, args...)
		tool.Dir = "prometheus"
		if out, err := tool.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	// Each query of the dashboard as a rule: what Prometheus refuses, it refuses there.
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, q := range panels(t) {
		rules = append(rules, rule{"panel", q})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels",
		"rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=none",
		file).CombinedOutput(); err != nil {
		t.Errorf("promtool refuses a panel: %v\n%s", err, out)
	}
}

// alerts are the rules' queries.
func alerts(t *testing.T) (queries []string) {
	text, err := os.ReadFile("prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			queries = append(queries, r.Expr)
		}
	}
	return slices.Clip(queries)
}

// panels are the dashboards' queries.
func panels(t *testing.T) (queries []string) {
	for _, file := range []string{"prometheus/dashboard.json", "prometheus/dashboard-agent.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatal(err)
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				queries = append(queries, target.Expr)
			}
		}
	}
	return queries
}
