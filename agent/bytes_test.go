package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/keyed"
	"caucus/study/kinds"
	"caucus/study/ratio"
)

// Contribute takes a contribution like a coordinator.
func (w *wire) Contribute(s grpc.ClientStreamingServer[pb.ContributeRequest, pb.Signed]) error {
	var body []byte
	for {
		part, err := s.Recv()
		if err != nil {
			break // the agent has sent all
		}
		body = append(body, part.GetChunk().GetData()...)
	}
	w.mu.Lock()
	w.body = body
	w.mu.Unlock()
	receipt := protocol.Receipt{Plan: w.rig.hash, Party: "site", Body: sha256.Sum256(body),
		Size: len(body)}
	receipt, err := receipt.Sign(wireSigner())
	if err != nil {
		return err
	}
	return s.SendAndClose(&pb.Signed{Document: receipt.Document, Signature: receipt.Signature})
}

const visitsYAML = `
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100, missing: true}
  - {column: sex, kind: categorical, levels: [f, m]}
patient: patient
party: clinic
`

const visitsHeader = "age,sex,ill,patient,clinic\n"

// visits lists 60 lines of a file.
func visits() []string {
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("%d,%s,%s,p%d,c%d", (i*37)%100, []string{"f", "m"}[i%2],
			[]string{"no", "yes"}[i/30], i/2, i%3))
	}
	return lines
}

// plans lists a study of each kind, mechanism and place of noise.
func plans() map[string]func(*study.Proposal) {
	made := map[string]func(*study.Proposal){}
	add := func(kind string, change func(*study.Proposal), mechanism string, u privacy.Unit,
		noise study.Noise, shards int) {
		made[fmt.Sprintf("%s by %s, unit %s, noise %s, %d shards", kind, mechanism, u, noise,
			shards)] = func(p *study.Proposal) {
			p.Kind, p.Mechanism, p.Unit, p.Noise = kind, mechanism, u, noise
			if shards > 0 {
				p.KindTerms = fmt.Appendf(nil, `{"shards":%d}`, shards)
			}
			p.Delta = nil // suits the mechanism
			if change != nil {
				change(p)
			}
		}
	}
	site, coordinator, aggregators := study.NoiseSite, study.NoiseCoordinator,
		study.NoiseAggregators
	add("classify", nil, "cross", privacy.Record, site, 0)
	add("classify", nil, "cross", privacy.Record, coordinator, 0)
	add("classify", nil, "tally", privacy.Party, coordinator, 0)
	add("classify", nil, "tally", privacy.Record, coordinator, 3)
	add("classify", nil, "tally", privacy.Record, site, 3)
	add("classify", nil, "tally", privacy.Record, aggregators, 3)
	add("classify", nil, "cross", privacy.Record, aggregators, 0)
	add("classify", nil, "moment", privacy.Party, site, 0)
	add("classify", nil, "means", privacy.Party, coordinator, 0)
	add("classify", nil, "means", privacy.Party, site, 0)
	add("classify", nil, "output", privacy.Party, coordinator, 0)
	add("reweigh", nil, "entropy", privacy.Record, site, 0)
	add("reweigh", nil, "entropy", privacy.Record, coordinator, 0)
	add("reweigh", nil, "logistic", privacy.Record, site, 0)
	add("describe", nil, "gaussian", privacy.Record, site, 0)
	add("describe", nil, "laplace", privacy.Record, coordinator, 0)
	add("describe", nil, "laplace", privacy.Record, aggregators, 0)
	judged := func(perParty int64) func(*study.Proposal) {
		return func(p *study.Proposal) {
			schema, err := dataset.ParseSchema(strings.NewReader(visitsYAML))
			if err != nil {
				panic(err)
			}
			model, err := judged.Coefficients{Intercept: -2,
				Coefficients: map[string]float64{"age": .05}}.Model(schema)
			if err != nil {
				panic(err)
			}
			p.KindTerms, _ = study.EncodeTerms(evaluate.Terms{Model: model,
				By: []evaluate.Grouping{{Column: "sex"}}, PerParty: perParty})
		}
	}
	add("evaluate", judged(0), "laplace", privacy.Record, site, 0)
	add("evaluate", judged(40), "laplace", privacy.Party, coordinator, 0)
	add("labels", nil, "rr", privacy.Label, site, 0)
	shares := func(features, sets string) func(*study.Proposal) {
		return func(p *study.Proposal) {
			p.KindTerms, _ = study.EncodeTerms(ratio.Terms{Features: features, Sets: sets,
				Fourier: 8, MaxSets: 4, Skew: 0.8, SetSize: 20})
		}
	}
	add("ratio", shares(ratio.FeaturesClear, ratio.SetsColumn), "laplace", privacy.Label, site, 0)
	add("ratio", shares(ratio.FeaturesEmbedding, ratio.SetsParty), "gaussian", privacy.Label, site,
		0)
	add("ratio", shares(ratio.FeaturesNoisyEmbedding, ratio.SetsMade), "gaussian-zcdp",
		privacy.Record, site, 0)
	return made
}

