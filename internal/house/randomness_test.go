package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// drawn lists, by room and function, every call of this module that reads the operating system's
// randomness (crypto/rand, and crypto/hpke, which reads it by itself). Every secret or
// unpredictable value comes from one of these calls, except for noise, which only privacy's system
// draws (privacy/process_test.go).
var drawn = map[string]string{
	"agent.newRun":                           "rand.Read(run)",
	"agent/site.shardKey":                    "rand.Read(key)",
	"aggregation/shares.VectorForm.Split":    "vf.circuit(c).split(measured, random)",
	"aggregation/shares.circuit.split":       "io.ReadFull(random, b); vdaf.Shard(measured, &nonce, seeds)",
	"aggregator/uploading.Contribute":        "of.Split(in, party, rand.Reader)",
	"aggregator.Server.accepts":              "rand.Read(r.Half[:])",
	"cmd/caucus.operator.create":             "rand.Read(seed[:])", // a plan's public seed
	"coordinator.Server.assemble":            "rand.Read(s.run)",
	"coordinator.newFollower":                "rand.Text()",    // a replica's name
	"coordinator/records.sqlTx.key":          "rand.Read(key)", // of a study's ballots in PostgreSQL
	"coordinator/members.drawnName":          "rand.Int(rand.Reader, big.NewInt(int64(len(drawnLetters))))",
	"internal/webpage.secret":                "rand.Read(b)",
	"privacy.asked.salt":                     "rand.Read(salt[:])",
	"privacy.system.Read":                    "rand.Read(b)", // all noise
	"protocol/server.Authority.NewSuccessor": "x509.CreateCertificate(rand.Reader, template, a.certificate, next.key.Public(), a.key)",
	"protocol/server.Authority.issue":        "x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)",
	"protocol.Enrolment.Request":             "x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, e.key)",
	"protocol/server.NewAuthority":           "x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)",
	"protocol/server.NewSealKey":             "kem.GenerateKey()",
	"protocol/server.NewSealingKey":          "kem.GenerateKey()",
	"protocol.NewSigner":                     "ed25519.GenerateKey(rand.Reader)",
	"protocol.Signer.Certificate":            "x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)",
	"protocol.Receipt.Seal":                  "rand.Read(nonce)",
	"protocol.SealShare":                     "hpke.NewSender(to, kdf, aead, []byte(SharePurpose))",
	"protocol.answered.seal":                 "hpke.NewSender(to, kdf, aead, sealInfo(plan))",
	"protocol.NewKey":                        "ecdsa.GenerateKey(elliptic.P256(), rand.Reader)",
	"protocol/server.newSerial":              "rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))",
	"protocol.writeAnswer":                   "ecdsa.Sign(rand.Reader, signer, answerDigest(statement))",
	"study/bodies.Task.Split":                "form.Split(shares.NewProofContext(s.Hash(), string(party)), vector, random)",
}

// TestRandomnessIsTheSystems: shares, nonces, keys and all other random values come directly from
// the system's randomness. The test fails for a call that is not in the list, and for a listed call
// that no longer exists. Rooms that make such values have no other generator, except where the list
// gives a reason.
func TestRandomnessIsTheSystems(t *testing.T) {
	found := map[string]string{}
	generators := map[string]bool{}
	for _, file := range productionFiles(t) {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		system := ""
		for _, i := range tree.Imports {
			switch i.Path.Value {
			case `"crypto/rand"`:
				if system = "rand"; i.Name != nil {
					system = i.Name.Name
				}
			case `"math/rand"`, `"math/rand/v2"`:
				generators[file] = true
			}
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := path.Dir(file) + "." + f.Name.Name
			if f.Recv != nil {
				name = path.Dir(file) + "." + strings.TrimPrefix(printed(set, f.Recv.List[0].Type),
					"*") + "." + f.Name.Name
			}
			var calls []string
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && draws(call, system) {
					calls = append(calls, printed(set, call))
				}
				return true
			})
			if len(calls) > 0 {
				found[name] = strings.Join(calls, "; ")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if drawn[name] != found[name] {
			t.Errorf("%s draws by %q, the list has %q", name, found[name], drawn[name])
		}
	}
	for name, call := range drawn {
		if found[name] == "" {
			t.Errorf("%s does not draw by %q any more", name, call)
		}
	}
	for file := range generators {
		if room := path.Dir(file); slices.Contains(secretRooms, room) &&
			otherGenerators[file] == "" {
			t.Errorf("%s imports math/rand: nothing that it makes may be guessed", file)
		}
	}
	for file := range otherGenerators {
		if !generators[file] {
			t.Errorf("%s has no generator any more: take it from the list", file)
		}
	}
}

// secretRooms make keys, nonces, shares and noise; otherGenerators are their files that draw
// something else, by a generator that can be foretold.
var (
	secretRooms = []string{"agent", "agent/desk", "agent/health", "agent/policy", "agent/site",
		"agent/source", "aggregation/shares", "aggregator", "coordinator", "aggregator/helper", "privacy",
		"protocol", "protocol/server", "study/bodies", "study/keyed"}
	otherGenerators = map[string]string{
		"agent/pace.go":            "when it calls next",
		"privacy/ledger.go":        "simulations",
		"privacy/literal.go":       "simulations",
		"privacy/literalcounts.go": "simulations",
		"protocol/token.go":        "when it tries again",
		"study/bodies/task.go":     "what is fitted to a release, by the plan's public seed",
	}
)

// draws says whether a call has the system's randomness as an argument or asks for it, or makes
// a key, a share or an encapsulation, of whatever randomness.
func draws(call *ast.CallExpr, system string) bool {
	of := func(e ast.Expr) (string, bool) {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return "", false
		}
		x, ok := s.X.(*ast.Ident)
		return s.Sel.Name, ok && system != "" && x.Name == system
	}
	name, asks := of(call.Fun)
	if asks || name == "GenerateKey" || name == "NewSender" || name == "Shard" {
		return true
	}
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		name, is := of(e)
		x, ok := e.(*ast.Ident)
		return is && name == "Reader" || ok && x.Name == "random"
	})
}

func printed(set *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, set, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// productionFiles are the Go files of this module that are no tests'.
func productionFiles(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f = filepath.ToSlash(f); !strings.HasSuffix(f, "_test.go") &&
				!strings.HasPrefix(f, "lab/") {
				all = append(all, f)
			}
		}
	}
	if len(all) < 300 {
		t.Fatalf("read %d files", len(all))
	}
	return all
}
