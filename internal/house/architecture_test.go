package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/study/kinds"
)

// rooms lists, for each room of the module, the rooms it may import. The table
// is the architecture: a room may use what lies below it, never beside or
// above; the two daemons never import each other.
var rooms = map[string][]string{
	"internal/clock":            {},
	"internal/decimal":          {},
	"internal/csvfile":          {},
	"internal/folder":           {},
	"internal/house":            {},
	"internal/textpage":         {},
	"internal/webpage":          {"internal/clock", "internal/folder"},
	"internal/yamlfile":         {},
	"internal/database":         {},
	"internal/testlevel":        {},
	"internal/testlevel/report": {},
	"internal/testlevel/style":  {},
	"internal/testlevel/tokens": {},
	"internal/testserver":       {},
	"internal/testpages":        {"internal/testlevel"},
	"internal/testsite":         {"agent/policy", "agent/site", "agent/source", "dataset", "privacy", "protocol", "study", "study/kinds/planning", "protocol/server"},
	"dataset":                   {"internal/csvfile", "internal/decimal", "internal/yamlfile", "dataset/dates"},
	"dataset/files":             {"dataset", "dataset/dates"},
	"dataset/dates":             {},
	"dataset/database":          {"internal/yamlfile", "dataset", "dataset/dates"},
	"dataset/mapping":           {"internal/decimal", "internal/yamlfile", "dataset", "dataset/files", "dataset/dates"},
	"learners":                  {},
	"learners/command":          {"internal/csvfile", "dataset"},
	"privacy":                   {},
	"privacy/journal":           {"internal/database", "privacy"},
	"privacy/audit":             {},
	"privacy/audit/laws":        {"privacy/audit"},
	"auxdata/support":           {"auxdata", "dataset"},
	"auxdata":                   {"internal/csvfile", "dataset"},
	"aggregation/embedding":     {},
	"aggregation/solving":       {},
	"aggregation/binning":       {},
	"aggregation/fitting":       {"aggregation", "aggregation/solving", "auxdata", "dataset", "learners"},
	"aggregation":               {"learners", "dataset", "aggregation/solving"},
	"aggregation/ratio":         {"aggregation/embedding", "aggregation/fitting"},
	"aggregation/validation":    {"aggregation/binning"},
	"aggregation/shares":        {},
	"study":                     {"auxdata", "dataset", "privacy"},
	"study/life":                {"study", "privacy"},
	"study/keyed":               {"study", "dataset", "privacy"},
	"study/bodies":              {"study", "aggregation/shares", "privacy"},
	"study/classifier/fitted":   {"aggregation", "auxdata", "dataset", "learners", "study", "study/classifier", "aggregation/fitting"},
	"study/classifier":          {"study", "dataset", "learners", "aggregation/solving"},
	"study/classify/trained":    {"aggregation", "auxdata", "dataset", "learners", "privacy", "study", "study/bodies", "study/classifier", "study/classifier/fitted", "study/classify", "aggregation/fitting"},
	"study/classify":            {"study", "study/bodies", "study/keyed", "aggregation", "aggregation/shares", "auxdata", "dataset", "learners", "privacy"},
	"study/describe/described":  {"aggregation", "dataset", "privacy", "study", "study/bodies", "study/describe", "aggregation/fitting"},
	"study/describe":            {"study", "study/bodies", "study/keyed", "aggregation", "aggregation/shares", "auxdata", "dataset", "privacy"},
	"study/evaluate/judged":     {"aggregation/validation", "auxdata", "dataset", "privacy", "study", "study/bodies", "study/classifier", "study/evaluate"},
	"study/evaluate":            {"internal/yamlfile", "study", "study/bodies", "study/classifier", "study/keyed", "aggregation/shares", "auxdata", "dataset", "learners", "privacy", "aggregation/binning"},
	"study/labels/learned":      {"aggregation", "learners", "privacy", "study", "study/bodies", "study/classifier", "study/labels", "study/classifier/fitted", "aggregation/fitting"},
	"study/labels":              {"study", "study/bodies", "study/keyed", "aggregation", "auxdata", "learners", "privacy"},
	"study/ratio/estimated":     {"aggregation", "aggregation/embedding", "aggregation/ratio", "auxdata", "dataset", "privacy", "study", "study/bodies", "study/ratio", "aggregation/fitting"},
	"study/ratio":               {"study", "study/bodies", "study/keyed", "auxdata", "dataset", "privacy", "aggregation/embedding"},
	"study/reweigh/weighed":     {"aggregation", "auxdata", "dataset", "privacy", "study", "study/bodies", "study/reweigh", "auxdata/support", "aggregation/fitting", "aggregation/solving"},
	"study/reweigh":             {"study", "study/bodies", "study/keyed", "aggregation", "aggregation/shares", "auxdata", "dataset", "privacy"},
	"study/survival":            {"study", "study/bodies", "study/keyed", "aggregation/shares", "auxdata", "dataset", "privacy"},
	"study/survival/lifetable":  {"study", "study/bodies", "study/survival", "aggregation/validation", "privacy"},
	"study/regress":             {"study", "study/bodies", "study/keyed", "aggregation/shares", "auxdata", "dataset", "privacy"},
	"study/kinds/results":       {"auxdata", "study", "study/regress/leastsquares", "study/survival/lifetable", "study/kinds", "study/describe/described", "study/ratio/estimated", "study/labels/learned", "study/classify/trained", "study/reweigh/weighed", "study/evaluate/judged"},
	"study/kinds/planning":      {"auxdata", "dataset", "study", "study/kinds", "study/kinds/results"},
	"study/kinds":               {"study", "study/regress", "study/survival", "study/classify", "study/describe", "study/evaluate", "study/keyed", "study/labels", "study/ratio", "study/reweigh", "auxdata", "dataset"},
	"analyst/export":            {"study", "study/classifier", "study/regress/leastsquares", "study/survival/lifetable", "aggregation/validation", "internal/csvfile", "dataset", "study/kinds/results"},
	"study/conformance":         {"study", "study/bodies", "study/classify", "study/describe", "study/evaluate", "study/kinds", "study/labels", "study/life", "study/ratio", "analyst/simulate", "study/verify/evidence", "auxdata", "dataset", "privacy", "study/kinds/results", "study/kinds/planning", "study/evaluate/judged", "dataset/public"},
	"analyst/terms":             {"internal/yamlfile", "study", "study/kinds", "analyst/simulate", "dataset"},
	"study/verify/evidence":     {"protocol", "study", "study/kinds", "auxdata", "privacy", "internal/textpage"},
	"study/verify":              {"study/verify/evidence", "protocol", "study", "study/kinds", "auxdata", "privacy", "study/kinds/results"},
	"study/stated":              {"study"},
	"analyst/forecast":          {"study", "study/classifier", "study/classify", "study/stated", "analyst/simulate", "auxdata", "dataset", "learners", "study/classifier/fitted", "study/classify/trained"},
	"analyst/simulate":          {"study", "study/regress", "study/regress/leastsquares", "study/survival", "study/survival/lifetable", "study/bodies", "study/classifier", "study/classify", "study/describe", "study/evaluate", "study/kinds", "study/life", "study/ratio", "aggregation", "aggregation/shares", "aggregation/ratio", "aggregation/validation", "auxdata", "dataset", "learners", "privacy", "study/kinds/results", "study/describe/described", "aggregation/embedding", "study/ratio/estimated", "study/labels/learned", "study/kinds/planning", "study/reweigh/weighed", "study/evaluate/judged", "aggregation/fitting"},
	"protocol":                  {"internal/folder", "internal/clock", "internal/yamlfile", "study", "study/kinds", "privacy", "protocol/pb"},
	"dataset/public":            {"dataset", "internal/yamlfile"},
	"protocol/server":           {"protocol", "protocol/pb", "study"},
	"protocol/admin":            {"auxdata", "protocol", "protocol/pb", "study"},
	"protocol/pb":               {},
	"aggregator/uploading":      {"aggregation/shares", "protocol", "study", "study/bodies"},
	"aggregator":                {"aggregator/uploading", "internal/clock", "internal/database", "protocol", "protocol/pb", "study", "study/bodies", "aggregation/shares", "privacy", "protocol/server"},
	"agent/source":              {"internal/folder", "internal/textpage", "internal/yamlfile", "protocol", "study", "study/keyed", "study/kinds", "dataset", "dataset/database", "dataset/files", "dataset/mapping", "privacy"},
	"agent/policy":              {"aggregator/uploading", "internal/textpage", "protocol", "study", "study/kinds", "auxdata", "learners", "privacy"},
	"agent/site":                {"agent/policy", "agent/source", "aggregator/uploading", "internal/clock", "internal/folder", "internal/webpage", "internal/yamlfile", "protocol", "study", "study/kinds", "study/verify/evidence", "auxdata", "dataset", "learners", "learners/command", "privacy", "privacy/journal"},
	"agent/health":              {"agent/policy", "agent/site", "agent/source", "internal/folder", "internal/textpage", "protocol", "study", "learners", "learners/command", "privacy"},
	"agent/desk":                {"agent/health", "agent/site", "agent/source", "aggregator/uploading", "internal/textpage", "internal/webpage", "protocol", "study", "study/stated", "study/kinds", "dataset", "dataset/mapping", "privacy"},
	"agent":                     {"agent/desk", "agent/health", "agent/site", "aggregator/uploading", "internal/clock", "internal/folder", "internal/webpage", "protocol", "study", "study/kinds", "study/verify/evidence", "privacy"},
	"coordinator/records":       {"internal/database", "protocol", "study", "auxdata", "privacy", "protocol/admin"},
	"coordinator/cluster":       {"protocol", "protocol/server"},
	"coordinator/folder":        {"coordinator/cluster", "coordinator/records", "aggregation/shares", "aggregator", "internal/clock", "internal/database", "internal/folder", "internal/webpage", "internal/yamlfile", "privacy", "privacy/journal", "protocol", "study", "protocol/server"},
	"coordinator/members":       {"coordinator/folder", "coordinator/records", "internal/clock", "protocol", "protocol/pb", "protocol/admin", "protocol/server"},
	"coordinator/watch":         {"coordinator/folder", "coordinator/records", "internal/webpage", "privacy", "protocol", "protocol/pb", "study", "coordinator/cluster", "protocol/admin"},
	"coordinator":               {"coordinator/members", "coordinator/watch", "coordinator/records", "coordinator/folder", "aggregation/shares", "aggregator", "aggregator/uploading", "internal/clock", "internal/database", "internal/webpage", "protocol", "protocol/pb", "study", "study/life", "auxdata", "privacy", "study/kinds/results", "coordinator/cluster", "protocol/admin", "protocol/server"},
	"aggregator/helper":         {"aggregator", "aggregation/shares", "internal/database", "internal/folder", "internal/webpage", "internal/yamlfile", "protocol", "study", "study/kinds", "privacy", "privacy/journal", "protocol/server"},
	"analyst/report":            {"internal/textpage", "internal/webpage", "privacy", "study", "study/classifier", "study/kinds", "study/verify/evidence", "study/kinds/results"},
	"analyst/demo":              {"study/regress", "study/regress/leastsquares", "study/survival", "study/survival/lifetable", "agent", "agent/desk", "agent/policy", "agent/site", "agent/source", "aggregation/ratio", "auxdata", "coordinator", "coordinator/folder", "dataset", "aggregator/helper", "internal/csvfile", "internal/textpage", "privacy", "privacy/journal", "protocol", "analyst/report", "study", "study/classifier", "study/evaluate", "analyst/forecast", "study/kinds", "analyst/simulate", "study/kinds/results", "study/describe/described", "study/ratio/estimated", "study/kinds/planning", "study/reweigh/weighed", "study/evaluate/judged", "protocol/admin", "dataset/public"},
	"deploy":                    {},
	"cmd/caucus":                nil, // anything
	"lab":                       nil, // a module of its own
	"cmd/internal/console":      {"internal/textpage", "internal/webpage"},
	"cmd/internal/input":        {"agent/source", "auxdata", "cmd/internal/console", "dataset", "dataset/files", "dataset/mapping", "protocol", "study"},
	"cmd/internal/siteverbs":    {"agent", "agent/desk", "agent/health", "agent/site", "agent/source", "cmd/internal/console", "cmd/internal/input", "dataset", "dataset/database", "dataset/mapping", "internal/database", "internal/textpage", "privacy", "privacy/journal", "protocol", "study", "study/kinds", "study/stated", "study/verify/evidence"},
	"cmd/caucus-agent":          {"cmd/internal/console", "cmd/internal/siteverbs"},

	"study/regress/leastsquares": {"study", "study/bodies", "study/regress", "aggregation/validation", "auxdata", "privacy"},
}