// nasty lists odd lines; any of them may replace a line of a file.
func nasty() map[string]string {
	return map[string]string{
		"a stray quote":         `"33,f,yes,p1,c1`,
		"a quote in a cell":     `33,f"x,yes,p1,c1`,
		"text after a quote":    `"33"3,f,yes,p1,c1`,
		"a quoted delimiter":    `33,"f,m",yes,p1,c1`,
		"a NUL":                 "33,f\x00,yes,p1,c1",
		"not UTF-8":             "33,\xff\xfe,yes,p1,c1",
		"a line too long":       "33," + strings.Repeat("f", 5<<20) + ",yes,p1,c1",
		"a comment's character": "#33,f,yes,p1,c1",
		"like the header":       strings.TrimSpace(visitsHeader),
		"a mark in the middle":  "\xef\xbb\xbf33,f,yes,p1,c1",
		"gzip's first bytes":    "\x1f\x8b33,f,yes,p1,c1",
		"too few cells":         "33",
		"too many cells":        "33,f,yes,p1,c1,,,",
		"nothing":               "",
		"spaces":                " \t\r",
		"a carriage return":     "33,f,yes\rp1,c1",
		"no numbers":            "NaN,?,maybe,,",
		"another column sorts":  "-1e308,a,yes,p0,c0",
	}
}

// variantsOf lists possible contents, at the time of a study, of a file that was declared as
// visits. At unit label only labels may differ.
func variantsOf(t *testing.T, u privacy.Unit, all bool) map[string]string {
	base := visits()
	with := func(change func(i int, line string) string) string {
		out := slices.Clone(base)
		for i := range out {
			out[i] = change(i, out[i])
		}
		return visitsHeader + strings.Join(out, "\n") + "\n"
	}
	label := func(to ...string) string {
		return with(func(i int, line string) string {
			cells := strings.Split(line, ",")
			cells[2] = to[i%len(to)]
			return strings.Join(cells, ",")
		})
	}
	whole := with(func(_ int, line string) string { return line })
	out := map[string]string{
		"as declared":      whole,
		"one class":        label("yes"),
		"no labels":        label(""),
		"senseless labels": label("maybe", "\"y\"\"es\"", "\"no,\"", "-1", "yes ", "yes\x00", "\xff"),
	}
	if all {
		out["one label"] = label(append(slices.Repeat([]string{""}, 59), "yes")...)
		out["no last newline"] = strings.TrimSpace(whole)
		out["Windows"] = strings.ReplaceAll(whole, "\n", "\r\n")
	}
	if u == privacy.Label {
		return out
	}
	lines := nasty()
	names := slices.Sorted(maps.Keys(lines))
	maps.Copy(out, map[string]string{
		"every nasty line": with(func(i int, line string) string {
			if i < len(names) {
				return lines[names[i]]
			}
			return line
		}),
		"empty":         "",
		"twice as many": with(func(_ int, line string) string { return line + "\n" + line }),
		"sorted":        visitsHeader + strings.Join(slices.Sorted(slices.Values(base)), "\n"),
		"one patient":   with(func(_ int, line string) string { return strings.Replace(line, ",p", ",p1p", 1) }),
		"torn":          gzipped(t, strings.Repeat("x", 1000))[:20],
	})
	if all {
		out["only a header"] = visitsHeader
		out["a header in two"] = "\"" + whole
		for _, name := range names {
			out[name] = with(func(i int, line string) string {
				if i == 17 {
					return lines[name]
				}
				return line
			})
		}
	}
	return out
}

