package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"caucus/agent"
	"caucus/coordinator"
	"caucus/dataset"
)

// TestExamples: the daemons' own loaders take the examples.
func TestExamples(t *testing.T) {
	a, err := agent.LoadConfig("examples/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if a.Policy.Approval != agent.ApproveByPerson || len(a.Policy.Kinds) == 0 {
		t.Errorf("the agent's policy is %+v", a.Policy)
	}
	if _, err := coordinator.LoadConfig("examples/coordinator.yaml"); err != nil {
		t.Error(err)
	}
	file, err := os.Open("examples/schema.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := dataset.ParseSchema(file); err != nil {
		t.Error(err)
	}
}

// TestCompose: every command line of the compose file is one that the binary
// knows, and all services are confined.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command     []string          `yaml:"command"`
			ReadOnly    bool              `yaml:"read_only"`
			CapDrop     []string          `yaml:"cap_drop"`
			User        string            `yaml:"user"`
			Environment map[string]string `yaml:"environment"`
			MemLimit    string            `yaml:"mem_limit"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) < 4 {
		t.Fatalf("%d services", len(file.Services))
	}
	for name, s := range file.Services {
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" || strings.HasPrefix(s.User, "0") || s.User == "" {
			t.Errorf("service %s is not confined: %+v", name, s)
		}
	}
	if c := file.Services["coordinator"]; c.Environment["GOMEMLIMIT"] == "" || c.MemLimit == "" {
		t.Errorf("the coordinator's memory has no end: %+v", c)
	}
}

// TestUnits: systemd itself reads the units, where it is installed; elsewhere
// they are at least whole.
func TestUnits(t *testing.T) {
	units, err := filepath.Glob("*.service")
	if err != nil || len(units) != 3 {
		t.Fatalf("units %v, %v", units, err)
	}
	for _, u := range units {
		text, err := os.ReadFile(u)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"[Unit]", "[Service]", "[Install]", "NoNewPrivileges=yes", "ProtectSystem=strict", "ExecStart=/usr/local/bin/caucus ", "User=caucus"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", u, want)
			}
		}
		for _, want := range []string{"GOMEMLIMIT=", "MemoryMax=", "LimitNOFILE="} {
			if u == "caucus-coordinator.service" && !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", u, want)
			}
		}
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			continue
		}
		// Verify wants the program to be there.
		local := filepath.Join(t.TempDir(), u)
		here := strings.ReplaceAll(string(text), "/usr/local/bin/caucus", "/bin/true")
		if err := os.WriteFile(local, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no", local).CombinedOutput(); err != nil || strings.Contains(string(out), local) {
			t.Errorf("%s: %v\n%s", u, err, out)
		}
	}
}