// pure rooms take values and return values.
var pure = map[string][]string{
	"dataset":                  {"os", "net", "net/http", "database/sql", "log", "log/slog", "time"},
	"dataset/files":            {"os", "net", "net/http", "database/sql", "log", "log/slog", "time"},
	"dataset/mapping":          {"os", "net", "net/http", "database/sql", "log", "log/slog", "time"},
	"learners":                 {"os", "net", "net/http", "database/sql", "log", "log/slog", "time"},
	"aggregation":              {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/ratio":        {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/shares":       {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/validation":   {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"auxdata":                  {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"privacy":                  {"os", "net", "net/http", "database/sql", "time"},
	"privacy/audit/laws":       {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"privacy/audit":            {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study":                    {"os", "net", "net/http", "database/sql", "log", "log/slog", "crypto/rand"},
	"study/life":               {"os", "net", "net/http", "database/sql", "log", "log/slog", "crypto/rand"},
	"study/keyed":              {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/bodies":             {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/classifier":         {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/classify":           {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/describe":           {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/describe/described": {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/evaluate":           {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/labels":             {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/labels/learned":     {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/ratio":              {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/survival":           {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/regress":            {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/survival/lifetable": {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/ratio/estimated":    {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/reweigh":            {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"analyst/export":           {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/verify/evidence":    {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/verify":             {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"protocol":                 {"database/sql"},
	"study/classifier/fitted":  {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/classify/trained":   {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/solving":      {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/binning":      {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"study/evaluate/judged":    {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"auxdata/support":          {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},

	"study/regress/leastsquares": {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
	"aggregation/fitting":        {"os", "net", "net/http", "database/sql", "log", "log/slog", "time", "crypto/rand"},
}

// forTests are the rooms that tests alone import; .ci/count takes them for tests.
var forTests = []string{"internal/house", "internal/testlevel", "internal/testlevel/report",
	"internal/testlevel/style", "internal/testlevel/tokens", "internal/testserver",
	"internal/testpages", "internal/testsite", "privacy/audit", "privacy/audit/laws",
	"study/conformance"}

// TestImports holds the table of rooms.
func TestImports(t *testing.T) {
	used := map[string]map[string]bool{} // what of the table is imported
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		room := filepath.ToSlash(filepath.Dir(path))
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s: room %q is not in the table of rooms; add it there with what it may import", path, room)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if slices.Contains(pure[room], imported) {
				t.Errorf("%s imports %q: room %q takes values and returns values", path, imported, room)
			}
			below, ours := strings.CutPrefix(imported, "caucus/")
			if used[room] == nil {
				used[room] = map[string]bool{}
			}
			used[room][below] = true
			if slices.Contains(forTests, below) && !slices.Contains(forTests, room) {
				t.Errorf("%s imports %q, which is for tests alone", path, imported)
			}
			if ours && allowed != nil && !slices.Contains(allowed, below) {
				t.Errorf("%s imports %q, which room %q may not", path, imported, room)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, allowed := range rooms {
		for _, below := range allowed {
			if !used[room][below] {
				t.Errorf("room %q does not import %q: take it from the table, which is as tight as what is imported", room, below)
			}
		}
	}
}

// beyondSites are the rooms that an agent is not made of, so that a site need not trust them.
var beyondSites = []string{
	"aggregation/fitting",
	"aggregation/ratio",
	"aggregation/validation",
	"aggregator",
	"aggregator/helper",
	"analyst/demo",
	"analyst/export",
	"analyst/forecast",
	"analyst/report",
	"analyst/simulate",
	"analyst/terms",
	"auxdata/support",
	"cmd/caucus",
	"coordinator",
	"dataset/public",
	"protocol/admin",
	"protocol/server",
	"study/classifier/fitted",
	"study/classify/trained",
	"study/describe/described",
	"study/evaluate/judged",
	"study/kinds/planning",
	"study/labels/learned",
	"study/life",
	"study/ratio/estimated",
	"study/reweigh/weighed",
	"study/verify",
}

// reachOf returns a room and all rooms that it consists of. TestImports compares the table with the
// real imports.
func reachOf(room string) map[string]bool {
	reached := map[string]bool{}
	var reach func(room string)
	reach = func(room string) {
		if !reached[room] {
			reached[room] = true
			for _, below := range rooms[room] {
				reach(below)
			}
		}
	}
	reach(room)
	return reached
}

// TestAgentsReach: what a site must trust is what its program, an agent in it, is made of, and no
// more.
func TestAgentsReach(t *testing.T) {
	reached := reachOf("cmd/caucus-agent")
	if !reached["agent"] {
		t.Error("the program of a site runs no agent")
	}
	for _, room := range beyondSites {
		if _, known := rooms[room]; !known || reached[room] {
			t.Errorf("room %q is unknown, or an agent reaches it: cut the import, and leave the list as it is", room)
		}
	}
	if len(reached) < 30 {
		t.Errorf("an agent reaches %d rooms alone", len(reached))
	}
}

// TestCSVLeavesThroughOneRoom: what a spreadsheet would compute is guarded in one place.
func TestCSVLeavesThroughOneRoom(t *testing.T) {
	for room := range rooms {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			apart := room == "internal/csvfile" || room == "lab" ||
				strings.HasSuffix(path, "_test.go")
			if !apart && strings.Contains(string(text), "csv.NewWriter(") {
				t.Errorf("%s writes CSV by itself: use internal/csvfile, which marks or refuses "+
					"formulas", path)
			}
		}
	}
}

// TestModules: the product's module has no replacements, because "go install" refuses them, and no
// go.work, because it would hide missing modules. The laboratory is a separate module with the same
// versions of shared dependencies.
func TestModules(t *testing.T) {
	if _, err := os.Stat("go.work"); err == nil {
		t.Error("there is a go.work: take it away")
	}
	requires := func(path string) map[string]string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = m[2]
		}
		if path == "go.mod" && strings.Contains(string(text), "replace") {
			t.Error("go.mod has a replacement")
		}
		return all
	}
	product, laboratory := requires("go.mod"), requires("lab/go.mod")
	if len(product) < 20 || len(laboratory) < 5 {
		t.Fatalf("%d and %d modules were read", len(product), len(laboratory))
	}
	for module, version := range laboratory {
		if of, both := product[module]; both && of != version {
			t.Errorf("lab has %s %s, the product %s: cd lab && go get %s@%s", module, version, of, module, of)
		}
	}
}

// otherWords lists, for a room, the names of kinds and mechanisms that mean something else there,
// stand in advice to a person, or stand there for a time.
var otherWords = map[string]map[string]string{
	// noises have names of their own
	"privacy":                   {"auto": "", "laplace": "", "gaussian": "", "gaussian-zcdp": "", "dirichlet": "", "laplace-prior": "", "laplace-paper": "", "dirichlet-paper": "", "none": ""},
	"aggregation":               {"none": "a correction"},
	"privacy/audit/laws":        {"dirichlet": "a noise", "laplace-prior": "likewise"},
	"dataset":                   {"auto": "a number of components that is chosen"},
	"learners":                  {"logistic": "a loss"},
	"agent/desk":                {"none": "no columns"},
	"coordinator/watch":         {"none": "no budget"},
	"dataset/mapping":           {"none": "no patient number"},
	"aggregator/helper":         {"none": "no names in a list"},
	"internal/yamlfile":         {"none": "no limits"},
	"internal/textpage":         {"none": "no names in a list"},
	"internal/webpage":          {"none": "a request that no page made, as browsers say it"},
	"internal/testlevel/report": {"output": "an event of go test"},
	"study":                     {"auto": "the quieter noise", "laplace": "a noise that any kind of counts may ask for", "gaussian": "likewise"},
	"agent/source":              {"survival": "what studies do with missing cells", "regress": "likewise"},
	"study/classifier/fitted":   {"classify": "advice which kind to take", "regress": "likewise"},
	"study/classify/trained":    {"regress": "advice which kind to take"},
	"analyst/forecast":          {"regress": "advice which kind to take"},
	"analyst/export":            {"survival": "a table of what draws a kind's numbers", "regress": "likewise"},
	"analyst/simulate":          {"none": "the mechanism without noise, which a run is compared with where its kind has it"},
}

// mayName reports whether a room may name kinds or their mechanisms. Allowed are the tables of
// kinds and of their descriptions, the demo, which runs a study of each kind, and commands with
// flags of a kind.
func mayName(room string) bool {
	return slices.Contains([]string{"study/kinds", "study/kinds/results", "study/conformance",
		"internal/testsite", "analyst/terms", "analyst/demo", "lab"}, room) ||
		strings.HasPrefix(room, "cmd/")
}

// ordinary are names that are words of English too: alone in quotes they are names.
var ordinary = []string{"auto", "average", "cross", "describe", "evaluate", "labels", "logistic",
	"majority", "means", "moment", "none", "output", "ratio", "tally"}

// TestKindsAreNamedAtHome: no other room asks for the kind or mechanism at hand. Differences
// between kinds are methods of the task, so that a kind is written in one folder.
func TestKindsAreNamedAtHome(t *testing.T) {
	used := map[string]map[string]bool{}
	names := slices.Concat(kinds.Names(), kinds.Mechanisms())
	named := func(text string) (found []string) {
		words := strings.FieldsFunc(text, func(r rune) bool {
			return !('a' <= r && r <= 'z' || r == '-')
		})
		for _, name := range names {
			if text == name || !slices.Contains(ordinary, name) && slices.Contains(words, name) {
				found = append(found, name)
			}
		}
		return found
	}
	for room := range rooms {
		if mayName(room) {
			continue
		}
		home, _, _ := strings.Cut(strings.TrimPrefix(room, "study/"), "/")
		files, err := filepath.Glob(room + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		used[room] = map[string]bool{}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.Field:
					return n.Tag == nil // a tag is a key of JSON
				}
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range named(text) {
					used[room][name] = true
					_, other := otherWords[room][name]
					itsOwn := slices.Contains(kinds.Names(), home) &&
						(name == home || !slices.Contains(kinds.Names(), name))
					if !other && !itsOwn {
						t.Errorf("%s: %q names the kind or mechanism %s: let the kind say it (study.Kind, study.Task), or study/kinds", set.Position(literal.Pos()), text, name)
					}
				}
				return true
			})
		}
	}
	for room, words := range otherWords {
		for word := range words {
			if !used[room][word] {
				t.Errorf("%s no longer says %q: take it from the list", room, word)
			}
		}
	}
}

// TestRoomsAreDocumented: every room has a package comment that says what the room is about.
func TestRoomsAreDocumented(t *testing.T) {
	for room := range rooms {
		if _, err := os.Stat(room); err != nil || room == "protocol/pb" ||
			room == "deploy" {
			continue
		}
		if _, err := os.Stat(filepath.Join(room, "doc.go")); err != nil {
			t.Errorf("room %s has no doc.go", room)
		}
	}
}

// machineTime lists the daemons' files that may read the machine's clock, with the reason. All
// others are given a clock.
var machineTime = map[string]string{
	"internal/clock/clock.go": "it is the clock that others are given",
	"agent/site/steptime.go":  "it measures the machine",
	"agent/silence.go":        "it lengthens deadlines that net/http sets by the machine's time",
}

// TestClocksAreGiven: daemons use only the clock in their Config, so that tests can set it and
// every wait follows it.
func TestClocksAreGiven(t *testing.T) {
	asks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer",
		"NewTicker"}
	seen := map[string]bool{}
	for _, room := range []string{"agent", "agent/desk", "agent/health", "agent/policy",
		"agent/site", "agent/source", "aggregator", "aggregator/uploading", "coordinator",
		"coordinator/folder", "coordinator/members", "coordinator/records", "coordinator/watch",
		"protocol", "protocol/admin", "protocol/server", "internal/clock"} {
		files, err := filepath.Glob(room + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" &&
					slices.Contains(asks, s.Sel.Name) {
					seen[filepath.ToSlash(path)] = true
					if machineTime[filepath.ToSlash(path)] == "" {
						t.Errorf("%s: time.%s: ask the clock of the Config", set.Position(s.Pos()),
							s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	for path := range machineTime {
		if !seen[path] {
			t.Errorf("%s no longer asks the machine for its time: take it from the list", path)
		}
	}
}

// TestLocksSayWhatTheyGuard: beside each lock stands what it guards.
func TestLocksSayWhatTheyGuard(t *testing.T) {
	lock := regexp.MustCompile(`sync\.(RW)?Mutex$`)
	for _, room := range []string{"agent", "agent/desk", "agent/health", "agent/policy",
		"agent/site", "agent/source", "aggregator", "aggregator/uploading", "coordinator",
		"coordinator/cluster", "coordinator/folder", "coordinator/members", "coordinator/records",
		"coordinator/watch", "protocol", "protocol/server", "cmd/internal/console", "cmd/caucus",
		"lab", "privacy", "privacy/journal"} {
		files, err := filepath.Glob(room + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			before := ""
			for i, line := range strings.Split(string(text), "\n") {
				if lock.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(before), "// ") {
					t.Errorf("%s:%d: say in a comment what this lock guards", path, i+1)
				}
				before = line
			}
		}
	}
}