func visitsRig(t *testing.T, change func(*study.Proposal)) *rig {
	t.Helper()
	return visitsRigOf(t, visitsYAML, change)
}

func visitsRigOf(t *testing.T, yaml string, change func(*study.Proposal)) *rig {
	t.Helper()
	r := newRigOf(t, yaml, change)
	schema := r.Config.Data["ward"].Schema
	if err := os.WriteFile(schema, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	r.WriteFile(t, variantsOf(t, privacy.Label, false)["as declared"])
	if err := r.Declare(); err != nil {
		t.Fatal(err)
	}
	// orders depend on it
	if err := protocol.WriteSecret(filepath.Join(r.Config.State, "shard.key"),
		make([]byte, sha256.Size)); err != nil {
		t.Fatal(err)
	}
	limit := map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 4, Delta: 1e-4}}
	r.Config.Policy.Kinds, r.Config.Policy.Mechanisms = kinds.Names(), kinds.Mechanisms()
	r.Config.Policy.StudyLimit =
		map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 1, Delta: 1e-6},
			privacy.Record: {Epsilon: 1, Delta: 1e-6}, privacy.Party: {Epsilon: 1, Delta: 1e-6}}
	r.Config.Policy.TotalLimit = limit
	r.Config.Policy.ClearColumns = []string{"age", "sex", "clinic"}
	return r
}

// seen is all of a study that leaves the site or its machine: messages, charges, lines of the logs,
// and the upload, byte by byte except for the published noisy numbers. If the coordinator adds the
// noise, it holds the size of exact votes or sums, and the declared number of records; the same for
// shares of two servers.
type seen struct {
	said, charged, log, clear string
}

func look(t *testing.T, change func(*study.Proposal), file string) seen {
	t.Helper()
	return lookAt(t, visitsRig(t, change), file)
}

