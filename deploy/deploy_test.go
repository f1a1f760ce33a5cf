package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/coordinator/folder"
	"caucus/dataset"
)

// TestExamples: the daemons' own loaders take the examples.
func TestExamples(t *testing.T) {
	a, err := site.LoadConfig("examples/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if a.Policy.Approval != policy.ApproveByPerson || len(a.Policy.Kinds) == 0 {
		t.Errorf("the agent's policy is %+v", a.Policy)
	}
	if _, err := folder.LoadConfig("examples/coordinator.yaml"); err != nil {
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

// composeFile is what the tests read of a compose file.
type composeFile struct {
	Services map[string]struct {
		Command     []string          `yaml:"command"`
		ReadOnly    bool              `yaml:"read_only"`
		CapDrop     []string          `yaml:"cap_drop"`
		User        string            `yaml:"user"`
		Network     string            `yaml:"network_mode"`
		Environment map[string]string `yaml:"environment"`
		MemLimit    string            `yaml:"mem_limit"`
		Volumes     []string          `yaml:"volumes"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

// readCompose reads a compose file and checks that all services are confined: root alone owns no
// network.
func readCompose(t *testing.T, name string) (file composeFile) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Services) < 4 {
		t.Fatalf("%s has %d services", name, len(file.Services))
	}
	for name, s := range file.Services {
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" || s.User == "" ||
			strings.HasPrefix(s.User, "0") && s.Network != "none" {
			t.Errorf("service %s is not confined: %+v", name, s)
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, is := file.Volumes[volume]; !is && !strings.ContainsAny(volume, "./") {
				t.Errorf("service %s has a volume %s that is nowhere", name, volume)
			}
		}
	}
	return file
}

// TestReplicas: three replicas and a helper have memory that ends, each in a volume of its own.
func TestReplicas(t *testing.T) {
	file := readCompose(t, "replicas.yaml")
	for _, name := range []string{"one", "two", "three", "helper"} {
		s := file.Services[name]
		if s.Environment["GOMEMLIMIT"] == "" || s.MemLimit == "" || len(s.Volumes) != 1 ||
			!strings.HasPrefix(s.Volumes[0], name+":") {
			t.Errorf("%s is %+v", name, s)
		}
	}
}

// TestCompose: the memory of coordinator and helper ends, and their head files are in other volumes
// than their folders.
func TestCompose(t *testing.T) {
	file := readCompose(t, "compose.yaml")
	for name, used := range map[string][]string{"coordinator": {"init", "operator"},
		"helper": {"helper-setup"}} {
		c := file.Services[name]
		if c.Environment["GOMEMLIMIT"] == "" || c.MemLimit == "" {
			t.Errorf("the memory of the %s has no end: %+v", name, c)
		}
		// The head file, DIR.head, is in the volume at /state; the folder has one of its own.
		if len(c.Volumes) != 2 || !strings.HasSuffix(c.Volumes[0], ":/state") ||
			c.Volumes[1] != name+":/state/"+name || !slices.Contains(c.Command, "/state/"+name) {
			t.Errorf("the head file of the %s is not in another volume: %v", name, c.Volumes)
		}
		for _, other := range used {
			if o := file.Services[other].Volumes; len(o) < 2 || !slices.Equal(o[:2], c.Volumes) {
				t.Errorf("%s has volumes %v, and the %s %v", other, o, name, c.Volumes)
			}
		}
	}
}

// TestImage: the image is built from a base that its digest names, and nothing that the binary
// is built from is left out of what is sent to the builder.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if from[1] != "scratch" && !regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(from[1]) {
			t.Errorf("the base %s may be another tomorrow", from[1])
		}
	}
	if text, err = os.ReadFile("../.dockerignore"); err != nil {
		t.Fatal(err)
	}
	ignores := func(path string) bool {
		parts := strings.Split(path, "/")
		for pattern := range strings.Lines(string(text)) {
			pattern = strings.TrimSpace(pattern)
			for i, part := range parts {
				if everywhere, is := strings.CutPrefix(pattern, "**/"); is {
					if hit, _ := filepath.Match(everywhere, part); hit {
						return true
					}
				} else if hit, _ := filepath.Match(pattern, strings.Join(parts[:i+1], "/")); hit {
					return true
				}
			}
		}
		return false
	}
	for _, path := range []string{".git/config", "caucus-demo/coordinator/ca.key", "caucus",
		"shared/data/a.csv", "agent/testdata/x", "agent/agent_test.go"} {
		if !ignores(path) {
			t.Errorf("%s is sent to the builder", path)
		}
	}
	list := exec.Command("go", "list", "-deps", "-f", `{{if and .Module .Module.Main}}{{$in := .Dir}}{{range .GoFiles}}{{$in}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$in}}/{{.}}{{"\n"}}{{end}}{{end}}`, "./cmd/caucus", "./cmd/caucus-agent")
	list.Dir = ".."
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for file := range strings.Lines(string(files)) {
		if path, in := strings.CutPrefix(strings.TrimSpace(file), root+"/"); in {
			if n++; ignores(path) {
				t.Errorf("%s is not sent to the builder", path)
			}
		}
	}
	if n < 300 {
		t.Errorf("%d files", n)
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
		// A site installs the program that has its own verbs alone.
		program := "/usr/local/bin/caucus"
		if u == "caucus-agent.service" {
			program += "-agent"
		}
		for _, want := range []string{"[Unit]", "[Service]", "[Install]", "NoNewPrivileges=yes",
			"ProtectSystem=strict", "ExecStart=" + program + " ", "User=caucus"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", u, want)
			}
		}
		for _, want := range []string{"GOMEMLIMIT=", "MemoryMax=", "LimitNOFILE=65536",
			"RuntimeDirectory=caucus\n", "AF_UNIX"} {
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
		here := strings.ReplaceAll(string(text), program, "/bin/true")
		if err := os.WriteFile(local, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no",
			local).CombinedOutput(); err != nil || strings.Contains(string(out), local) {
			t.Errorf("%s: %v\n%s", u, err, out)
		}
	}
}