func lookAt(t *testing.T, r *rig, file string) seen {
	t.Helper()
	r.WriteFile(t, file)
	var both *servers
	if r.study.Plan.Noise == study.NoiseAggregators {
		both = r.serve(t)
	}
	a, w := connect(t, r)
	a.preparation.hurry = true // TestTimeTellsNothing tests the moments
	round(t, a)
	ctx := context.Background()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := seen{log: toldOf(t, r)}
	for _, line := range w.said {
		method, said, _ := strings.Cut(line, " ")
		if strings.HasSuffix(method, "/Contribute") {
			said = "" // digest and size differ with the published noise
		}
		s.said += fmt.Sprintf("%s %q\n", method, said)
	}
	totals, err := a.site.Ledger.Totals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.charged = fmt.Sprintf("%+v", totals)
	p := r.study.Plan
	task, err := a.site.Task(p)
	if err != nil {
		t.Fatal(err)
	}
	if both != nil { // each share is random: only the number of values can be compared
		if err := both.receive("site", w.body); err != nil {
			t.Errorf("the contribution is not taken: %v; log:\n%s", err, r.Log)
		}
		s.clear = fmt.Sprintf("%d bytes, of a weight of %d", len(w.body),
			binary.BigEndian.Uint64(w.body[1:9]))
		return s
	}
	checker, err := study.NewChecker(task)
	if err == nil {
		err = checker.Check(w.body)
	}
	if err != nil {
		t.Errorf("the contribution is not taken: %v; log:\n%s", err, r.Log)
		return s
	}
	draft, err := task.Contribute(a.site.Records(r.hash, p, 60, false))
	if err != nil {
		t.Fatal(err)
	}
	// again: the same publications
	published, err := study.ReleaseRequests(ctx, a.site.Ledger, r.hash, draft.Requests)
	if err != nil {
		t.Fatal(err)
	}
	clear := w.body
	for _, one := range published {
		b := append(binary.BigEndian.AppendUint64(nil, uint64(one.Sequence)), one.EntryHash[:]...)
		for _, v := range one.Values {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
		before, after, ok := bytes.Cut(clear, b)
		if !ok {
			t.Fatal("what was published is not in what was sent")
		}
		clear = slices.Concat(before, after)
	}
	if s.clear = fmt.Sprintf("%q", clear); p.Noise == study.NoiseCoordinator {
		s.clear = fmt.Sprint(len(clear), " bytes")
		if p.Mechanism == "cross" || p.Mechanism == "entropy" {
			records, _ := binary.Varint(clear)
			s.clear += fmt.Sprint(" of ", records, " records")
		}
	}
	return s
}

// changing matches text that differs between any two runs.
var changing = regexp.MustCompile(`(time|leaves)=\S+ ?|"received":"[^"]*",?|/tmp/\S+`)

// emptied is the flaw that a log line of an upload tells the site.
var emptied = regexp.MustCompile(` unread="[^"]*gets empty records[^\n]*"`)

// toldOf returns the logs' content, without the messages for the site alone about a file that
// cannot be read as declared.
func toldOf(t *testing.T, r *rig) string {
	t.Helper()
	audit, err := os.ReadFile(site.AuditFile(r.Config))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(audit)) {
		out.WriteString(strings.Replace(string(undated([]byte(line))), `,"unread":true`, "", 1))
	}
	for line := range strings.Lines(r.Log.String()) {
		if flaw := emptied.FindString(line); flaw != "" {
			line = strings.Replace(strings.Replace(line, flaw, "", 1), "level=ERROR", "level=INFO",
				1)
		}
		out.WriteString(line)
	}
	return changing.ReplaceAllString(out.String(), "")
}

// TestBytesOfAFileAndOfTheWire: for every kind, mechanism and place of noise, and any content of a
// declared file, the coordinator gets the same messages, the same number of bytes and, beside noisy
// numbers, the same bytes; the ledger gets the same charges and the logs the same lines.
func TestBytesOfAFileAndOfTheWire(t *testing.T) {
	all := plans()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			u := newRigOf(t, visitsYAML, all[name]).study.Plan.Unit
			variants := variantsOf(t, u, i == 0)
			want := look(t, all[name], variants["as declared"])
			for j, what := range slices.Sorted(maps.Keys(variants)) {
				if (i+j)%8 > 0 && !testlevel.Long() {
					continue // another plan tries it
				}
				got := look(t, all[name], variants[what])
				if got != want {
					t.Errorf("%s can be told from a file as it was declared:\n%+v\nand\n%+v", what, got, want)
				}
			}
		})
	}
}

// TestNeighboursInLines: two files that differ in one line, whatever its content, give a study two
// sets of records that differ in at most one replaced record, whether the file has fewer records
// than declared, as many, or more.
func TestNeighboursInLines(t *testing.T) {
	t.Run("as it is", func(t *testing.T) { neighboursInLines(t, "") })
	t.Run("mapped", func(t *testing.T) {
		neighboursInLines(t, neighbourMapping)
	})
}

func neighboursInLines(t *testing.T, mapping string) {
	r := visitsRig(t, func(p *study.Proposal) { p.Unit = privacy.Record })
	if mapping != "" {
		r.SetMapping(source.MappingSource{Inline: mapped(t, mapping)})
		if err := r.Declare(); err != nil {
			t.Fatal(err)
		}
	}
	folder := r.agent(t).site
	p := r.study.Plan
	d, err := folder.Sources.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	odd := slices.Sorted(maps.Values(nasty()))
	// a carriage return ends a line, so bytes with one are two lines
	odd = slices.DeleteFunc(odd, func(line string) bool {
		return len(line) > 1000 || strings.Contains(line, "\r")
	})
	quote := rapid.SampledFrom([]string{`"33,f,yes,p1,c1`, `33,f,yes,p1,"c1`, `"`})
	line := rapid.OneOf(rapid.SampledFrom(visits()[:3]), rapid.SampledFrom(odd), quote, rapid.StringMatching(`[0-9",#]{0,9}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string {
			return strings.NewReplacer("\n", "", "\r", "").Replace(string(b))
		}))
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 1, 8).Draw(t, "lines")
		other := slices.Clone(lines)
		other[rapid.IntRange(0, len(lines)-1).Draw(t, "place")] = rapid.OneOf(line, quote).Draw(t,
			"instead")
		n := rapid.IntRange(0, 10).Draw(t, "declared")
		left := map[string]int{}
		for add, file := range map[int][]string{1: lines, -1: other} {
			end := rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "end")
			if err := os.WriteFile(d.File, []byte(visitsHeader+strings.Join(file, "\n")+end),
				0o600); err != nil {
				t.Fatal(err)
			}
			all, err := folder.Sources.AllRecords(p)
			if err != nil {
				t.Fatal(err)
			}
			got := keyed.ExactlyN(kinds.SelectionRuleOf(p), p.Schema, all, n, folder.ShardKey)
			if got.Len() != n {
				t.Fatalf("%d records, %d were declared", got.Len(), n)
			}
			for i := range n {
				left[fmt.Sprint(got.X.RawRowView(i), got.Y[i], got.Patient[i])] += add
			}
		}
		moved := 0
		for _, k := range left {
			moved += max(k, -k)
		}
		if moved > 2 {
			t.Fatalf("%d records came or went: %q and %q, %d declared", moved, lines, other, n)
		}
	})
}

// TestPlanCannotSayHowAFileIsRead: a plan with comment "F" would drop the lines that begin with F,
// and with comment "a" would make the first record the header: the number of records, or the site's
// participation, would reveal content. Such a plan is refused with the reason, and would change
// nothing if it got through.
func TestPlanCannotSayHowAFileIsRead(t *testing.T) {
	for name, change := range map[string]func(*dataset.Schema){
		"comment":   func(s *dataset.Schema) { s.Comment = "3" },
		"header":    func(s *dataset.Schema) { s.Comment = "a" },
		"delimiter": func(s *dataset.Schema) { s.Delimiter = ";" },
		"columns":   func(s *dataset.Schema) { s.Columns = []string{"age", "sex", "ill"} },
	} {
		r := newRig(t, nil)
		a := r.agent(t)
		p := r.study.Plan
		want := a.site.Records(r.hash, p, 61, false).Records
		change(&p.Schema)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), "how a file is") {
			t.Errorf("%s: check = %v, want a refusal that says why", name, err)
		}
		d, err := a.site.Sources.Of(p)
		if err != nil || len(d.Objections(p)) > 0 {
			t.Errorf("%s: %v, %v", name, err, d.Objections(p))
		}
		got := a.site.Records(r.hash, p, 61, false).Records
		if got.Len() != want.Len() || !slices.Equal(got.Y, want.Y) ||
			!bytes.Equal(fmt.Appendf(nil, "%v", got.X), fmt.Appendf(nil, "%v", want.X)) {
			t.Errorf("%s: the plan changed what is read", name)
		}
		canonical, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		r.study.Plan, r.study.PlanBytes, r.study.Summary.Hash = p, canonical,
			study.HashOf(canonical)
		round(t, a)
		if len(r.bodies)+r.declined != 0 || charges(t, a, p.Unit) != 0 ||
			!strings.Contains(r.Log.String(), "how a file is") {
			t.Errorf("%s: %d uploads, %d times declined, %d charges; log:\n%s", name, len(r.bodies), r.declined, charges(t, a, p.Unit), r.Log)
		}
	}
}
